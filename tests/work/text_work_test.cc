// The scanners of texts take time with the length of a text, and a stack that does not grow with
// it, whatever is in it. Steps are counted, not timed: the scanners are compiled to report each
// branch they take (-fsanitize=coverage), and the bytes that they have the C library look at count
// as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hide_secrets.h"
#include "base/mask_address.h"
#include "base/printable.h"
#include "base/text.h"
#include "message/hide_payload.h"
#include "message/payload_echo.h"
#include "sink/option_table.h"

namespace {

std::uint64_t steps = 0;
std::uintptr_t stack_end = 0;

void CountBytes(std::size_t bytes) { steps += 1 + bytes / 16; }

}  // namespace

extern "C" {
void __sanitizer_cov_trace_pc() {
  ++steps;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (here < stack_end) stack_end = here;
}
// Found bytes end the search; what was looked at is what counts.
void* __real_memchr(const void* text, int byte, std::size_t size);
void* __wrap_memchr(const void* text, int byte, std::size_t size) {
  void* const found = __real_memchr(text, byte, size);
  CountBytes(found == nullptr ? size
                              : static_cast<std::size_t>(static_cast<const char*>(found) -
                                                         static_cast<const char*>(text)));
  return found;
}
int __real_memcmp(const void* a, const void* b, std::size_t size);
int __wrap_memcmp(const void* a, const void* b, std::size_t size) {
  CountBytes(size);
  return __real_memcmp(a, b, size);
}
void* __real_memcpy(void* to, const void* from, std::size_t size);
void* __wrap_memcpy(void* to, const void* from, std::size_t size) {
  CountBytes(size);
  return __real_memcpy(to, from, size);
}
void* __real_memmove(void* to, const void* from, std::size_t size);
void* __wrap_memmove(void* to, const void* from, std::size_t size) {
  CountBytes(size);
  return __real_memmove(to, from, size);
}
void* __real_memset(void* to, int byte, std::size_t size);
void* __wrap_memset(void* to, int byte, std::size_t size) {
  CountBytes(size);
  return __real_memset(to, byte, size);
}
}

namespace outbox {
namespace {

struct Work {
  std::uint64_t steps = 0;
  std::uintptr_t stack = 0;
};

Work Measure(const std::function<void()>& run) {
  steps = 0;
  const auto top = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  stack_end = top;
  run();
  return {steps, top - stack_end};
}

constexpr std::size_t kBytes = 2048;
constexpr std::size_t kTimes = 8;
// Eight times the text is eight times the work, and what a hash table adds; its square would be 64.
constexpr std::uint64_t kRatioMax = 12;
// As many steps a byte are few: a text may be done with at its first characters.
constexpr std::uint64_t kFewPerByte = 4;
constexpr std::uintptr_t kStackMax = 32 << 10;

std::string Repeated(std::string_view head, std::string_view part, std::size_t bytes) {
  std::string text(head);
  while (text.size() < bytes) text += part;
  return text;
}

using Scanner = std::function<void(const std::string& text)>;

void ExpectLinear(const std::string& name, const Scanner& scan, std::string_view head,
                  std::string_view part) {
  const std::string small = Repeated(head, part, kBytes);
  const std::string large = Repeated(head, part, kTimes * kBytes);
  const Work few = Measure([&] { scan(small); });
  const Work many = Measure([&] { scan(large); });
  EXPECT_GT(few.steps, 0u) << name;
  EXPECT_LE(many.steps, kRatioMax * std::max(few.steps, kFewPerByte * small.size()))
      << name << " of '" << head << "' and many '" << part << "': " << few.steps << " steps for "
      << small.size() << " bytes, " << many.steps << " for " << large.size();
  EXPECT_LE(many.stack, kStackMax) << name << " of many '" << part << "'";
}

// Beginnings and middles of what each of the scanners looks for.
const std::vector<std::string_view>& Heads() {
  static const auto& heads = *new std::vector<std::string_view>{
      "", "http://", "postgres://u:", "amqp://u:p@h/?", "host=db password='", "https://h/?"};
  return heads;
}

const std::vector<std::string_view>& Parts() {
  static const auto& parts =
      *new std::vector<std::string_view>{"x",
                                         "p",
                                         " ",
                                         "/",
                                         ":",
                                         "@",
                                         "?",
                                         "&",
                                         "=",
                                         "#",
                                         "'",
                                         "\"",
                                         "\\",
                                         "\\\"",
                                         "%",
                                         "%4",
                                         "%25",
                                         "://",
                                         "://:",
                                         "://a:",
                                         "a://b:c@",
                                         "token=",
                                         "token ",
                                         "token=\"",
                                         "token='\\",
                                         "token=\\\"",
                                         "authorization: a ",
                                         "authorization: bearer ",
                                         "password=bearer ",
                                         "password",
                                         "pass",
                                         "x=y&",
                                         "x=y ",
                                         "x='y' ",
                                         "\\u0041",
                                         "\\ud83d",
                                         "&amp;",
                                         "&#65;",
                                         "&#",
                                         "41",
                                         "QUJD",
                                         "QU JD\n",
                                         "\x01",
                                         "\x9b",
                                         "\xC2\x9B",
                                         "\xE2\x80\xAE",
                                         "\xE2\x80",
                                         "\xF0\x9F\x99\x82",
                                         "01890a5d-ac96-774b-bcce-b302099a8057",
                                         "a-",
                                         "abcdefghijklmnopqrstuvwxyz"};
  return parts;
}

void ExpectLinear(const std::string& name, const Scanner& scan) {
  for (const std::string_view head : Heads()) {
    for (const std::string_view part : Parts()) ExpectLinear(name, scan, head, part);
  }
}

// The negative control: without it nobody would know that a square is found.
TEST(TextWork, ASquareIsFoundOut) {
  const auto square = [](const std::string& text) {
    for (std::size_t i = 0; i < text.size(); i += 64) {
      (void)base::IsValidUtf8(std::string_view(text).substr(i));
    }
  };
  const Work few = Measure([&] { square(std::string(kBytes, 'x')); });
  const Work many = Measure([&] { square(std::string(kTimes * kBytes, 'x')); });
  EXPECT_GT(many.steps, 2 * kRatioMax * few.steps);
}

TEST(TextWork, HidingSecretsIsLinear) {
  ExpectLinear("HideUrlPasswords", [](const std::string& text) { base::HideUrlPasswords(text); });
  ExpectLinear("HideSecretSettings", [](const std::string& text) {
    base::HideSecretSettings(text, base::SettingForm::kAssignedOrNamed);
  });
  ExpectLinear("HideSecretSettings, assigned", [](const std::string& text) {
    base::HideSecretSettings(text, base::SettingForm::kAssigned);
  });
}

TEST(TextWork, CleaningIsLinear) {
  ExpectLinear("CleanError", [](const std::string& text) { base::CleanError(text, text.size()); });
  ExpectLinear("CleanText", [](const std::string& text) { base::CleanText(text, text.size()); });
  ExpectLinear("CleanError, cut", [](const std::string& text) { base::CleanError(text, 100); });
  ExpectLinear("Harmless", [](const std::string& text) { base::Harmless(text, "\n\t"); });
  ExpectLinear("HarmlessJson", [](const std::string& text) { base::HarmlessJson(text); });
  ExpectLinear("JsonQuote", [](const std::string& text) { base::JsonQuote(text); });
  ExpectLinear("Truncate",
               [](const std::string& text) { base::Truncate(text, text.size() / 2 + 1); });
  ExpectLinear("PercentDecode", [](const std::string& text) { base::PercentDecode(text); });
  ExpectLinear("IsValidUtf8", [](const std::string& text) { (void)base::IsValidUtf8(text); });
  ExpectLinear("Trim", [](const std::string& text) { (void)base::Trim(text); });
  ExpectLinear("Split", [](const std::string& text) { base::Split(text, '&'); });
}

TEST(TextWork, MaskingIsLinear) {
  ExpectLinear("MaskAddress", [](const std::string& text) { base::MaskAddress(text); });
  ExpectLinear("MaskSinkAddress", [](const std::string& text) { sink::MaskSinkAddress(text); });
}

TEST(TextWork, HidingPayloadsIsLinear) {
  ExpectLinear("HidePayload, of itself",
               [](const std::string& text) { message::HidePayload(text, text); });
  ExpectLinear("HidePayload, of its half", [](const std::string& text) {
    message::HidePayload(text, std::string_view(text).substr(text.size() / 2));
  });
  ExpectLinear("HidePayload, often", [](const std::string& text) {
    message::HidePayload(text, std::string_view(text).substr(0, 60));
  });
  ExpectLinear("PayloadEcho", [](const std::string& text) {
    message::PayloadEcho echo;
    const std::size_t number = echo.Add(text);
    echo.Look(text);
    (void)echo.Repeats(number);
  });
}

TEST(TextWork, ManyTextsAndManyPayloadsAreComparedOnce) {
  const auto compare = [](std::size_t count) {
    return Measure([&] {
      message::PayloadEcho echo;
      for (std::size_t i = 0; i < count; ++i) {
        echo.Add(base::StrCat("refused, with the number ", i, " and more of it"));
      }
      for (std::size_t i = 0; i < count; ++i) {
        echo.Look(base::StrCat("{\"number\":", i, ",\"of\":\"as many as there are\"}"));
      }
      for (std::size_t i = 0; i < count; ++i) (void)echo.Repeats(i);
    });
  };
  const Work few = compare(200);
  const Work many = compare(200 * kTimes);
  EXPECT_LE(many.steps, kRatioMax * few.steps);
}

}  // namespace
}  // namespace outbox
