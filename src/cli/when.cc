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

Result<std::chrono::milliseconds> ParseSpan(std::string_view flag, const std::string& text) {
  auto span = base::ParseDuration(text);
  if (span.ok()) return span;
  const Status error = span.error();
  return Status::Invalid(base::StrCat(flag, ": ", error.message())).WithHint(error.hint());
}

}  // namespace outbox::cli
