#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "message/headers_json.h"
#include "message/table_name.h"
#include "message/validate.h"
#include "outbox/options.h"
#include "tests/support/matchers.h"

namespace outbox::message {
namespace {

using ::testing::HasSubstr;

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

TEST(Validate, NamesTheFieldThatIsWrong) {
  const auto problem = [](auto change) {
    NewMessage message = Valid();
    change(message);
    return Validate(message, {}).message();
  };
  EXPECT_THAT(problem([](NewMessage& m) { m.payload = "{"; }), HasSubstr("payload"));
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
  EXPECT_OK(Validate(Valid(), {}));
}

TEST(Validate, RefusesAPayloadOverTheLimitAndAcceptsOneAtIt) {
  NewMessage message = Valid();
  message.payload = "\"" + std::string(98, 'x') + "\"";
  EXPECT_OK(Validate(message, {.payload_bytes_max = 100}));
  EXPECT_THAT(Validate(message, {.payload_bytes_max = 99}), HasCode(Code::kInvalidArgument));
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

TEST(TopicPattern, MatchesAsItsRegularExpressionDoes) {
  const char* patterns[] = {"#",
                            "orders.#",
                            "orders.*.created.v*",
                            "*.*.*.v1",
                            "orders.order.created.v1",
                            "orders.order.*",
                            "*"};
  const char* topics[] = {
      "orders.order.created.v1", "orders.order.created.v12", "orders", "ordersx",
      "billing.invoice.paid.v1", "orders.order.created"};
  for (const char* pattern : patterns) {
    for (const char* topic : topics) {
      const std::regex regex(TopicPatternToRegex(pattern), std::regex::extended);
      EXPECT_EQ(TopicMatches(pattern, topic), std::regex_search(topic, regex))
          << pattern << " on " << topic;
    }
  }
  EXPECT_TRUE(TopicMatches("orders.*.created.v*", "orders.order.created.v12"));
  EXPECT_FALSE(TopicMatches("orders.*.created.v*", "orders.order.item.created.v1"));
  EXPECT_TRUE(TopicMatches("orders.#", "orders"));
  EXPECT_FALSE(TopicMatches("orders.#", "ordersx"));
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

TEST(RelayOptions, ListsEveryProblemAtOnce) {
  RelayOptions options;
  EXPECT_EQ(options.Problems().size(), 1U);  // no table
  options.table = "orders_outbox";
  EXPECT_TRUE(options.Problems().empty());
  options.batch_size = 0;
  options.poll_max = options.lease;
  options.filter.topics = {"bad pattern"};
  EXPECT_EQ(options.Problems().size(), 3U);
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
