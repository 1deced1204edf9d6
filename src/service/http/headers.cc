#include "service/http/headers.h"

#include <algorithm>

namespace outbox::service {
namespace {

char LowerAscii(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerAscii(x) == LowerAscii(y); });
}

std::string_view Headers::Find(std::string_view name) const noexcept {
  for (const auto& [known, value] : entries_) {
    if (EqualsIgnoringCase(known, name)) return value;
  }
  return {};
}

std::size_t Headers::Count(std::string_view name) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [&](const auto& entry) { return EqualsIgnoringCase(entry.first, name); }));
}

}  // namespace outbox::service
