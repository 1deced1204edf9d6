#include "sink/uri.h"

#include <algorithm>
#include <cctype>

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

}  // namespace outbox::sink
