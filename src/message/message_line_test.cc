#include "message/message_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/matchers.h"

namespace outbox::message {
namespace {

using ::testing::HasSubstr;

TEST(MessageLine, KeepsThePayloadByteForByte) {
  const auto message = ParseMessageLine(
      R"({"payload" : {"b":1.0, "a":[1,{"x":"}],\""}], "n":12345678901234567890123} ,"topic":"t"})");
  ASSERT_OK(message);
  EXPECT_EQ(message->payload, R"({"b":1.0, "a":[1,{"x":"}],\""}], "n":12345678901234567890123})");
  EXPECT_EQ(message->topic, "t");
}

TEST(MessageLine, ReadsEveryField) {
  const auto message = ParseMessageLine(
      R"({"topic":"a.b.c.v1","payload":"text","id":"01890a5d-ac96-774b-bcce-b302099a8057",)"
      R"("namespace":"n","event_type":"E","event_version":3,"aggregate_type":"A",)"
      R"("aggregate_id":"7","key":"k\u00e9","tenant_id":"01890a5d-ac96-774b-bcce-b302099a8058",)"
      R"("dedupe_key":"d","headers":{"h":"v"},"traceparent":"00-1","tracestate":"s",)"
      R"("delay":"5s"})");
  ASSERT_OK(message);
  EXPECT_EQ(message->payload, "\"text\"");
  EXPECT_EQ(message->id->ToString(), "01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_EQ(message->name_space, "n");
  EXPECT_EQ(message->event_type, "E");
  EXPECT_EQ(message->event_version, 3);
  EXPECT_EQ(message->aggregate_type, "A");
  EXPECT_EQ(message->aggregate_id, "7");
  EXPECT_EQ(message->key, "ké");
  EXPECT_EQ(message->tenant_id->ToString(), "01890a5d-ac96-774b-bcce-b302099a8058");
  EXPECT_EQ(message->dedupe_key, "d");
  EXPECT_EQ(message->headers, (Headers{{"h", "v"}}));
  EXPECT_EQ(message->traceparent, "00-1");
  EXPECT_EQ(message->tracestate, "s");
  EXPECT_EQ(message->delay, std::chrono::seconds(5));
}

TEST(MessageLine, TakesNullForAbsentExceptAsAPayload) {
  const auto message = ParseMessageLine(R"({"topic":"t","payload":null,"key":null,"id":null})");
  ASSERT_OK(message);
  EXPECT_EQ(message->payload, "null");
  EXPECT_EQ(message->key, "");
  EXPECT_FALSE(message->id);
}

TEST(MessageLine, RefusesNumbersBeyondADoubleAndLoneSurrogates) {
  for (const char* value : {"1e400", "-1e400", R"("\ud800")"}) {
    for (const char* member : {"payload", "headers"}) {
      const std::string line = base::StrCat(R"({"topic":"t","payload":{},"headers":{},")", member,
                                            R"(":{"a":)", value, "}}");
      EXPECT_EQ(ParseMessageLine(line).error().message(), "is not valid JSON") << line;
      EXPECT_THAT(ParseMessageLine(line).error().hint(), HasSubstr("1.8e308"));
    }
  }
}

// What a payload means is its producer's and its consumer's business.
TEST(MessageLine, TakesAPayloadThatHasAMemberTwiceAsItIs) {
  const auto message =
      ParseMessageLine(R"({"payload":{"a":1,"a":{"b":2,"b":3}},"topic":"t","headers":{"a":"b"}})");
  ASSERT_OK(message);
  EXPECT_EQ(message->payload, R"({"a":1,"a":{"b":2,"b":3}})");
}

TEST(MessageLine, NamesWhatIsWrong) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"", "is not valid JSON"},
      {"{", "is not valid JSON"},
      {"[1]", "is not a JSON object"},
      {"{}", "topic: is required"},
      {R"({"topic":"t"})", "payload: is required"},
      {R"({"topic":1,"payload":1})", "topic: is not a string"},
      {R"({"topic":"t","payload":1,"id":"7"})", "id: is not a UUID"},
      {R"({"topic":"t","payload":1,"headers":{"a":1}})", "headers: is not an object of strings"},
      {R"({"topic":"t","payload":1,"delay":5})", "delay: is not a duration"},
      {R"({"topic":"t","payload":1,"event_version":0})", "event_version: is not a whole number"},
      {R"({"topic":"t","payload":1,"available_at":"now"})", "available_at: is not a time"},
      {R"({"topci":"t","payload":1})", "did you mean 'topic'?"},
      {R"({"topic":"t","payload":1,"topic":"u"})", "topic: is given twice"},
      {R"({"topic":"t","payload":1,"payload":1})", "payload: is given twice"},
      {R"({"topic":"t","t\u006fpic":"u","payload":1})", "topic: is given twice"},
      {R"({"topic":"t","payload":1,"key":null,"key":"k"})", "key: is given twice"},
      {R"({"topic":"t","payload":1,"headers":{"a":"b","c":"d","\u0061":"b"}})",
       "headers: 'a' is given twice"},
  };
  for (const auto& [line, problem] : cases) {
    EXPECT_THAT(ParseMessageLine(line).error().message(), HasSubstr(problem)) << line;
  }
}

TEST(MessageLine, NothingHidesBehindAZeroByte) {
  using namespace std::string_literals;
  for (const std::string& line :
       {"{}\0"s, "{}\0\""s + std::string(3000, 'a'), "\0{}"s,
        "{\"topic\":\"t\",\"payload\":1}\0garbage"s, "{}\0\"topic\":\"t\",\"payload\":1}"s,
        "{\"topic\":\"t\",\"payload\":\"\0\"}"s}) {
    EXPECT_EQ(ParseMessageLine(line).error().message(), "is not valid JSON") << line;
  }
}

}  // namespace
}  // namespace outbox::message
