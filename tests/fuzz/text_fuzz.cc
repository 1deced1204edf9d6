// Texts from elsewhere: errors to clean, timestamps and durations to read.
//
// Beyond not crashing: what was cleaned is short, valid and without control characters, and what
// was read is read as the same again from the text it is written as.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"

namespace {

constexpr std::size_t kBytesMax = 512;

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckClean(const std::string& cleaned) {
  Require(cleaned.size() <= kBytesMax && outbox::base::IsValidUtf8(cleaned));
  Require(std::none_of(cleaned.begin(), cleaned.end(),
                       [](unsigned char c) { return c < 0x20 || c == 0x7F; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckClean(outbox::base::CleanError(text, kBytesMax));
  CheckClean(outbox::base::CleanText(text, kBytesMax));
  if (const auto at = outbox::base::ParseTimestamp(text)) {
    Require(outbox::base::ParseTimestamp(outbox::base::FormatTimestamp(*at)) == at);
  }
  if (const auto duration = outbox::base::ParseDuration(text); duration.ok()) {
    const auto again = outbox::base::ParseDuration(outbox::base::FormatDuration(*duration));
    Require(again.ok() && *again == *duration);
  }
  return 0;
}
