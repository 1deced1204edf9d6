#include "sink/uri.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"

namespace outbox::sink {

using base::StrCat;

namespace {

// The query of a web address belongs to the destination, which may like "?wait" as well.
bool OwnsItsQuery(std::string_view scheme) { return scheme == "http" || scheme == "https"; }

}  // namespace

Result<SinkUri> SinkUri::Parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view scheme = text.substr(0, colon);
  const bool well_formed = colon != std::string_view::npos && !scheme.empty() &&
                           std::all_of(scheme.begin(), scheme.end(), [](unsigned char c) {
                             return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
                           });
  if (!well_formed) {
    return Status::Invalid("the sink is not an address of the form scheme:target")
        .WithHint("for example stdout:, null: or file:/var/lib/outbox/events.jsonl");
  }
  SinkUri uri;
  std::transform(scheme.begin(), scheme.end(), std::back_inserter(uri.scheme),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view rest = text.substr(colon + 1);
  const std::size_t question = rest.find('?');
  uri.target = rest.substr(0, question);
  if (question == std::string_view::npos) return uri;
  uri.query = rest.substr(question + 1);
  for (const std::string& option : base::Split(uri.query, '&')) {
    if (option.empty()) continue;
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos && OwnsItsQuery(uri.scheme)) continue;
    if (equals == std::string::npos || equals == 0) {
      return Status::Invalid(StrCat("the options of the ", uri.scheme, ": sink are malformed"))
          .WithHint("write them as ?name=value&name=value");
    }
    uri.options.emplace_back(PercentDecode(std::string_view(option).substr(0, equals)),
                             PercentDecode(std::string_view(option).substr(equals + 1)));
  }
  return uri;
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace outbox::sink
