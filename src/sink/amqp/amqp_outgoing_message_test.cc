#include <map>

#include "sink/amqp/outgoing_message.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::size_t kFrame = 131072;

AmqpOptions Options(const std::string& rest = "") {
  return ReadAmqpOptions(SinkUri::Parse("amqp://h?exchange=x" + rest).value()).value();
}

Message Event() {
  Message message;
  message.id = *Uuid::Parse("01890a5d-ac96-774b-bcce-b302099a8057");
  message.topic = "orders.order.created.v1";
  message.payload = R"({"a": 1})";
  message.created_at = Timestamp(std::chrono::microseconds(1'700'000'000'900'000));
  message.headers = {{"x-shop", "north"}};
  return message;
}

TEST(OutgoingMessage, CarriesIdentityInTheProperties) {
  const AmqpOptions options = Options();
  OutgoingMessage outgoing(options, kFrame);
  const Message message = Event();
  ASSERT_OK(outgoing.Fill(message));
  const amqp_basic_properties_t& properties = outgoing.properties();
  EXPECT_EQ(AsText(properties.message_id), "01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_EQ(AsText(properties.type), "orders.order.created.v1");
  EXPECT_EQ(AsText(properties.app_id), "outboxd");
  EXPECT_EQ(AsText(properties.content_type), "application/json");
  EXPECT_EQ(properties.timestamp, 1'700'000'000u);
  EXPECT_EQ(properties.delivery_mode, 2);
  EXPECT_EQ(AsText(outgoing.body()), message.payload);
  EXPECT_EQ(outgoing.routing_key(), message.topic);
  std::map<std::string_view, std::string_view> headers;
  for (int i = 0; i < properties.headers.num_entries; ++i) {
    const amqp_table_entry_t& entry = properties.headers.entries[i];
    headers[AsText(entry.key)] = AsText(entry.value.value.bytes);
  }
  EXPECT_THAT(headers, Contains(Pair("x-shop", "north")));
  EXPECT_THAT(headers, Contains(Pair("outbox-id", "01890a5d-ac96-774b-bcce-b302099a8057")));
}

TEST(OutgoingMessage, FollowsTheOptions) {
  const AmqpOptions options = Options("&persistent=false&routing_key=k.{event_type}&body=envelope");
  OutgoingMessage outgoing(options, kFrame);
  Message message = Event();
  message.event_type = "OrderCreated";
  ASSERT_OK(outgoing.Fill(message));
  EXPECT_EQ(outgoing.properties().delivery_mode, 1);
  EXPECT_EQ(outgoing.routing_key(), "k.OrderCreated");
  EXPECT_EQ(AsText(outgoing.properties().type), "OrderCreated");
  EXPECT_THAT(std::string(AsText(outgoing.body())), HasSubstr(R"("payload":{"a": 1})"));
}

TEST(OutgoingMessage, RefusesForGoodWhatAmqpCanNotCarry) {
  const AmqpOptions options = Options("&routing_key={key}{topic}&message_bytes_max=100");
  OutgoingMessage outgoing(options, kFrame);
  const auto refused = [&](auto change) {
    Message message = Event();
    change(message);
    const Status status = outgoing.Fill(message);
    EXPECT_EQ(status.disposition(), Disposition::kPermanent) << status.ToString();
  };
  refused([](Message& message) { message.key = std::string(250, 'k'); });
  refused([](Message& message) { message.payload = std::string(101, ' '); });
  refused([](Message& message) { message.headers = {{std::string(256, 'n'), ""}}; });
  refused([](Message& message) { message.headers = {{"x", std::string(kFrame, 'v')}}; });
  refused([](Message& message) { message.headers = {{"CC", "other.key"}}; });
  EXPECT_OK(outgoing.Fill(Event()));  // the next message is not affected
}

}  // namespace
}  // namespace outbox::sink
