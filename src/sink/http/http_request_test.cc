#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "sink/http/request.h"
#include "sink/uri.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

const Timestamp kNow{std::chrono::seconds(1'700'000'000)};

Message Make() {
  Message message;
  message.id = *Uuid::Parse("01890a5d-ac96-774b-bcce-b302099a8057");
  message.table = "public.orders_outbox";
  message.topic = "orders.order.created.v1";
  message.payload = R"({"n": 1.0})";
  message.attempt = 1;
  return message;
}

std::multimap<std::string, std::string> HeadersOf(const HttpRequest& request) {
  return {request.headers.begin(), request.headers.end()};
}

TEST(HttpRequest, StructuredIsACloudEvent) {
  const HttpRequest request = MakeHttpRequest({}, Make(), kNow);
  EXPECT_THAT(HeadersOf(request), Contains(Pair("content-type", "application/cloudevents+json")));
  const auto event = nlohmann::json::parse(request.body);
  EXPECT_EQ(event.at("specversion"), "1.0");
  EXPECT_EQ(event.at("id"), Make().id.ToString());
  EXPECT_NE(request.body.find(Make().payload), std::string::npos);
}

TEST(HttpRequest, BinaryHasItsAttributesInEncodedHeaders) {
  HttpOptions options;
  options.body = {.format = message::BodyFormat::kPlain, .binary = true};
  Message message = Make();
  message.aggregate_id = "Euro \"€\" 100%\n";
  const HttpRequest request = MakeHttpRequest(options, message, kNow);
  EXPECT_EQ(request.body, message.payload);
  const auto headers = HeadersOf(request);
  EXPECT_THAT(headers, Contains(Pair("content-type", "application/json")));
  EXPECT_THAT(headers, Contains(Pair("ce-specversion", "1.0")));
  EXPECT_THAT(headers, Contains(Pair("ce-id", message.id.ToString())));
  EXPECT_THAT(headers, Contains(Pair("ce-subject", "Euro%20%22%E2%82%AC%22%20100%25%0A")));
  EXPECT_THAT(headers, Not(Contains(Key("ce-datacontenttype"))));
}

TEST(HttpRequest, PlainAndEnvelope) {
  HttpOptions options;
  options.body = {.format = message::BodyFormat::kPlain};
  EXPECT_EQ(MakeHttpRequest(options, Make(), kNow).body, Make().payload);
  options.body = {.format = message::BodyFormat::kEnvelope};
  const auto envelope = nlohmann::json::parse(MakeHttpRequest(options, Make(), kNow).body);
  EXPECT_EQ(envelope.at("messageId"), Make().id.ToString());
}

TEST(HttpRequest, NoProducerGetsAHeaderLineOrOneOfOurs) {
  HttpOptions options;
  options.headers = {{"X-Shop", "ours"}};
  Message message = Make();
  message.key = "a\r\nX-Injected: 1";
  message.headers = {{"x-line", "one\r\ntwo: 2"},
                     {"bad name:\r\n", "v"},
                     {"x-shop", "theirs"},
                     {"Host", "evil"},
                     {"Content-Length", "0"},
                     {"transfer-encoding", "chunked"},
                     {"Authorization", "Bearer theirs"},
                     {"Webhook-Id", "theirs"},
                     {"CE-Id", "theirs"},
                     {"Outbox-Id", "theirs"},
                     {"x-empty", ""}};
  const HttpRequest request = MakeHttpRequest(options, message, kNow);
  for (const auto& [name, value] : request.headers) {
    EXPECT_TRUE(IsHeaderName(name)) << name;
    EXPECT_TRUE(IsHeaderValue(value)) << value;
    EXPECT_NE(value, "theirs") << name;
    EXPECT_NE(name, "Host");
    EXPECT_NE(name, "Content-Length");
    EXPECT_NE(name, "transfer-encoding");
    EXPECT_NE(name, "Authorization");
  }
  const auto headers = HeadersOf(request);
  EXPECT_THAT(headers, Contains(Pair("x-line", "one%0D%0Atwo: 2")));
  EXPECT_THAT(headers, Contains(Pair("outbox-key", "a%0D%0AX-Injected: 1")));
  EXPECT_THAT(headers, Contains(Pair("X-Shop", "ours")));
  EXPECT_THAT(headers, Contains(Pair("x-empty", "")));
}

TEST(HttpRequest, HeadersCanBeDecoded) {
  Message message = Make();
  message.key = "100% Grüße";
  message.headers = {
      {"x-plain", "a b;c=\"d\""}, {"x-percent", "50% %41"}, {"x-unicode", "Grüße, 世界 🎉"},
      {"x-line", "one\r\ntwo\t"}, {"x-empty", ""},          {"x-spaces", "  in  and around "},
      {"x-space", " "},           {"na me%", "v"}};
  const auto headers = HeadersOf(MakeHttpRequest({}, message, kNow));
  for (const auto& [name, value] : message.headers) {
    const auto sent = headers.find(name == "na me%" ? "na%20me%25" : name);
    ASSERT_NE(sent, headers.end()) << name;
    EXPECT_EQ(PercentDecode(sent->second), value);
    EXPECT_TRUE(IsHeaderValue(sent->second)) << sent->second;
    EXPECT_FALSE(sent->second.starts_with(' ') || sent->second.ends_with(' '));
  }
  EXPECT_EQ(headers.find("x-plain")->second, "a b;c=\"d\"") << "no more than it takes";
  EXPECT_EQ(PercentDecode(headers.find("outbox-key")->second), message.key);
}

TEST(HttpRequest, TraceContextIsLeftAsItIs) {
  Message message = Make();
  message.headers = {{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
                     {"tracestate", "vendor=50%"},
                     {"baggage", "user=Am%C3%A9lie"}};
  const auto headers = HeadersOf(MakeHttpRequest({}, message, kNow));
  for (const auto& header : message.headers) EXPECT_THAT(headers, Contains(header));
}

TEST(HttpRequest, IsSignedWithEachLiveSecret) {
  HttpOptions options;
  const auto first = WebhookSecret::Parse("whsec_" + Base64(std::string(24, 'a')));
  const auto second = WebhookSecret::Parse("whsec_" + Base64(std::string(24, 'b')));
  options.secrets = {*first, *second};
  const HttpRequest request = MakeHttpRequest(options, Make(), kNow);
  const std::string id = Make().id.ToString();
  const auto headers = HeadersOf(request);
  EXPECT_THAT(headers, Contains(Pair("webhook-id", id)));
  EXPECT_THAT(headers, Contains(Pair("webhook-timestamp", "1700000000")));
  EXPECT_THAT(headers, Contains(Pair("webhook-signature",
                                     first->Sign(id, 1'700'000'000, request.body) + " " +
                                         second->Sign(id, 1'700'000'000, request.body))));
  const auto unsigned_headers = HeadersOf(MakeHttpRequest({}, Make(), kNow));
  EXPECT_THAT(unsigned_headers, Contains(Pair("webhook-id", id))) << "receivers deduplicate by it";
  EXPECT_THAT(unsigned_headers, Contains(Pair("webhook-timestamp", "1700000000")));
  EXPECT_THAT(unsigned_headers, Not(Contains(Key("webhook-signature"))));
}

TEST(HttpRequest, ABatchIsOneArrayWithAnIdOfItsOwn) {
  HttpOptions options;
  options.secrets = {*WebhookSecret::Parse("whsec_" + Base64(std::string(24, 'a')))};
  std::vector<Message> messages{Make(), Make()};
  messages[1].id = Uuid::NewV7();
  const std::vector<std::string> bodies{R"({"id":"1"})", R"({"id":"2"})"};
  const HttpRequest request = MakeBatchRequest(options, messages, bodies, kNow);
  const auto headers = HeadersOf(request);
  EXPECT_THAT(headers, Contains(Pair("content-type", "application/cloudevents-batch+json")));
  const auto events = nlohmann::json::parse(request.body);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].at("id"), "2");
  EXPECT_EQ(request.messages, 2u);
  const std::string id = headers.find("webhook-id")->second;
  EXPECT_EQ(HeadersOf(MakeBatchRequest(options, messages, bodies, kNow)).find("webhook-id")->second,
            id);
  messages.pop_back();
  EXPECT_NE(HeadersOf(MakeBatchRequest(options, messages, bodies, kNow)).find("webhook-id")->second,
            id);
}

}  // namespace
}  // namespace outbox::sink
