// Texts from elsewhere: errors to clean, addresses to mask, payloads to hide, timestamps and
// durations to read.
//
// Beyond not crashing: what was cleaned is short, valid and without anything that a terminal obeys;
// an option that nobody knows is not shown; a text that is the payload is known as one; and what
// was read is read as the same again from the text it is written as.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/mask_address.h"
#include "base/printable.h"
#include "base/text.h"
#include "message/hide_payload.h"
#include "message/payload_echo.h"
#include "sink/option_table.h"

namespace {

constexpr std::size_t kBytesMax = 512;

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckClean(const std::string& cleaned) {
  Require(cleaned.size() <= kBytesMax && outbox::base::IsValidUtf8(cleaned));
  Require(outbox::base::Harmless(cleaned) == cleaned);
}

void CheckPrintable(std::string_view text) {
  const std::string harmless = outbox::base::Harmless(text);
  Require(outbox::base::IsValidUtf8(harmless) && outbox::base::Harmless(harmless) == harmless);
  const std::string kept = outbox::base::Harmless(text, "\n\t");
  Require(outbox::base::Harmless(kept) == harmless);
  const std::string json = outbox::base::HarmlessJson(text);
  Require(outbox::base::Harmless(json, "\n\t") == json);
  Require(outbox::base::HarmlessJson(json) == json);
}

// No part of it is longer than what is hidden, or has its value.
void CheckMasked(std::string_view text) {
  constexpr std::string_view kMarker = "CANARY";
  if (text.find(kMarker) != std::string_view::npos) return;
  for (const std::string_view scheme : {"amqp", "kafka", "https", "nats", "file", "gopher"}) {
    const std::string address = outbox::base::StrCat(scheme, "://h/?no.such=", kMarker, "&", text);
    // Behind an '@' what came before may be a login.
    if (text.find_first_of("@#") != std::string_view::npos) break;
    Require(outbox::sink::MaskSinkAddress(address).find(kMarker) == std::string::npos);
  }
  (void)outbox::sink::MaskSinkAddress(text);
  (void)outbox::base::MaskAddress(text);
}

void CheckHidden(std::string_view text) {
  using outbox::message::PayloadEcho;
  const std::string_view half = text.substr(0, text.size() / 2);
  for (const std::string_view payload : {text, half}) {
    const std::string hidden = outbox::message::HidePayload(std::string(text), payload);
    Require(payload.size() < 48 || hidden.find(payload) == std::string::npos);
  }
  PayloadEcho echo;
  const std::size_t whole = echo.Add(text);
  const std::size_t letters = echo.Add("abcdefghijklmnopqrstuvwxyz");
  echo.Look(text);
  (void)echo.Repeats(whole);
  echo.Look("{\"x\":\"ABCDEFGHIJ klmnopqrst-uvwxyz\"}");
  Require(echo.Repeats(letters));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckClean(outbox::base::CleanError(text, kBytesMax));
  CheckClean(outbox::base::CleanText(text, kBytesMax));
  CheckPrintable(text);
  CheckMasked(text);
  CheckHidden(text);
  if (const auto at = outbox::base::ParseTimestamp(text)) {
    Require(outbox::base::ParseTimestamp(outbox::base::FormatTimestamp(*at)) == at);
  }
  if (const auto duration = outbox::base::ParseDuration(text); duration.ok()) {
    const auto again = outbox::base::ParseDuration(outbox::base::FormatDuration(*duration));
    Require(again.ok() && *again == *duration);
  }
  return 0;
}
