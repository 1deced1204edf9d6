// Query: what follows the question mark of a request's target, decoded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "outbox/status.h"

namespace outbox::service {

class Query {
 public:
  // "status=dead&page=2". kInvalidArgument when an escape is broken, a value has control characters
  // or is not UTF-8, or when there are more than `parameters_max`.
  static Result<Query> Parse(std::string_view text, std::size_t parameters_max);

  // The first one's value. A parameter that may be given only once is checked by CheckParameters.
  std::optional<std::string_view> Find(std::string_view name) const noexcept;
  std::size_t Count(std::string_view name) const noexcept;

  const std::vector<std::pair<std::string, std::string>>& pairs() const noexcept { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace outbox::service
