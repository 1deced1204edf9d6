#include "sink/file/json_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace outbox::sink {
namespace {

std::string Line(const Message& message) {
  std::string line;
  AppendJsonLine(message, line);
  return line;
}

Message Full() {
  Message message;
  message.id = *Uuid::Parse("01890a5d-ac96-774b-bcce-b302099a8057");
  message.seq = 7;
  message.table = "public.orders_outbox";
  message.name_space = "shop";
  message.topic = "orders.order.created.v1";
  message.event_type = "OrderCreated";
  message.event_version = 2;
  message.aggregate_type = "Order";
  message.aggregate_id = "42";
  message.key = "k\"ey";
  message.tenant_id = message.id;
  message.dedupe_key = "d";
  message.payload = R"({"n": 12345678901234567890123, "f":1.0})";
  message.headers = {{"traceparent", "00-ab"}};
  message.attempt = 3;
  return message;
}

TEST(JsonLine, CarriesEveryFieldAndThePayloadUnchanged) {
  EXPECT_EQ(
      Line(Full()),
      R"({"id":"01890a5d-ac96-774b-bcce-b302099a8057","seq":7,"table":"public.orders_outbox",)"
      R"("namespace":"shop","topic":"orders.order.created.v1","key":"k\"ey",)"
      R"("tenant_id":"01890a5d-ac96-774b-bcce-b302099a8057","event_type":"OrderCreated",)"
      R"("event_version":2,"aggregate_type":"Order","aggregate_id":"42","dedupe_key":"d",)"
      R"("attempt":3,"created_at":"1970-01-01T00:00:00.000000Z",)"
      R"("headers":{"traceparent":"00-ab"},)"
      R"("payload":{"n": 12345678901234567890123, "f":1.0}})"
      "\n");
}

TEST(JsonLine, LeavesOutWhatIsAbsent) {
  Message message;
  message.topic = "t";
  message.payload = "null";
  const auto line = nlohmann::json::parse(Line(message));
  for (const char* absent : {"namespace", "key", "tenant_id", "event_type", "aggregate_type",
                             "aggregate_id", "dedupe_key", "headers"}) {
    EXPECT_FALSE(line.contains(absent)) << absent;
  }
  EXPECT_TRUE(line.at("payload").is_null());
}

TEST(JsonLine, IsOneLineWhateverThePayloadLooksLike) {
  Message message = Full();
  message.payload = "{\r\n  \"a\": \"b\\n\"\n}";
  const std::string line = Line(message);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(line).at("payload"), nlohmann::json::parse(message.payload));
}

}  // namespace
}  // namespace outbox::sink
