#include "base/printable.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"

namespace outbox::base {
namespace {

std::string Utf8(char32_t character) {
  std::string out;
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xC0U | character >> 6);
    out += static_cast<char>(0x80U | (character & 0x3FU));
  } else if (character < 0x10000) {
    out += static_cast<char>(0xE0U | character >> 12);
    out += static_cast<char>(0x80U | (character >> 6 & 0x3FU));
    out += static_cast<char>(0x80U | (character & 0x3FU));
  } else {
    out += static_cast<char>(0xF0U | character >> 18);
    out += static_cast<char>(0x80U | (character >> 12 & 0x3FU));
    out += static_cast<char>(0x80U | (character >> 6 & 0x3FU));
    out += static_cast<char>(0x80U | (character & 0x3FU));
  }
  return out;
}

bool Obeyed(char32_t character) {
  return character < 0x20 || (character >= 0x7F && character <= 0x9F) || character == 0x61C ||
         character == 0x200E || character == 0x200F || character == 0x2028 || character == 0x2029 ||
         (character >= 0x202A && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

TEST(Printable, KnowsEveryCharacter) {
  for (char32_t character = 0; character < 0x110000; ++character) {
    if (character >= 0xD800 && character < 0xE000) continue;
    const std::string text = Utf8(character);
    ASSERT_EQ(Utf8Length(text), text.size());
    ASSERT_EQ(Utf8Character(text, text.size()), character);
    ASSERT_EQ(Harmless(text), Obeyed(character) ? " " : text) << std::hex << unsigned{character};
    ASSERT_EQ(Harmless(text, text), text);
    const bool space = character == '\n' || character == '\t';
    const std::string json = HarmlessJson(text);
    ASSERT_EQ(json != text, Obeyed(character) && !space) << std::hex << unsigned{character};
  }
}

TEST(Printable, WhatIsNotUtf8IsReplaced) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(Harmless("a\x9b\x33\x31mb"), "a" + mark + "31mb") << "CSI as one byte";
  for (int byte = 0x80; byte < 0x100; ++byte) {
    const std::string text{'a', static_cast<char>(byte), 'b'};
    EXPECT_EQ(Harmless(text), "a" + mark + "b") << byte;
    EXPECT_EQ(HarmlessJson(text), "a" + mark + "b") << byte;
  }
  EXPECT_EQ(Harmless("\xE2\x80"), mark + mark) << "the half of one";
  EXPECT_EQ(Harmless("\xED\xA0\x80"), mark + mark + mark) << "a surrogate";
  EXPECT_EQ(Harmless("\xC0\x9B"), mark + mark) << "longer than it need be";
}

TEST(Printable, JsonStaysEqualInValue) {
  std::string text = "a\"b\\c";
  for (const char32_t character : {0x7F, 0x80, 0x85, 0x9B, 0x9F, 0x61C, 0x200E, 0x200F, 0x2028,
                                   0x2029, 0x202A, 0x202E, 0x2066, 0x2069, 0xE4, 0x65E5, 0x1F642}) {
    text += Utf8(character);
  }
  const nlohmann::json value{{text, text}, {"list", {1, text, nullptr}}};
  const std::string pretty = "\t" + value.dump(2) + "\r\n";
  const std::string harmless = HarmlessJson(pretty);
  EXPECT_EQ(nlohmann::json::parse(harmless), value);
  EXPECT_EQ(Harmless(harmless, "\n\t"), harmless);
  EXPECT_NE(harmless.find("\\u009b"), std::string::npos) << harmless;
  EXPECT_NE(harmless.find("\\u202e"), std::string::npos) << harmless;
}

TEST(Printable, CleanedErrorsAreHarmless) {
  EXPECT_EQ(CleanError("a\xC2\x9B"
                       "b\xE2\x80\xAE"
                       "c\xE2\x80\xA9"
                       "d",
                       100),
            "a b c d");
}

}  // namespace
}  // namespace outbox::base
