#include "message/plain_json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "outbox/message.h"

namespace outbox::message {
namespace {

constexpr std::size_t kDepthMax = 20;

bool IsPlain(std::string_view text) { return IsPlainJson(text, kDepthMax); }

TEST(PlainJson, TakesWhatPayloadsLookLike) {
  for (
      const char* text :
      {R"({"order":42,"customer":"ada","total":12.5,"items":[{"sku":"a-1","count":2}],"note":null})",
       "[]", "{}", "\"text\"", "true", "null", "-0", "-1.5", "123456789012345678901234567890",
       "  [1 ,\t2]\r\n", R"("tab \t quote \" slash \/")", "\"Grüße, 日本, 🙂\""}) {
    EXPECT_TRUE(IsPlain(text)) << text;
  }
}

TEST(PlainJson, LeavesTheRestToTheCarefulCheck) {
  for (const std::string& text : std::vector<std::string>{
           "",
           " ",
           "nul",
           "01",
           "1.",
           "-",
           "+1",
           ".5",
           "[1,]",
           "{\"a\":}",
           "{a:1}",
           "1 2",
           "{}}",
           "\"a\tb\"",
           "\"a\nb\"",
           "\"\\x\"",
           "'a'",
           "NaN",
           "Infinity",
           "1e400",
           "-1e400",
           "[1e309]",
           std::string(400, '9'),
           "/* */ 1",
           "\xEF\xBB\xBF{}",
           R"("\u0041")",
           R"("\ud800")",
           R"("\udc00")",
           R"("\u0000")",
           "\"\xC0\x80\"",
           "\"\xED\xA0\x80\"",
           "\"\xF4\x90\x80\x80\"",
           "\"\xFF\"",
           "\"\xC3\"",
           std::string("{}\0", 3),
           std::string("\"a\0b\"", 5),
           std::string(kDepthMax + 1, '[') + std::string(kDepthMax + 1, ']')}) {
    EXPECT_FALSE(IsPlain(text)) << text;
  }
  EXPECT_TRUE(IsPlain(std::string(kDepthMax, '[') + std::string(kDepthMax, ']')));
}

// Whatever is plain is good JSON for the other parser too, which accepts no text that a database
// refuses.
TEST(PlainJson, IsNeverMoreThanTheCarefulCheckTakes) {
  const std::string seeds[] = {
      R"({"a":[1,-2.5,true,null,{"b":"c\\\"\n"}],"é":"日本🙂"})",
      R"([0.1,12345678901234567890,-0,"x",{},[[]]])",
      R"([1.7976931348623157e308,5e-324,"\ud83d\ude00"])",
  };
  const std::string spice = "{}[]\",:.eE+-0189\\ud\t\n \x01\x7F\xC3\xA9\xED\xA0\x80\xF0\x9F";
  std::mt19937 random(20240229);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  int plain = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text = seeds[below(std::size(seeds))];
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(text.size());
      switch (below(3)) {
        case 0: text[at] = spice[below(spice.size())]; break;
        case 1: text.insert(at, 1, spice[below(spice.size())]); break;
        default: text.erase(at, 1); break;
      }
      if (text.empty()) text = "1";
    }
    if (!IsPlain(text)) continue;
    ++plain;
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  }
  EXPECT_GT(plain, 1000);
}

}  // namespace
}  // namespace outbox::message
