#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

#include "base/text.h"
#include "message/headers_json.h"
#include "message/table_name.h"
#include "message/validate.h"
#include "outbox/deadline.h"
#include "outbox/options.h"
#include "tests/support/matchers.h"

namespace outbox::message {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

NewMessage Valid() { return {.topic = "orders.order.created.v1", .payload = "{}"}; }

TEST(TopicRule, StrictAcceptsModuleAggregateEventVersion) {
  EXPECT_OK(ValidateTopic("orders.order.created.v1", TopicRule::kStrict));
  EXPECT_OK(ValidateTopic("org-2.unit.re-named.v12", TopicRule::kStrict));
}

TEST(TopicRule, StrictRefusesEverythingElse) {
  for (const char* topic :
       {"", "orders", "orders.created.v1", "orders.order.created", "orders.order.created.v0",
        "orders.order.created.1", "Orders.order.created.v1", "orders..created.v1",
        "orders.order.created.v1.", "orders.order.created_x.v1", "a.b.c.d.v1",
        "orders order.x.y.v1"}) {
    EXPECT_THAT(ValidateTopic(topic, TopicRule::kStrict), HasCode(Code::kInvalidArgument)) << topic;
  }
  EXPECT_OK(ValidateTopic("a.b." + std::string(120, 'c') + ".v1", TopicRule::kStrict));
  EXPECT_FALSE(ValidateTopic("a.b." + std::string(121, 'c') + ".v1", TopicRule::kStrict).ok());
}

TEST(TopicRule, RelaxedAcceptsAnyText) {
  EXPECT_OK(ValidateTopic("FamilyMember Invited", TopicRule::kRelaxed));
  EXPECT_FALSE(ValidateTopic("", TopicRule::kRelaxed).ok());
  EXPECT_FALSE(ValidateTopic(std::string("a\0b", 3), TopicRule::kRelaxed).ok());
  EXPECT_FALSE(ValidateTopic(std::string(256, 'x'), TopicRule::kRelaxed).ok());
}

// The rule that outbox.enqueue has as well: what a double cannot hold, and half a surrogate pair,
// would be read differently by every consumer.
TEST(Validate, RefusesNumbersBeyondADoubleAndLoneSurrogates) {
  const auto with = [](const std::string& payload) {
    NewMessage message = Valid();
    message.payload = payload;
    return Validate(message, {});
  };
  for (const char* bad : {"1e400", "-1e400", R"({"a":[1e309]})", "1.7976931348623159e308",
                          R"("\ud800")", R"("\udc00")", R"({"\ud800":1})", R"("\ud800x")"}) {
    EXPECT_THAT(with(bad), HasCode(Code::kInvalidArgument)) << bad;
    EXPECT_THAT(with(bad).hint(), HasSubstr("1.8e308")) << bad;
  }
  for (const char* good : {"1.7976931348623157e308", "1.7976931348623158e308", "1e-400",
                           "123456789012345678901234567890", R"("\ud83d\ude00")", R"("1e400")"}) {
    EXPECT_OK(with(good));
  }
}

TEST(Validate, NamesTheFieldThatIsWrong) {
  const auto problem = [](auto change) {
    NewMessage message = Valid();
    change(message);
    return Validate(message, {}).message();
  };
  EXPECT_THAT(problem([](NewMessage& m) { m.payload = "{"; }), HasSubstr("payload"));
  EXPECT_THAT(problem([](NewMessage& m) { m.payload = std::string("{}\0x", 4); }),
              HasSubstr("payload: is not valid JSON at byte 3"));
  EXPECT_THAT(problem([](NewMessage& m) { m.payload = ""; }), HasSubstr("payload"));
  EXPECT_THAT(problem([](NewMessage& m) { m.payload = "{} {}"; }), HasSubstr("payload"));
  EXPECT_THAT(problem([](NewMessage& m) { m.payload = "\"\xff\""; }), HasSubstr("payload"));
  EXPECT_THAT(problem([](NewMessage& m) { m.payload = std::string(600, '['); }),
              HasSubstr("nests deeper"));
  EXPECT_THAT(problem([](NewMessage& m) { m.key = std::string("a\0b", 3); }), HasSubstr("key"));
  EXPECT_THAT(problem([](NewMessage& m) { m.aggregate_id = std::string(256, 'x'); }),
              HasSubstr("aggregate_id"));
  EXPECT_THAT(problem([](NewMessage& m) { m.event_version = 0; }), HasSubstr("event_version"));
  EXPECT_THAT(problem([](NewMessage& m) { m.id = Uuid(); }), HasSubstr("id"));
  EXPECT_THAT(problem([](NewMessage& m) {
                m.headers = {{"a", "1"}, {"a", "2"}};
              }),
              HasSubstr("headers"));
  EXPECT_THAT(problem([](NewMessage& m) { m.delay = std::chrono::milliseconds(-1); }),
              HasSubstr("delay"));
  for (const auto delay :
       {std::chrono::milliseconds::max(), kDelayMax + std::chrono::milliseconds(1),
        std::chrono::milliseconds(std::chrono::years(300'000))}) {
    EXPECT_THAT(problem([&](NewMessage& m) { m.delay = delay; }), StartsWith("delay: is longer"));
  }
  for (const Timestamp at :
       {Timestamp::min(), Timestamp::max(), kAvailableAtMin - std::chrono::microseconds(1),
        kAvailableAtMax + std::chrono::microseconds(1)}) {
    EXPECT_THAT(problem([&](NewMessage& m) { m.available_at = at; }),
                StartsWith("available_at: is not within"));
  }
  EXPECT_THAT(problem([](NewMessage& m) { m.payload = "\xEF\xBB\xBF{}"; }),
              HasSubstr("payload: begins with a byte order mark"));
  for (const char* name : {"", "a\r\nb", "a\tb", "a\x7f"}) {
    EXPECT_THAT(problem([&](NewMessage& m) {
                  m.headers = {{name, "1"}};
                }),
                StartsWith("headers: "));
  }
  EXPECT_OK(Validate(Valid(), {}));
}

TEST(Validate, LooksAtTheSizeOfHeadersBeforeAnythingElse) {
  NewMessage message = Valid();
  for (int i = 0; i < 120'000; ++i) message.headers.emplace_back("h" + std::to_string(i / 2), "");
  const Status status = Validate(message, {});
  EXPECT_THAT(status.message(), HasSubstr("over the limit of 65536"));
  message.headers.resize(2);
  EXPECT_THAT(Validate(message, {}).message(), HasSubstr("'h0' is given twice"));
}

TEST(Validate, RefusesAPayloadOverTheLimitAndAcceptsOneAtIt) {
  NewMessage message = Valid();
  message.payload = "\"" + std::string(98, 'x') + "\"";
  EXPECT_OK(Validate(message, {.payload_bytes_max = 100}));
  EXPECT_THAT(Validate(message, {.payload_bytes_max = 99}), HasCode(Code::kInvalidArgument));
}

TEST(Validate, PayloadsHaveALimitThatCanNotBeRaised) {
  NewMessage message = Valid();
  const EnqueueOptions raised{.payload_bytes_max = std::size_t{1} << 30};
  message.payload = "\"" + std::string(kPayloadBytesCeiling - 2, 'x') + "\"";
  EXPECT_OK(Validate(message, raised));
  message.payload = "\"" + std::string(kPayloadBytesCeiling - 1, 'x') + "\"";
  const Status refused = Validate(message, raised);
  EXPECT_THAT(refused, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(refused.hint(), ::testing::Not(HasSubstr("payload_bytes_max")));
}

TEST(Validate, DedupeKeyMustStartWithTheTenant) {
  NewMessage message = Valid();
  message.tenant_id = Uuid::Parse("01890a5d-ac96-774b-bcce-b302099a8057");
  message.dedupe_key = "turn-1";
  EXPECT_THAT(Validate(message, {}), HasCode(Code::kInvalidArgument));
  message.dedupe_key = "01890a5d-ac96-774b-bcce-b302099a8057/turn-1";
  EXPECT_OK(Validate(message, {}));
  message.tenant_id.reset();
  message.dedupe_key = "turn-1";
  EXPECT_OK(Validate(message, {}));
}

TEST(TableName, QuotesAndRenders) {
  const auto name = TableName::Parse("sales.orders_outbox", "public");
  ASSERT_OK(name);
  EXPECT_EQ(name->Quoted(), "\"sales\".\"orders_outbox\"");
  EXPECT_EQ(name->Render("{{table}} \"{{name}}_claim\" {{schema}} '{{display}}'"),
            "\"sales\".\"orders_outbox\" \"orders_outbox_claim\" \"sales\" 'sales.orders_outbox'");
  EXPECT_EQ(TableName::Parse("orders_outbox", "public")->Display(), "public.orders_outbox");
}

TEST(TableName, RefusesHostileNames) {
  for (const std::string& name :
       {std::string(""), std::string("."), std::string("a."), std::string(".a"),
        std::string("a.b.c"), std::string("Orders"), std::string("orders outbox"),
        std::string("orders;drop table x"), std::string("orders\"; --"), std::string("orders'"),
        std::string("1orders"), std::string("órders"), std::string("a\0b", 3),
        std::string("{{table}}"), std::string(49, 'a'), std::string("pg_catalog.pg_class\"")}) {
    EXPECT_THAT(TableName::Parse(name, "public"), HasCode(Code::kInvalidArgument)) << name;
  }
}

TEST(TopicPattern, AHashIsAnyNumberOfWholeSegments) {
  for (const char* topic : {"orders", "orders.order", "orders.order.created.v1"}) {
    EXPECT_TRUE(TopicMatches("#", topic)) << topic;
    EXPECT_TRUE(TopicMatches("orders.#", topic)) << topic;
  }
  EXPECT_FALSE(TopicMatches("orders.#", "ordersx"));
  EXPECT_TRUE(TopicMatches("#.created", "created"));
  EXPECT_TRUE(TopicMatches("#.created", "orders.order.created"));
  EXPECT_FALSE(TopicMatches("#.created", "orders.recreated"));
  EXPECT_TRUE(TopicMatches("a.#.b", "a.b"));
  EXPECT_TRUE(TopicMatches("a.#.b", "a.x.y.b"));
  EXPECT_FALSE(TopicMatches("a.#.b", "ab"));
  EXPECT_FALSE(TopicMatches("a.#.b", "a"));
  EXPECT_TRUE(TopicMatches("#.b.#", "b"));
  EXPECT_TRUE(TopicMatches("#.b.#.c", "a.b.b.c"));
}

TEST(TopicPattern, AStarIsAllOrPartOfOneSegment) {
  EXPECT_TRUE(TopicMatches("orders.*.created.v*", "orders.order.created.v12"));
  EXPECT_FALSE(TopicMatches("orders.*.created.v*", "orders.order.item.created.v1"));
  EXPECT_FALSE(TopicMatches("orders.*", "orders"));
  EXPECT_FALSE(TopicMatches("orders.*", "orders."));
  EXPECT_FALSE(TopicMatches("*.created", ".created"));
  EXPECT_TRUE(TopicMatches("a.v*", "a.v"));
  EXPECT_TRUE(TopicMatches("a.*-x-*", "a.b-x-x-c"));
}

TEST(TopicPattern, MatchesAsItsRegularExpressionDoes) {
  std::mt19937 random(7);  // NOLINT: the same words every time
  const auto pick = [&](const std::vector<const char*>& from) {
    return from[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
  };
  const auto words = [&](const std::vector<const char*>& from) {
    std::string text = pick(from);
    while (pick({"more", "more", "end"}) != std::string_view("end")) {
      text += base::StrCat(".", pick(from));
    }
    return text;
  };
  int matched = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string pattern =
        words({"#", "#", "*", "a", "b", "a*", "*b", "a*b*", "a-b", "#a", "**", ""});
    const std::regex regex(TopicPatternToRegex(pattern), std::regex::extended);
    for (int j = 0; j < 10; ++j) {
      const std::string topic = words({"a", "b", "ab", "aab", "a-b", "", "#a"});
      const bool matches = TopicMatches(pattern, topic);
      matched += matches ? 1 : 0;
      ASSERT_EQ(matches, std::regex_search(topic, regex)) << pattern << " on " << topic;
    }
  }
  EXPECT_GT(matched, 3000);
}

TEST(TopicPattern, TakesNoTimeHoweverManyWildcards) {
  std::string topic = "a";
  while (topic.size() < 250) topic += ".a";
  EXPECT_FALSE(TopicMatches("#.a.#.a.#.a.#.a.#.a.#.a.#.a.#.b", topic));
  EXPECT_FALSE(TopicMatches("*a*a*a*a*a*a*a*b", std::string(250, 'a')));
}

TEST(TopicPattern, RefusesWhatCanNotBeMeant) {
  for (const char* pattern : {"#", "*", "orders.*.created.v*", "billing.#", "#.created", "a.#.b",
                              "a*b.*c", "urn:shop/orders.A_b-1", "*.*.*.*.*.*.*.*.*.*"}) {
    EXPECT_OK(ValidateTopicPattern(pattern));
  }
  for (const char* pattern : {"", "order#", "#a.b", "orders.##.x", "a**", "a.**", "a..b", ".a",
                              "a.", "orders.>", "a b", "orders.{x}"}) {
    const Status status = ValidateTopicPattern(pattern);
    EXPECT_THAT(status, HasCode(Code::kInvalidArgument)) << pattern;
    EXPECT_THAT(status.hint(), HasSubstr("orders.*.created.v*")) << pattern;
  }
  EXPECT_THAT(ValidateTopicPattern(std::string(256, 'a')), HasCode(Code::kInvalidArgument));
}

TEST(HeadersJson, KeepsOrderAndAddsTheTrace) {
  NewMessage message = Valid();
  message.headers = {{"z", "1"}, {"a", "\"q\""}};
  message.traceparent = "00-abc-def-01";
  const std::string json = HeadersToJson(message);
  EXPECT_EQ(json, R"({"z":"1","a":"\"q\"","traceparent":"00-abc-def-01"})");
  const Headers back = HeadersFromJson(json);
  ASSERT_EQ(back.size(), 3U);
  EXPECT_EQ(back[0].first, "z");
  EXPECT_EQ(back[1].second, "\"q\"");
  EXPECT_EQ(HeadersToJson(Valid()), "");
  EXPECT_TRUE(HeadersFromJson("[1]").empty());
  EXPECT_EQ(HeadersFromJson(R"({"n":1})")[0].second, "1");
}

TEST(HeadersJson, ReadsWhatOtherToolsWrote) {
  EXPECT_EQ(HeadersFromJson(R"( {"a":"1", "n":[1,{"x":[],"y\"":{"z":null}},"s"], "e":{},
                               "f":1.5,"t":true,"m":-1,"a":"2"} )"),
            (Headers{{"a", "2"},
                     {"n", R"([1,{"x":[],"y\"":{"z":null}},"s"])"},
                     {"e", "{}"},
                     {"f", "1.5"},
                     {"t", "true"},
                     {"m", "-1"}}));
  for (const char* text : {"", "null", "1", "\"a\"", "[]", "{", R"({"a":"1")", R"({"a":"1"}})"}) {
    EXPECT_TRUE(HeadersFromJson(text).empty()) << text;
  }
  std::string many = "{";
  for (int i = 0; i < 120'000; ++i) {
    many += (i == 0 ? "" : ",") + ("\"" + std::to_string(i)) + "\":\"\"";
  }
  EXPECT_EQ(HeadersFromJson(many + "}").size(), 120'000U);
}

TEST(RelayOptions, ListsEveryProblemAtOnce) {
  RelayOptions options;
  EXPECT_EQ(options.Problems().size(), 1U);  // no table
  options.table = "orders_outbox";
  EXPECT_TRUE(options.Problems().empty());
  options.batch_size = 0;
  options.poll_max = options.lease;
  options.filter.topics = {"orders.>"};
  const auto problems = options.Problems();
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_THAT(problems[2], StartsWith("topics: 'orders.>' is not a topic pattern"));
  EXPECT_THAT(problems[2], HasSubstr("orders.*.created.v*"));
}

TEST(RelayOptions, NoDurationIsTooLongForAClock) {
  RelayOptions options{.table = "orders_outbox"};
  const auto take = [&](std::chrono::milliseconds time) {
    options.lease = options.poll_max = options.dispatch_timeout = options.retry.cap = time;
    options.probe_max = options.retention = options.shutdown_timeout = time;
    options.retry.schedule = {time};
    options.poll_max = std::min(options.poll_max, options.lease / 3);
    return options.Problems();
  };
  EXPECT_TRUE(take(kDurationMax).empty());
  EXPECT_THAT(take(kDurationMax + std::chrono::milliseconds(1)),
              ::testing::UnorderedElementsAre(
                  "lease: is longer than 36500d", "dispatch_timeout: is longer than 36500d",
                  "retry.cap: is longer than 36500d", "retry.schedule: is longer than 36500d",
                  "probe_max: is longer than 36500d", "retention: is longer than 36500d",
                  "shutdown_timeout: is longer than 36500d"));
  EXPECT_EQ(take(std::chrono::milliseconds::max()).size(), 8U);

  CleanerOptions cleaner{.table = "orders_outbox"};
  cleaner.interval = cleaner.retention = cleaner.dead_retention = cleaner.audit_retention =
      std::chrono::milliseconds::max();
  EXPECT_EQ(cleaner.Problems().size(), 4U);
}

TEST(Deadline, OfATimeTooLongForTheClockIsNeverPassed) {
  for (const auto days : {999'999, 100'000'000}) {
    const Deadline deadline = Deadline::After(std::chrono::hours(24) * days);
    EXPECT_FALSE(deadline.passed());
    EXPECT_GT(deadline.remaining(), std::chrono::hours(24));
  }
  EXPECT_FALSE(Deadline::After(std::chrono::milliseconds::max()).passed());
  EXPECT_TRUE(Deadline::After(std::chrono::milliseconds(-5)).passed());
}

TEST(CleanerOptions, TheAuditIsKeptForAMonthOrForEver) {
  CleanerOptions options{.table = "orders_outbox"};
  EXPECT_TRUE(options.Problems().empty());
  for (const auto allowed : {std::chrono::hours(0), std::chrono::hours(24 * 30)}) {
    options.audit_retention = allowed;
    EXPECT_TRUE(options.Problems().empty());
  }
  options.audit_retention = std::chrono::hours(24 * 30) - std::chrono::milliseconds(1);
  EXPECT_EQ(options.Problems().size(), 1U);
}

}  // namespace
}  // namespace outbox::message
