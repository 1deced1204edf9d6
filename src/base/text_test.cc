#include "base/text.h"

#include <gtest/gtest.h>

namespace outbox::base {
namespace {

using std::chrono::milliseconds;

TEST(Duration, ReadsEachUnit) {
  EXPECT_EQ(ParseDuration("200ms").value(), milliseconds(200));
  EXPECT_EQ(ParseDuration("60s").value(), milliseconds(60'000));
  EXPECT_EQ(ParseDuration("10m").value(), milliseconds(600'000));
  EXPECT_EQ(ParseDuration("168h").value(), milliseconds(604'800'000));
  EXPECT_EQ(ParseDuration("7d").value(), milliseconds(604'800'000));
  EXPECT_EQ(ParseDuration("0").value(), milliseconds(0));
}

TEST(Duration, RefusesEverythingElseWithAHint) {
  for (const char* text :
       {"", "5", "-1s", "1.5s", "10 s", "s", "1w", "99999999999999999d", "1s2s"}) {
    const auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_FALSE(parsed.error().hint().empty());
  }
}

TEST(Duration, RefusesWhatIsLongerThanACentury) {
  EXPECT_EQ(ParseDuration("36500d").value(), kDurationMax);
  EXPECT_EQ(ParseDuration("3153600000000ms").value(), kDurationMax);
  for (const char* text : {"36501d", "876001h", "3153600000001ms", "9223372036854775807ms",
                           "99999999999999999999s", "106751991167d"}) {
    const auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().message(), StrCat("'", text, "' is longer than 36500d"));
  }
  EXPECT_FALSE(ParseDuration("99999999999999999999").ok());
}

TEST(Duration, FormatsTheShortestExactForm) {
  EXPECT_EQ(FormatDuration(milliseconds(1500)), "1500ms");
  EXPECT_EQ(FormatDuration(milliseconds(60'000)), "1m");
  EXPECT_EQ(FormatDuration(milliseconds(604'800'000)), "7d");
  EXPECT_EQ(FormatDuration(milliseconds(0)), "0");
}

TEST(Timestamp, SurvivesARoundTrip) {
  const std::string text = "2026-01-05T23:59:58.123456Z";
  ASSERT_TRUE(ParseTimestamp(text));
  EXPECT_EQ(FormatTimestamp(*ParseTimestamp(text)), text);
  for (const char* edge : {"1970-01-01T00:00:00.000000Z", "0999-12-31T00:00:00.000001Z",
                           "9999-12-31T23:59:59.999999Z", "2024-02-29T10:20:30.100000Z"}) {
    EXPECT_EQ(FormatTimestamp(*ParseTimestamp(edge)), edge);
  }
  EXPECT_EQ(ParseTimestamp("2026-01-05T01:00:00+01:00"), ParseTimestamp("2026-01-05T00:00:00Z"));
  for (const char* bad : {"", "2026-13-01T00:00:00Z", "2026-01-05", "2026-01-05T00:00:00",
                          "2026-01-05T00:00:00.Z", "2026-01-05T24:00:00Z"}) {
    EXPECT_FALSE(ParseTimestamp(bad)) << bad;
  }
}

TEST(Timestamp, ReadsNanosecondsAsMicroseconds) {
  EXPECT_EQ(ParseTimestamp("2026-01-05T00:00:00.123456999Z"),
            ParseTimestamp("2026-01-05T00:00:00.123456Z"));
  EXPECT_EQ(ParseTimestamp("2026-01-05T00:00:00.1Z"),
            ParseTimestamp("2026-01-05T00:00:00.100000000Z"));
  EXPECT_FALSE(ParseTimestamp("2026-01-05T00:00:00.1234567890Z"));
}

TEST(Timestamp, RefusesWhatIsNoTime) {
  for (const char* bad :
       {"2026-01-05T-1:-5:-9Z", "2026-01-05T00:00:00+99:99", "2026-01-05T00:00:00+24:00",
        "2026-01-05T00:00:00+00:60", "2026-01-05T00:00:00+-1:00", "2026-01-05T 1: 2: 3Z",
        "2026-1-5T00:00:00Z", "+026-01-05T00:00:00Z", "2026-02-29T00:00:00Z",
        "2026-01-05T00:60:00Z", "2026-01-05T00:00:60Z", "2026-01-05T00:00:00ZZ",
        "2026-01-05T00:00:00Z+00:00", "2026-01-05T00:00:00+", "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01", "2026-00-05T00:00:00Z", "2026-01-00T00:00:00Z"}) {
    EXPECT_FALSE(ParseTimestamp(bad)) << bad;
  }
}

TEST(Timestamp, ShowsTheEndsOfTimeAsTheirs) {
  EXPECT_EQ(FormatTimestamp(Timestamp::max()), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatTimestamp(Timestamp::min()), "0000-01-01T00:00:00.000000Z");
}

TEST(Truncate, CutsBetweenCharacters) {
  EXPECT_EQ(Truncate("abcdef", 6), "abcdef");
  EXPECT_EQ(Truncate("abcdefg", 6), "abc…");
  const std::string cut = Truncate("ääääää", 8);
  EXPECT_LE(cut.size(), 8U);
  EXPECT_TRUE(IsValidUtf8(cut));
}

TEST(Utf8, IsJudgedWhereverItStands) {
  for (std::size_t before = 0; before < 20; ++before) {
    for (std::size_t after = 0; after < 10; ++after) {
      const auto with = [&](std::string_view middle) {
        return std::string(before, 'a') + std::string(middle) + std::string(after, 'z');
      };
      for (const char* good : {"", "é", "日", "🙂", "é日🙂"}) {
        EXPECT_TRUE(IsValidUtf8(with(good))) << with(good);
      }
      for (const char* bad : {"\xC3", "\x80", "\xFF", "\xC0\x80", "\xED\xA0\x80", "\xF0\x9F\x99"}) {
        EXPECT_FALSE(IsValidUtf8(with(bad))) << before << " " << after;
      }
    }
  }
}

TEST(CleanError, HidesPasswordsWithSignsOfAddresses) {
  EXPECT_EQ(CleanError("redis://:p@ss@host/0 refused", 200), "redis://:***@host/0 refused");
  EXPECT_EQ(CleanError("redis://:p/ss@host/0 refused", 200), "redis://:***@host/0 refused");
  EXPECT_EQ(CleanError("password=pw,er2 host=x", 200), "password=*** host=x");
}

TEST(CleanText, LeavesExplanationsAlone) {
  EXPECT_EQ(CleanText("password: is given twice", 200), "password: is given twice");
  EXPECT_EQ(CleanText("amqp://u:pw@h: password=x\n", 200), "amqp://u:***@h: password=*** ");
}

TEST(CleanError, HidesSecretsAndControlCharacters) {
  EXPECT_EQ(CleanError("amqp://user:hunter2@host/ refused", 200), "amqp://user:***@host/ refused");
  EXPECT_EQ(CleanError("password=hunter2 host=x", 200), "password=*** host=x");
  EXPECT_EQ(CleanError("Authorization: Bearer abc.def failed", 200), "Authorization: *** failed");
  EXPECT_EQ(CleanError("{\"token\": \"abc\"}", 200), "{\"token\": ***}");
  EXPECT_EQ(CleanError("a\nb\x01\xff", 200), "a b \xEF\xBF\xBD");
  EXPECT_LE(CleanError(std::string(100'000, 'x'), 2048).size(), 2048U);
}

TEST(Nearest, FindsTheLikelyTypo) {
  const std::vector<std::string> known = {"batch_size", "lease", "poll_max"};
  EXPECT_EQ(Nearest("batchsize", known), "batch_size");
  EXPECT_EQ(Nearest("leese", known), "lease");
  EXPECT_EQ(Nearest("entirely_different", known), "");
}

TEST(JsonQuote, EscapesWhatJsonMustNotContain) {
  EXPECT_EQ(JsonQuote("a\"b\\c\n\x01ä"), "\"a\\\"b\\\\c\\n\\u0001ä\"");
  EXPECT_EQ(JsonQuote("\xff"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(JsonQuote(""), "\"\"");
  EXPECT_EQ(JsonQuote("plain\x7f"), "\"plain\x7f\"");
}

}  // namespace
}  // namespace outbox::base
