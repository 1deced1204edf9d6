#include "relay/error_text.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "message/hide_payload.h"
#include "message/payload_echo.h"

namespace outbox::relay {
namespace {

// Far more than is kept, and little enough to search.
std::string Searched(std::string text, std::size_t bytes_max) {
  text.resize(std::min(text.size(), 4 * bytes_max));
  return text;
}

// Texts of a call, each once, cleaned of the payloads of all of its messages.
class Texts {
 public:
  Texts(std::span<const Message> messages, std::size_t bytes_max)
      : messages_(messages), bytes_max_(bytes_max) {}

  void Add(const std::string& text, const Message& about) {
    if (!text.empty()) by_text_[text].about.push_back(&about);
  }

  void Clean() {
    message::PayloadEcho echo;
    for (auto& [text, entry] : by_text_) {
      entry.clean = Searched(text, bytes_max_);
      std::vector<std::string_view> known;
      for (const Message* message : entry.about) {
        entry.clean = message::HidePayload(std::move(entry.clean), message->payload);
        const auto words = message::KnownWords(*message);
        known.insert(known.end(), words.begin(), words.end());
      }
      entry.number = echo.Add(entry.clean, known);
    }
    for (const Message& message : messages_) echo.Look(message.payload);
    for (auto& [text, entry] : by_text_) {
      if (echo.Repeats(entry.number)) entry.clean = message::kRepeatsPayload;
      entry.clean = base::CleanError(entry.clean, bytes_max_);
    }
  }

  std::string CleanOf(const std::string& text) const {
    return text.empty() ? text : by_text_.at(text).clean;
  }

 private:
  struct Entry {
    std::vector<const Message*> about;
    std::size_t number = 0;
    std::string clean;
  };

  const std::span<const Message> messages_;
  const std::size_t bytes_max_;
  std::unordered_map<std::string, Entry> by_text_;
};

}  // namespace

std::string ErrorText(const Status& failure, const Message& message, std::size_t bytes_max) {
  return base::CleanError(
      message::HidePayloads(Searched(failure.ToString(), bytes_max), std::span(&message, 1)),
      bytes_max);
}

void CleanFailures(std::span<const Message> messages, std::span<Status> results,
                   std::size_t bytes_max) {
  Texts texts(messages, bytes_max);
  bool any = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok()) continue;
    any = true;
    texts.Add(results[i].message(), messages[i]);
    texts.Add(results[i].hint(), messages[i]);
    texts.Add(results[i].native(), messages[i]);
  }
  if (!any) return;
  texts.Clean();
  for (Status& result : results) {
    if (result.ok()) continue;
    Status cleaned = Status(result.code(), result.disposition(), texts.CleanOf(result.message()))
                         .WithHint(texts.CleanOf(result.hint()))
                         .WithNative(texts.CleanOf(result.native()));
    if (result.wants_pause()) (void)std::move(cleaned).WithPause();
    const auto wait = result.retry_after();
    result = wait ? std::move(cleaned).WithRetryAfter(*wait) : std::move(cleaned);
  }
}

}  // namespace outbox::relay
