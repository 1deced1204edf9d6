#include "service/http/query.h"

#include <algorithm>

#include "base/text.h"
#include "service/http/percent.h"

namespace outbox::service {

Result<Query> Query::Parse(std::string_view text, std::size_t parameters_max) {
  Query query;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    if (query.pairs_.size() == parameters_max) {
      return Status::Invalid(
          base::StrCat("the query has more than ", parameters_max, " parameters"));
    }
    const std::size_t equals = part.find('=');
    auto name = PercentDecode(part.substr(0, equals), true);
    auto value = equals == std::string_view::npos ? std::optional<std::string>("")
                                                  : PercentDecode(part.substr(equals + 1), true);
    if (!name || !value || name->empty()) {
      return Status::Invalid(
          "the query can not be decoded: write name=value, in UTF-8, percent-encoded");
    }
    query.pairs_.emplace_back(*std::move(name), *std::move(value));
  }
  return query;
}

std::optional<std::string_view> Query::Find(std::string_view name) const noexcept {
  for (const auto& [known, value] : pairs_) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::size_t Query::Count(std::string_view name) const noexcept {
  return static_cast<std::size_t>(std::count_if(
      pairs_.begin(), pairs_.end(), [&](const auto& pair) { return pair.first == name; }));
}

}  // namespace outbox::service
