#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/http/json_body.h"
#include "service/http/parameters.h"
#include "service/http/problem.h"
#include "service/http/request_id.h"
#include "tests/support/matchers.h"

namespace outbox::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Query ParseQuery(std::string_view text) {
  auto query = Query::Parse(text, 16);
  EXPECT_OK(query);
  return query.ok() ? *std::move(query) : Query();
}

TEST(Query, NamesAndValuesAreDecoded) {
  const Query query = ParseQuery("a=1&b=x%26y+z&flag&a=2&&c=");
  EXPECT_EQ(query.Find("a"), "1");
  EXPECT_EQ(query.Count("a"), 2u);
  EXPECT_EQ(query.Find("b"), "x&y z");
  EXPECT_EQ(query.Find("flag"), "");
  EXPECT_EQ(query.Find("c"), "");
  EXPECT_EQ(query.Find("d"), std::nullopt);
}

TEST(Query, WhatCanNotBeDecodedIsRefused) {
  for (const char* text : {"a=%", "a=%4", "a=%zz", "%=1", "a=%00", "a=%ff", "=1", "a=\xff"}) {
    EXPECT_THAT(Query::Parse(text, 16), HasCode(Code::kInvalidArgument)) << text;
  }
  EXPECT_THAT(Query::Parse("a&b&c", 2), HasCode(Code::kInvalidArgument));
}

TEST(Parameters, UnknownOnesAreRefusedWithWhatWasMeant) {
  const std::vector<std::string> known = {"page", "page_size", "status"};
  EXPECT_OK(CheckParameters(ParseQuery("page=1&status=dead"), known));
  EXPECT_EQ(CheckParameters(ParseQuery("pagesize=1"), known).message(),
            "unknown parameter pagesize: did you mean page_size?");
  EXPECT_EQ(CheckParameters(ParseQuery("colour=red"), known).message(),
            "unknown parameter colour: there are page, page_size, status");
  EXPECT_EQ(CheckParameters(ParseQuery("a=1"), {}).message(),
            "unknown parameter a: there are none to give here");
  EXPECT_EQ(CheckParameters(ParseQuery("page=1&page=2"), known).message(),
            "page is given more than once");
}

TEST(Parameters, NumbersAreWholeAndWithinBounds) {
  const IntBounds bounds{.min = 1, .max = 100, .fallback = 20};
  EXPECT_EQ(*IntParameter(ParseQuery(""), "page_size", bounds), 20);
  EXPECT_EQ(*IntParameter(ParseQuery("page_size=1"), "page_size", bounds), 1);
  EXPECT_EQ(*IntParameter(ParseQuery("page_size=100"), "page_size", bounds), 100);
  for (const char* bad :
       {"0", "101", "-1", "1.5", "ten", "", "1+", "%201", "0x1", "99999999999999999999"}) {
    const auto result =
        IntParameter(ParseQuery(std::string("page_size=") + bad), "page_size", bounds);
    EXPECT_EQ(result.error().message(), "page_size must be a whole number from 1 to 100") << bad;
  }
}

TEST(Parameters, OtherKindsSayWhatTheyMayBe) {
  EXPECT_EQ(*ChoiceParameter(ParseQuery("status=dead"), "status", {"pending", "dead"}), "dead");
  EXPECT_EQ(*ChoiceParameter(ParseQuery(""), "status", {"dead"}), std::nullopt);
  EXPECT_EQ(
      ChoiceParameter(ParseQuery("status=Dead"), "status", {"pending", "dead"}).error().message(),
      "status must be one of pending, dead");
  EXPECT_TRUE(*BoolParameter(ParseQuery("dry_run=true"), "dry_run", false));
  EXPECT_EQ(BoolParameter(ParseQuery("dry_run=1"), "dry_run", false).error().message(),
            "dry_run must be true or false");
  EXPECT_EQ(*TextParameter(ParseQuery("q=abc"), "q", 3), "abc");
  EXPECT_EQ(TextParameter(ParseQuery("q=abcd"), "q", 3).error().message(),
            "q must be text of 1 to 3 bytes");
  EXPECT_TRUE(TimeParameter(ParseQuery("since=2026-01-05T00:00:00Z"), "since")->has_value());
  EXPECT_THAT(TimeParameter(ParseQuery("since=yesterday"), "since").error().message(),
              HasSubstr("since must be a time"));
}

TEST(JsonBody, MistakesHaveAPlaceAndRepeatNothing) {
  EXPECT_EQ((*ParseJson(R"({"a":[1,{"b":"]]]]"}]})"))["a"][0], 1);
  EXPECT_EQ(ParseJson("").error().message(), "the body is empty: it must be JSON");
  const Status broken = ParseJson("{\n  \"token\": secret}").error();
  EXPECT_EQ(broken.message(), "the body is not JSON: see line 2, column 12");
  EXPECT_THAT(broken.ToString(), Not(HasSubstr("secret")));
  for (const char* bad :
       {"{", "[1,]", "{\"a\"}", "nul", "\"\xff\"", "1 2", "{\"a\":1}x", "\xef\xbb"}) {
    EXPECT_THAT(ParseJson(bad), HasCode(Code::kInvalidArgument)) << bad;
  }
  EXPECT_EQ(ParseJson(std::string_view("[]\0[", 4)).error().message(),
            "the body is not JSON: see line 1, column 3");
  EXPECT_EQ(ParseJson("[1e999]").error().message(), "the body has a number that is too large");
}

TEST(JsonBody, MembersCanBeRequiredToBeThereOnce) {
  const std::string twice = R"({"a":{"b":1,"b":2},"c":"b"})";
  EXPECT_EQ((*ParseJson(twice))["a"]["b"], 2);
  EXPECT_EQ(ParseJson(twice, kJsonDepthMax, JsonMembers::kOnce).error().message(),
            "the body has 'b' twice");
  EXPECT_OK(ParseJson(R"({"a":{"a":1},"b":[{"a":1},{"a":2}]})", kJsonDepthMax, JsonMembers::kOnce));
}

TEST(JsonBody, DepthIsBounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_OK(ParseJson(nested(8), 8));
  EXPECT_EQ(ParseJson(nested(9), 8).error().message(),
            "the body is nested deeper than 8 levels at line 1, column 9");
  EXPECT_THAT(ParseJson(std::string(1'000'000, '[')), HasCode(Code::kInvalidArgument));
  EXPECT_OK(ParseJson(R"(["[[[[[[[[[[\"[[[[[[["])", 2));
}

TEST(Problem, HasTheMembersOfTheStandardAndOurs) {
  Response problem = Problem(409, "not_failed", "Only failed entries", "It is \"pending\".",
                             {{"current_status", "\"pending\""}});
  SetInstance(problem, "abc-1");
  const auto json = ParseJson(problem.body);
  ASSERT_OK(json);
  EXPECT_EQ(*json, nlohmann::json::parse(R"({"type":"urn:outboxd:problem:not_failed",
      "title":"Only failed entries","status":409,"detail":"It is \"pending\".",
      "code":"not_failed","current_status":"pending","instance":"abc-1"})"));
  EXPECT_EQ(problem.content_type, "application/problem+json");
  Response plain{.content_type = "application/json", .body = "{}"};
  SetInstance(plain, "abc-1");
  EXPECT_EQ(plain.body, "{}");
}

TEST(Problem, OfAStatusTellsOnlyWhatIsTheClients) {
  EXPECT_EQ(ProblemOf(Status::Invalid("page must be 1")).status, 400);
  EXPECT_THAT(ProblemOf(Status::Invalid("page must be 1")).body, HasSubstr("page must be 1"));
  EXPECT_EQ(ProblemOf(Status::Permanent(Code::kNotFound, "no such message")).status, 404);
  EXPECT_EQ(ProblemOf(Status::Permanent(Code::kConflict, "x")).status, 409);
  const Response down = ProblemOf(Status::Retry(Code::kUnavailable, "db.internal:5432 refused"));
  EXPECT_EQ(down.status, 503);
  EXPECT_THAT(down.body, Not(HasSubstr("internal")));
  EXPECT_EQ(down.headers.at(0), (std::pair<std::string, std::string>("Retry-After", "1")));
  EXPECT_EQ(ProblemOf(Status::Retry(Code::kDeadline, "x")).status, 504);
  EXPECT_THAT(ProblemOf(Status::Permanent(Code::kInternal, "at 0xdead")).body,
              Not(HasSubstr("0xdead")));
  EXPECT_EQ(TooManyRequests(std::chrono::milliseconds(1001)).headers.at(0).second, "2");
}

TEST(Problem, WhatADatabaseSaidIsAboutOurSide) {
  const auto status_of = [](Status said) { return ProblemOf(std::move(said).WithNative("42501")); };
  for (const Code code : {Code::kPermission, Code::kNotFound, Code::kSchema, Code::kConflict}) {
    const Response ours = status_of(Status::Permanent(code, "relation \"x\""));
    EXPECT_EQ(ours.status, 500) << ToString(code);
    EXPECT_THAT(ours.body, Not(HasSubstr("relation")));
    EXPECT_EQ(ours.cause.message(), "relation \"x\"") << "for the log";
  }
  const Response again = status_of(Status::Retry(Code::kConflict, "deadlock detected"));
  EXPECT_EQ(again.status, 503);
  EXPECT_EQ(again.headers.at(0).first, "Retry-After");
  EXPECT_EQ(status_of(Status::Invalid("topic: …")).status, 400) << "about the input";
  EXPECT_TRUE(ProblemOf(Status::Permanent(Code::kConflict, "x")).cause.ok());
}

TEST(RequestId, TheClientsIsKeptWhenItIsHarmless) {
  EXPECT_EQ(RequestId("Abc-1._"), "Abc-1._");
  for (const std::string& bad : {std::string(), std::string(65, 'a'), std::string("a b"),
                                 std::string("a\"b"), std::string("é"), std::string("a\nb")}) {
    EXPECT_EQ(RequestId(bad).size(), 36u) << bad;
  }
  EXPECT_NE(RequestId(""), RequestId(""));
}

}  // namespace
}  // namespace outbox::service
