#include "message/hide_payload.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "message/payload_echo.h"

namespace outbox::message {
namespace {

constexpr std::size_t kQuoteBytesMin = 48;
// A shared passage of kQuoteBytesMin contains a whole block that starts at a multiple of
// kBlockBytes in the payload, so that looking up blocks finds it.
constexpr std::size_t kBlockBytes = kQuoteBytesMin / 2;
constexpr std::size_t kWholePayloadBytesMin = 8;
constexpr std::string_view kReplacement = "[payload]";
constexpr std::string_view kCutMark = "…";  // of base::Truncate

void ReplaceWhole(std::string& text, std::string_view payload) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; (at = text.find(payload, at)) != std::string::npos;) {
    out.append(text, copied, at - copied);
    out += kReplacement;
    copied = at += payload.size();
  }
  if (copied > 0) text = out.append(text, copied);
}

// The passage around text[at] and payload[in] that both share, not before text[from].
struct Passage {
  std::size_t begin;
  std::size_t length;
};
Passage Shared(std::string_view text, std::size_t from, std::size_t at, std::string_view payload,
               std::size_t in) {
  std::size_t before = 0;
  while (from + before < at && before < in && text[at - before - 1] == payload[in - before - 1]) {
    ++before;
  }
  std::size_t after = 0;
  while (at + after < text.size() && in + after < payload.size() &&
         text[at + after] == payload[in + after]) {
    ++after;
  }
  return {at - before, before + after};
}

void ReplaceQuotes(std::string& text, std::string_view payload) {
  if (text.size() < kQuoteBytesMin || payload.size() < kQuoteBytesMin) return;
  std::unordered_set<std::string_view> blocks;
  for (std::size_t i = 0; i + kBlockBytes <= payload.size(); i += kBlockBytes) {
    blocks.insert(payload.substr(i, kBlockBytes));
  }
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at + kBlockBytes <= text.size(); ++at) {
    const auto block = blocks.find(std::string_view(text).substr(at, kBlockBytes));
    if (block == blocks.end()) continue;
    const auto in = static_cast<std::size_t>(block->data() - payload.data());
    const Passage passage = Shared(text, copied, at, payload, in);
    if (passage.length < kQuoteBytesMin) continue;
    out.append(text, copied, passage.begin - copied);
    out += kReplacement;
    copied = passage.begin + passage.length;
    at = copied - 1;
  }
  if (copied > 0) text = out.append(text, copied);
}

// The beginning of the payload at the end of a text that was cut there.
void ReplaceCutOff(std::string& text, std::string_view payload) {
  const bool marked = text.ends_with(kCutMark);
  const std::size_t end = text.size() - (marked ? kCutMark.size() : 0);
  const std::string_view kept = std::string_view(text).substr(0, end);
  for (std::size_t length = std::min(payload.size(), kQuoteBytesMin);
       length >= kWholePayloadBytesMin; --length) {
    if (!kept.ends_with(payload.substr(0, length))) continue;
    text.replace(end - length, length, kReplacement);
    return;
  }
}

void Hide(std::string& text, std::string_view payload) {
  if (payload.size() < kWholePayloadBytesMin) return;
  ReplaceWhole(text, payload);
  ReplaceQuotes(text, payload);
  ReplaceCutOff(text, payload);
}

}  // namespace

std::string HidePayload(std::string text, std::string_view payload) {
  Hide(text, payload);
  if (text.find("\\\"") != std::string::npos) {
    const std::string quoted = base::JsonQuote(payload);
    Hide(text, std::string_view(quoted).substr(1, quoted.size() - 2));
  }
  return text;
}

std::array<std::string_view, 5> KnownWords(const Message& message) {
  return {message.topic, message.event_type, message.aggregate_type, message.aggregate_id,
          message.key};
}

std::string HidePayloads(std::string text, std::span<const Message> messages) {
  PayloadEcho echo;
  std::vector<std::string_view> known;
  for (const Message& message : messages) {
    text = HidePayload(std::move(text), message.payload);
    const auto words = KnownWords(message);
    known.insert(known.end(), words.begin(), words.end());
  }
  const std::size_t number = echo.Add(text, known);
  for (const Message& message : messages) echo.Look(message.payload);
  return echo.Repeats(number) ? std::string(kRepeatsPayload) : text;
}

}  // namespace outbox::message
