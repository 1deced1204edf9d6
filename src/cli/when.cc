#include "cli/when.h"

#include "base/text.h"
#include "cli/format.h"

namespace outbox::cli {

Result<std::optional<Timestamp>> ParseWhen(std::string_view flag, const std::string& text) {
  if (text.empty()) return std::optional<Timestamp>();
  if (const auto at = base::ParseTimestamp(text)) return at;
  if (const auto ago = base::ParseDuration(text); ago.ok()) {
    return std::optional<Timestamp>(Now() - *ago);
  }
  return Status::Invalid(base::StrCat(flag, ": '", text, "' is not a time"))
      .WithHint(base::StrCat("write ", kWhenHelp));
}

}  // namespace outbox::cli
