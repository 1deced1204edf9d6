#include "service/http/parameters.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace outbox::service {
namespace {

constexpr std::size_t kNameShownMax = 64;

Status BadParameter(std::string_view name, std::string_view rule) {
  return Status::Invalid(base::StrCat(name, " must be ", rule));
}

}  // namespace

Status CheckParameters(const Query& query, const std::vector<std::string>& known) {
  for (const auto& [name, value] : query.pairs()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string shown = base::Truncate(name, kNameShownMax);
      const std::string_view meant = base::Nearest(shown, known);
      if (!meant.empty()) {
        return Status::Invalid(
            base::StrCat("unknown parameter ", shown, ": did you mean ", meant, "?"));
      }
      if (known.empty()) {
        return Status::Invalid(
            base::StrCat("unknown parameter ", shown, ": there are none to give here"));
      }
      return Status::Invalid(
          base::StrCat("unknown parameter ", shown, ": there are ", base::Join(known, ", ")));
    }
    if (query.Count(name) > 1) {
      return Status::Invalid(base::StrCat(name, " is given more than once"));
    }
  }
  return Status::Ok();
}

Result<int> IntParameter(const Query& query, std::string_view name, IntBounds bounds) {
  const auto text = query.Find(name);
  if (!text) return bounds.fallback;
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end || value < bounds.min || value > bounds.max) {
    return BadParameter(name, base::StrCat("a whole number from ", bounds.min, " to ", bounds.max));
  }
  return value;
}

Result<bool> BoolParameter(const Query& query, std::string_view name, bool fallback) {
  const auto text = query.Find(name);
  if (!text) return fallback;
  if (*text != "true" && *text != "false") return BadParameter(name, "true or false");
  return *text == "true";
}

Result<std::optional<std::string>> ChoiceParameter(const Query& query, std::string_view name,
                                                   const std::vector<std::string>& choices) {
  const auto text = query.Find(name);
  if (!text) return std::optional<std::string>();
  if (std::find(choices.begin(), choices.end(), *text) == choices.end()) {
    return BadParameter(name, base::StrCat("one of ", base::Join(choices, ", ")));
  }
  return std::optional<std::string>(*text);
}

Result<std::optional<std::string>> TextParameter(const Query& query, std::string_view name,
                                                 std::size_t bytes_max) {
  const auto text = query.Find(name);
  if (!text) return std::optional<std::string>();
  if (text->empty() || text->size() > bytes_max) {
    return BadParameter(name, base::StrCat("text of 1 to ", bytes_max, " bytes"));
  }
  return std::optional<std::string>(*text);
}

Result<std::optional<Timestamp>> TimeParameter(const Query& query, std::string_view name) {
  const auto text = query.Find(name);
  if (!text) return std::optional<Timestamp>();
  const auto at = base::ParseTimestamp(*text);
  if (!at) return BadParameter(name, "a time as in RFC 3339: 2026-01-05T00:00:00Z");
  return at;
}

}  // namespace outbox::service
