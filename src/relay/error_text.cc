#include "relay/error_text.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "message/hide_payload.h"

namespace outbox::relay {
namespace {

using Quoted = std::vector<const Message*>;

std::string Cleaned(std::string text, const Quoted& quoted, std::size_t bytes_max) {
  // Far more than is kept, and little enough to search.
  text.resize(std::min(text.size(), 4 * bytes_max));
  for (const Message* message : quoted) {
    text = message::HidePayload(std::move(text), message->payload);
  }
  return base::CleanError(text, bytes_max);
}

}  // namespace

std::string ErrorText(const Status& failure, const Message& message, std::size_t bytes_max) {
  return Cleaned(failure.ToString(), {&message}, bytes_max);
}

void CleanFailures(std::span<const Message> messages, std::span<Status> results,
                   std::size_t bytes_max) {
  std::unordered_map<std::string, Quoted> by_text;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok()) by_text[results[i].message()].push_back(&messages[i]);
  }
  if (by_text.empty()) return;
  std::unordered_map<std::string, std::string> clean;
  for (const auto& [text, quoted] : by_text) clean[text] = Cleaned(text, quoted, bytes_max);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Status& result = results[i];
    if (result.ok()) continue;
    const Quoted own{&messages[i]};
    Status cleaned = Status(result.code(), result.disposition(), clean[result.message()])
                         .WithHint(Cleaned(result.hint(), own, bytes_max))
                         .WithNative(Cleaned(result.native(), own, bytes_max));
    const auto wait = result.retry_after();
    result = wait ? std::move(cleaned).WithRetryAfter(*wait) : std::move(cleaned);
  }
}

}  // namespace outbox::relay
