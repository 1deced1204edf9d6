#include "message/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace outbox::message {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::Pair;
using Json = nlohmann::json;

Message Example() {
  Message message;
  message.id = *Uuid::Parse("01890a5d-ac96-774b-bcce-b302099a8057");
  message.seq = 7;
  message.table = "public.orders_outbox";
  message.topic = "orders.order.created.v1";
  message.aggregate_id = "42";
  message.key = "k";
  message.tenant_id = Uuid::Parse("01890a5d-ac96-774b-bcce-b302099a8058");
  message.payload = R"({ "n": 1.0, "e": "é\u00e9" })";
  message.headers = {{"traceparent", "00-1-2-01"}, {"x", "y"}};
  message.attempt = 3;
  return message;
}

TEST(Envelope, PlainIsThePayloadAlone) {
  EXPECT_EQ(MakeBody(Example(), BodyFormat::kPlain), Example().payload);
}

TEST(Envelope, EnvelopeHasTheIdAsMessageIdAndThePayloadAsItWas) {
  const std::string body = MakeBody(Example(), BodyFormat::kEnvelope);
  const Json json = Json::parse(body);
  EXPECT_EQ(json.at("messageId"), Example().id.ToString());
  EXPECT_EQ(json.at("tenantId"), Example().tenant_id->ToString());
  EXPECT_EQ(json.at("sequence"), 7);
  EXPECT_EQ(json.at("attempt"), 3);
  EXPECT_EQ(json.at("headers").at("x"), "y");
  EXPECT_THAT(body, EndsWith("\"payload\":" + Example().payload + "}"));
}

TEST(Envelope, CloudEventHasTheRequiredAttributesAndThePayloadAsItWas) {
  const std::string body = MakeBody(Example(), BodyFormat::kCloudEvents);
  const Json json = Json::parse(body);
  EXPECT_EQ(json.at("specversion"), "1.0");
  EXPECT_EQ(json.at("id"), Example().id.ToString());
  EXPECT_EQ(json.at("source"), "/outbox/public.orders_outbox");
  EXPECT_EQ(json.at("type"), "orders.order.created.v1");
  EXPECT_EQ(json.at("subject"), "42");
  EXPECT_EQ(json.at("traceparent"), "00-1-2-01");
  EXPECT_THAT(body, EndsWith("\"data\":" + Example().payload + "}"));
  EXPECT_EQ(ContentType(BodyFormat::kCloudEvents), "application/cloudevents+json");
}

TEST(Envelope, TheEventTypeNamesACloudEventWhereThereIsOne) {
  Message message = Example();
  message.event_type = "OrderCreated";
  EXPECT_THAT(CloudEventAttributes(message), Contains(Pair("type", "OrderCreated")));
  EXPECT_THAT(CloudEventAttributes(message), Contains(Pair("topic", "orders.order.created.v1")));
}

}  // namespace
}  // namespace outbox::message
