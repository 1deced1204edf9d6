#include "service/http/json_body.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace outbox::service {
namespace {

constexpr std::size_t kNameBytesMax = 40;

// "line 2, column 7" of the byte at `position`, both from 1.
std::string Place(std::string_view body, std::size_t position) {
  const std::string_view before = body.substr(0, std::min(position, body.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return base::StrCat("line ", line, ", column ", column);
}

// Where the nesting passes `depth_max`. Sees through strings; need not see anything else, since
// what is not JSON is refused afterwards.
std::optional<std::size_t> TooDeep(std::string_view body, std::size_t depth_max) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > depth_max) return i;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<nlohmann::json> ParseJson(std::string_view body, std::size_t depth_max,
                                 JsonMembers members) {
  if (body.empty()) return Status::Invalid("the body is empty: it must be JSON");
  if (const auto position = TooDeep(body, depth_max)) {
    return Status::Invalid(base::StrCat("the body is nested deeper than ", depth_max, " levels at ",
                                        Place(body, *position)));
  }
  // The parser would take it for the end of the body.
  if (const std::size_t nul = body.find('\0'); nul != std::string_view::npos) {
    return Status::Invalid(base::StrCat("the body is not JSON: see ", Place(body, nul)));
  }
  std::vector<std::set<std::string>> names;
  std::string twice;
  const auto look = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if (event == Event::key && !names.back().insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  try {
    if (members == JsonMembers::kAnyNumber) return nlohmann::json::parse(body);
    auto json = nlohmann::json::parse(body, look);
    if (twice.empty()) return json;
    return Status::Invalid(
        base::StrCat("the body has '", base::CleanError(twice, kNameBytesMax), "' twice"));
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t position = error.byte > 0 ? error.byte - 1 : 0;
    return Status::Invalid(base::StrCat("the body is not JSON: see ", Place(body, position)));
  } catch (const nlohmann::json::exception&) {
    return Status::Invalid("the body has a number that is too large");
  }
}

}  // namespace outbox::service
