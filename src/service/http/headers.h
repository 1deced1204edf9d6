// Headers: the fields of a request or an answer, in the order they came.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outbox::service {

// ASCII only: what field names and the tokens in fields are made of.
bool EqualsIgnoringCase(std::string_view a, std::string_view b) noexcept;

class Headers {
 public:
  void Add(std::string_view name, std::string_view value) { entries_.emplace_back(name, value); }

  // The first one of that name in any case; empty when there is none.
  std::string_view Find(std::string_view name) const noexcept;
  std::size_t Count(std::string_view name) const noexcept;
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace outbox::service
