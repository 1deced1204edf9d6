#include "relay/error_text.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "base/text.h"

namespace outbox::relay {
namespace {

// A shared passage of kQuoteBytesMin contains a whole block that starts at a multiple of
// kBlockBytes in the payload, so that looking up blocks finds it. Shorter passages are names and
// ids, which an error must be able to mention.
constexpr std::size_t kBlockBytes = 24;
constexpr std::size_t kQuoteBytesMin = 2 * kBlockBytes;
constexpr std::size_t kWholePayloadBytesMin = 8;
constexpr std::string_view kReplacement = "[payload]";

void ReplaceWhole(std::string& text, std::string_view payload) {
  if (payload.size() < kWholePayloadBytesMin) return;
  for (std::size_t at = 0; (at = text.find(payload, at)) != std::string::npos;) {
    text.replace(at, payload.size(), kReplacement);
    at += kReplacement.size();
  }
}

// The passage around text[at] and payload[in] that both share.
struct Passage {
  std::size_t begin;
  std::size_t length;
};
Passage Shared(std::string_view text, std::size_t at, std::string_view payload, std::size_t in) {
  std::size_t before = 0;
  while (before < at && before < in && text[at - before - 1] == payload[in - before - 1]) ++before;
  std::size_t after = 0;
  while (at + after < text.size() && in + after < payload.size() &&
         text[at + after] == payload[in + after]) {
    ++after;
  }
  return {at - before, before + after};
}

void ReplaceQuotes(std::string& text, std::string_view payload) {
  std::unordered_set<std::string_view> blocks;
  for (std::size_t i = 0; i + kBlockBytes <= payload.size(); i += kBlockBytes) {
    blocks.insert(payload.substr(i, kBlockBytes));
  }
  for (std::size_t at = 0; at + kBlockBytes <= text.size(); ++at) {
    const auto block = blocks.find(std::string_view(text).substr(at, kBlockBytes));
    if (block == blocks.end()) continue;
    const auto in = static_cast<std::size_t>(block->data() - payload.data());
    const Passage passage = Shared(text, at, payload, in);
    if (passage.length < kQuoteBytesMin) continue;
    text.replace(passage.begin, passage.length, kReplacement);
    at = passage.begin + kReplacement.size() - 1;
  }
}

}  // namespace

std::string ErrorText(const Status& failure, const Message& message, std::size_t bytes_max) {
  std::string text = failure.ToString();
  // Far more than is kept, and little enough to search.
  text.resize(std::min(text.size(), 2 * bytes_max + message.payload.size()));
  ReplaceWhole(text, message.payload);
  text.resize(std::min(text.size(), 2 * bytes_max));
  ReplaceQuotes(text, message.payload);
  return base::CleanError(text, bytes_max);
}

}  // namespace outbox::relay
