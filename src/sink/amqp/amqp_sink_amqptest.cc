// What is RabbitMQ's own: returns, refusals, alarms, permissions, TLS. One node for all tests.
#include <fstream>
#include <future>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"
#include "sink/amqp/amqp_sink.h"
#include "tests/conformance/sink_producer.h"
#include "tests/support/counting_relay.h"
#include "tests/support/matchers.h"
#include "tests/support/probe_steps.h"
#include "tests/support/rabbitmq.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;

const auto* const required = ::testing::AddGlobalTestEnvironment(new RabbitMqRequired);

std::string FileText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A node that also takes TLS, with a certificate made out to "localhost" that signs itself.
struct Node {
  Node() {
    TempFolder folder;
    const Finished made =
        Process::Run({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                      "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                      "-keyout", folder.File("key.pem"), "-out", folder.File("cert.pem")});
    EXPECT_EQ(made.exit_code, 0) << made.standard_error;
    rabbit = RabbitMq::Start(StrCat("listeners.ssl.1 = 127.0.0.1:", tls_port.number(),
                                    "\nssl_options.cacertfile = {folder}/cert.pem"
                                    "\nssl_options.certfile = {folder}/cert.pem"
                                    "\nssl_options.keyfile = {folder}/key.pem\n"),
                             {{"cert.pem", FileText(folder.File("cert.pem"))},
                              {"key.pem", FileText(folder.File("key.pem"))}});
  }
  const ReservedPort tls_port;
  std::unique_ptr<RabbitMq> rabbit;
};

Node& TheNode() {
  static Node node;
  return node;
}

class AmqpSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(TheNode().rabbit, nullptr);
    static int number = 0;
    name_ = StrCat("test-", ++number);
    client_.emplace(rabbit());
    client_->DeclareExchange(name_);
    client_->DeclareQueue(name_);
    client_->Bind(name_, name_, "orders.#");
  }

  static RabbitMq& rabbit() { return *TheNode().rabbit; }
  static bool SetMessageLimit(int bytes) {
    return rabbit().Evaluate(
               StrCat("application:set_env(rabbit, max_message_size, ", bytes, ")")) == "ok";
  }
  static Deadline Within(std::chrono::milliseconds time) { return Deadline::After(time); }

  // To the test's exchange, unless `query` names another.
  std::shared_ptr<Sink> Make(const std::string& query = "") const {
    return MakeAt(StrCat(rabbit().address(), "?exchange=", name_, query));
  }
  static std::shared_ptr<Sink> MakeAt(const std::string& uri) {
    return sink::MakeAmqpSink(sink::SinkUri::Parse(uri).value()).value();
  }

  static Message Make(int seq, std::string payload = "{}") {
    Message message;
    message.id = Uuid::NewV7();
    message.seq = seq;
    message.topic = "orders.order.created.v1";
    message.payload = std::move(payload);
    message.attempt = 1;
    return message;
  }
  static std::vector<Message> MakeMany(int count, const std::string& payload = "{}") {
    std::vector<Message> messages;
    for (int i = 0; i < count; ++i) messages.push_back(Make(i, payload));
    return messages;
  }
  static std::size_t CountOk(const std::vector<Status>& results) {
    return static_cast<std::size_t>(
        std::count_if(results.begin(), results.end(), [](const Status& s) { return s.ok(); }));
  }
  static void ExpectAllOk(const std::vector<Status>& results) {
    for (const Status& result : results) ASSERT_OK(result);
  }
  std::vector<std::string> QueuedIds() {
    std::vector<std::string> ids;
    while (const auto message = client_->Get(name_)) ids.push_back(message->message_id);
    return ids;
  }

  std::string name_;
  std::optional<RabbitClient> client_;
};

MATCHER_P2(Fails, code, disposition, "") {
  *result_listener << arg.ToString();
  return arg.code() == code && arg.disposition() == disposition;
}

TEST_F(AmqpSinkTest, AConsumerSeesTheProperties) {
  const auto sink = Make("&routing_key=orders.{event_type}");
  Message message = Make(7, R"({ "a" : 1 })");
  message.event_type = "OrderCreated";
  message.headers = {{"x-shop", "north"}, {"traceparent", "00-ab-cd-01"}};
  message.created_at = Timestamp(std::chrono::microseconds(1'700'000'000'123'456));
  ASSERT_OK(Publish(*sink, {message})[0]);
  const auto arrived = client_->Get(name_);
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->message_id, message.id.ToString());
  EXPECT_EQ(arrived->type, "OrderCreated");
  EXPECT_EQ(arrived->app_id, "outboxd");
  EXPECT_EQ(arrived->content_type, "application/json");
  EXPECT_EQ(arrived->timestamp, 1'700'000'000u);
  EXPECT_EQ(arrived->delivery_mode, 2);
  EXPECT_EQ(arrived->routing_key, "orders.OrderCreated");
  EXPECT_EQ(arrived->body, message.payload);
  EXPECT_EQ(arrived->headers.at("x-shop"), "north");
  EXPECT_EQ(arrived->headers.at("traceparent"), "00-ab-cd-01");
  EXPECT_EQ(arrived->headers.at("outbox-seq"), "7");
}

TEST_F(AmqpSinkTest, NothingIsConfirmedOnceTheBindingIsGone) {
  const auto sink = Make();
  ExpectAllOk(Publish(*sink, MakeMany(100)));
  client_->Unbind(name_, name_, "orders.#");
  const auto results = Publish(*sink, MakeMany(300));
  EXPECT_THAT(results, Each(Fails(Code::kRejected, Disposition::kRetry)));
  EXPECT_THAT(results[0].message(),
              HasSubstr("no queue is bound for routing key 'orders.order.created.v1'"));
  EXPECT_EQ(client_->Count(name_), 100u);
  client_->Bind(name_, name_, "orders.#");
  ExpectAllOk(Publish(*sink, MakeMany(100)));
  EXPECT_EQ(client_->Count(name_), 200u);
}

TEST_F(AmqpSinkTest, WithoutMandatoryAnUnroutableMessageIsLostAsAsked) {
  client_->Unbind(name_, name_, "orders.#");
  ExpectAllOk(Publish(*Make("&mandatory=false"), MakeMany(3)));
}

TEST_F(AmqpSinkTest, ReturnedBodiesDoNotStopTheFlow) {
  client_->Unbind(name_, name_, "orders.#");
  const auto results = Publish(*Make(), MakeMany(150, std::string(300'000, ' ')));
  EXPECT_THAT(results, Each(Fails(Code::kRejected, Disposition::kRetry)));
}

TEST_F(AmqpSinkTest, AFullQueueRefusesWhatItCanNotHold) {
  const std::string full = name_ + "-full";
  client_->DeclareQueue(full, 5);
  client_->Bind(full, name_, "small.#");
  const auto sink = Make();
  std::vector<Message> messages = MakeMany(40);
  for (std::size_t i = 0; i < messages.size(); i += 2) messages[i].topic = "small.thing";
  const auto results = Publish(*sink, messages);
  std::size_t held = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i % 2 == 1) {
      EXPECT_OK(results[i]);
    } else if (results[i].ok()) {
      ++held;
    } else {
      EXPECT_THAT(results[i], Fails(Code::kRejected, Disposition::kRetry));
    }
  }
  EXPECT_EQ(held, client_->Count(full));
  EXPECT_GE(held, 5u);
  EXPECT_LT(held, 20u);
}

TEST_F(AmqpSinkTest, AQuorumQueueConfirmsAndKeepsTheOrder) {
  const std::string quorum = name_ + "-quorum";
  client_->DeclareQuorumQueue(quorum);
  client_->Bind(quorum, name_, "quorum.#");
  std::vector<Message> messages = MakeMany(300);
  for (Message& message : messages) message.topic = "quorum.thing";
  ExpectAllOk(Publish(*Make("&window=50"), messages));
  std::vector<std::string> sent;
  std::vector<std::string> kept;
  for (const Message& message : messages) sent.push_back(message.id.ToString());
  while (const auto message = client_->Get(quorum)) kept.push_back(message->message_id);
  EXPECT_EQ(kept, sent);
}

TEST_F(AmqpSinkTest, AnAlarmHoldsMessagesBackAndTheyGoOnAfterIt) {
  const auto sink = Make();
  ExpectAllOk(Publish(*sink, MakeMany(10)));
  QueuedIds();
  ASSERT_TRUE(rabbit().SetMemoryAlarm(true));

  // The broker says so some time after it has seen the first message of the alarm.
  std::size_t doubtful = 0;
  std::vector<Status> results;
  ASSERT_TRUE(WaitFor([&] {
    results = Publish(*sink, MakeMany(5), Within(seconds(2)));
    if (results.front().disposition() == Disposition::kSinkDown) return true;
    doubtful += results.size();
    EXPECT_LT(CountOk(results), results.size());
    for (const Status& result : results) {
      if (result.ok()) continue;
      EXPECT_THAT(result, Fails(Code::kUnavailable, Disposition::kInDoubt));
    }
    return false;
  }));
  EXPECT_GT(doubtful, 0u);
  // From then on nothing is sent.
  const auto held_back = MakeMany(5);
  results = Publish(*sink, held_back, Within(seconds(1)));
  EXPECT_THAT(results, Each(Fails(Code::kUnavailable, Disposition::kSinkDown)));
  EXPECT_OK(sink->Open(Soon()));  // the connection is the old one: a new one would send again

  const auto after = MakeMany(500);
  auto going_on = std::async(
      std::launch::async, [&] { return Publish(*sink, after, Within(std::chrono::seconds(60))); });
  EXPECT_TRUE(rabbit().SetMemoryAlarm(false));
  ExpectAllOk(going_on.get());

  std::map<std::string, int> seen;
  ASSERT_TRUE(WaitFor([&] {
    for (const std::string& id : QueuedIds()) ++seen[id];
    return seen.size() >= doubtful + after.size();
  }));
  for (const Message& message : after) EXPECT_EQ(seen[message.id.ToString()], 1);
  for (const Message& message : held_back) EXPECT_EQ(seen.count(message.id.ToString()), 0u);
}

TEST_F(AmqpSinkTest, AHangingBrokerDoesNotHoldALargeBatchPastItsDeadline) {
  const auto sink = Make();
  ExpectAllOk(Publish(*sink, MakeMany(1)));
  rabbit().Freeze();
  const auto messages = MakeMany(60, std::string(1'000'000, ' '));
  auto call =
      std::async(std::launch::async, [&] { return Publish(*sink, messages, Within(seconds(3))); });
  const bool ended = call.wait_for(seconds(20)) == std::future_status::ready;
  rabbit().Thaw();
  EXPECT_TRUE(ended);
  const auto results = call.get();
  EXPECT_EQ(CountOk(results), 0u);
  EXPECT_EQ(results.front().disposition(), Disposition::kInDoubt) << results.front().ToString();
  EXPECT_EQ(results.back().disposition(), Disposition::kSinkDown) << results.back().ToString();
  ExpectAllOk(Publish(*sink, MakeMany(1)));
}

TEST_F(AmqpSinkTest, AMissingExchangeIsNamed) {
  const auto sink = MakeAt(rabbit().address() + "?exchange=nobody-made-this");
  const Status opened = sink->Open(Soon());
  EXPECT_THAT(opened, Fails(Code::kNotFound, Disposition::kSinkDown));
  EXPECT_THAT(opened.message(), HasSubstr("nobody-made-this"));
  EXPECT_THAT(Publish(*sink, MakeMany(2)), Each(Fails(Code::kNotFound, Disposition::kSinkDown)));
}

TEST_F(AmqpSinkTest, DeclaresAnExchangeWhenAsked) {
  const std::string declared = name_ + "-declared";
  const std::string uri = StrCat(rabbit().address(), "?declare=true&exchange=", declared);
  const auto sink = MakeAt(uri + "&type=fanout");
  ASSERT_OK(sink->Open(Soon()));
  client_->Bind(name_, declared, "");
  ExpectAllOk(Publish(*sink, MakeMany(1)));
  const Status other_type = MakeAt(uri + "&type=direct")->Open(Soon());
  EXPECT_THAT(other_type, Fails(Code::kInvalidArgument, Disposition::kSinkDown));
}

TEST_F(AmqpSinkTest, TheDefaultExchangeReachesQueuesByName) {
  const auto sink = MakeAt(StrCat(rabbit().address(), "?routing_key=", name_));
  ExpectAllOk(Publish(*sink, MakeMany(3)));
  EXPECT_EQ(client_->Count(name_), 3u);
}

TEST_F(AmqpSinkTest, AnExchangeDeletedUnderwayIsNobodysFault) {
  const auto sink = Make();
  ExpectAllOk(Publish(*sink, MakeMany(1)));
  client_->DeleteExchange(name_);
  EXPECT_THAT(Publish(*sink, MakeMany(3)), Each(Fails(Code::kNotFound, Disposition::kInDoubt)));
  EXPECT_THAT(Publish(*sink, MakeMany(3)), Each(Fails(Code::kNotFound, Disposition::kSinkDown)));
  client_->DeclareExchange(name_);
  client_->Bind(name_, name_, "orders.#");
  ExpectAllOk(Publish(*sink, MakeMany(3)));
}

TEST_F(AmqpSinkTest, AWrongVirtualHostIsNamed) {
  const auto sink = MakeAt(StrCat("amqp://", rabbit().endpoint(), "/nowhere?exchange=x"));
  const Status opened = sink->Open(Soon());
  EXPECT_THAT(opened, Fails(Code::kNotFound, Disposition::kSinkDown));
  EXPECT_THAT(opened.message(), HasSubstr("nowhere"));
}

TEST_F(AmqpSinkTest, AUserWithoutTheRightToWriteCostsNoAttempts) {
  ASSERT_TRUE(rabbit().Control({"add_user", name_, "secret"}));
  ASSERT_TRUE(rabbit().Control({"set_permissions", name_, "", "", ".*"}));
  const auto sink =
      MakeAt(StrCat("amqp://", name_, ":secret@", rabbit().endpoint(), "/%2F?exchange=", name_));
  EXPECT_THAT(Publish(*sink, MakeMany(3)), Each(Fails(Code::kPermission, Disposition::kSinkDown)));
  EXPECT_EQ(client_->Count(name_), 0u);
}

// Nobody knows what a broker took of those that were sent before it refused: so few are sent.
TEST_F(AmqpSinkTest, OverAFreshConnectionOneMessageFindsOutWhetherTheUserMayWrite) {
  constexpr std::size_t kBody = 20'000;
  ASSERT_TRUE(rabbit().Control({"add_user", name_, "secret"}));
  ASSERT_TRUE(rabbit().Control({"set_permissions", name_, "", "", ".*"}));
  const std::string endpoint = rabbit().endpoint();
  const std::size_t colon = endpoint.rfind(':');
  const CountingRelay relay(endpoint.substr(0, colon), std::stoi(endpoint.substr(colon + 1)));
  const auto sink =
      MakeAt(StrCat("amqp://", name_, ":secret@127.0.0.1:", relay.port(), "/%2F?exchange=", name_));
  for (std::size_t call = 1; call <= 3; ++call) {
    EXPECT_THAT(Publish(*sink, MakeMany(100, std::string(kBody, ' '))),
                Each(Fails(Code::kPermission, Disposition::kSinkDown)));
    EXPECT_GE(relay.sent(), call * kBody);
    EXPECT_LT(relay.sent(), (call + 1) * kBody) << "one message for each connection";
  }
  ASSERT_TRUE(rabbit().Control({"set_permissions", name_, "", ".*", ".*"}));
  ExpectAllOk(Publish(*sink, MakeMany(100)));
  EXPECT_EQ(QueuedIds().size(), 100u);
}

TEST_F(AmqpSinkTest, AMessageOverTheBrokersLimitIsRefusedForGoodAndTheOthersGoOn) {
  ASSERT_TRUE(SetMessageLimit(100'000));
  const auto sink = Make();
  std::vector<Message> messages = MakeMany(5);
  messages[2].payload = std::string(200'000, ' ');
  const auto results = Publish(*sink, messages);
  EXPECT_THAT(results[2], Fails(Code::kRejected, Disposition::kPermanent));
  EXPECT_EQ(CountOk(results), 4u);
  ASSERT_TRUE(SetMessageLimit(134'217'728));
}

// By what goes over the wire: the payload of the other is longer.
TEST_F(AmqpSinkTest, OfMadeBodiesTheOneThatIsTooLargeIsRefused) {
  ASSERT_TRUE(SetMessageLimit(100'000));
  const auto sink = Make("&body=envelope");
  std::vector<Message> messages = MakeMany(4);
  messages[0].payload = StrCat('"', std::string(80'000, 'x'), '"');
  messages[2].payload = StrCat('"', std::string(70'000, 'x'), '"');
  messages[2].headers = {{"x-note", std::string(40'000, 'x')}};
  const auto results = Publish(*sink, messages);
  EXPECT_THAT(results[2], Fails(Code::kRejected, Disposition::kPermanent));
  for (const std::size_t i : {0u, 1u, 3u}) EXPECT_OK(results[i]);
  ASSERT_TRUE(SetMessageLimit(134'217'728));
}

class AmqpNarrowUserTest : public AmqpSinkTest {
 protected:
  // May send what begins with "orders.order.", to the test's exchange.
  std::shared_ptr<Sink> MakeNarrow(const std::string& query = "") const {
    EXPECT_TRUE(rabbit().Control({"add_user", name_, "secret"}));
    EXPECT_TRUE(rabbit().Control({"set_permissions", name_, "", ".*", ".*"}));
    EXPECT_TRUE(
        rabbit().Control({"set_topic_permissions", name_, name_, R"(^orders\.order\.)", ""}));
    return MakeAt(
        StrCat("amqp://", name_, ":secret@", rabbit().endpoint(), "/%2F?exchange=", name_, query));
  }
};

TEST_F(AmqpNarrowUserTest, AForbiddenRoutingKeyCostsItsOwnMessagesOnly) {
  const auto sink = MakeNarrow();
  std::vector<Message> messages = MakeMany(300);
  const std::string long_key = "orders." + std::string(248, 'x');  // cut off in the reply
  const std::map<std::size_t, std::string> forbidden{
      {100, "orders.secret"}, {200, "orders.secret"}, {250, long_key}};
  for (const auto& [index, topic] : forbidden) messages[index].topic = topic;
  const auto results = Publish(*sink, messages);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!forbidden.contains(i)) {
      EXPECT_OK(results[i]);
      continue;
    }
    EXPECT_THAT(results[i], Fails(Code::kPermission, Disposition::kRetry));
    EXPECT_THAT(results[i].message(), HasSubstr(forbidden.at(i).substr(0, 20)));
  }
  std::map<std::string, int> seen;
  for (const std::string& id : QueuedIds()) ++seen[id];
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const int times = seen[messages[i].id.ToString()];
    // The broker does not say what it took before it refused one.
    EXPECT_GE(times, forbidden.contains(i) ? 0 : 1) << i;
    EXPECT_LE(times, forbidden.contains(i) ? 0 : 2) << i;
  }
}

// However the broker's reply spells them.
TEST_F(AmqpNarrowUserTest, AForbiddenRoutingKeyOfAnyLettersIsFound) {
  const auto sink = MakeNarrow();
  for (const std::string& key :
       {std::string("orders.s\u00e9cret"), std::string("orders.'quoted' in exchange 'x'"),
        std::string("orders.~p~s%"),
        StrCat("orders.", std::string(4, 'y'), "\u65e5", std::string(200, 'y')),
        StrCat("orders.", std::string(60, 'y'), "\u65e5\u672c", std::string(100, 'z'))}) {
    std::vector<Message> messages = MakeMany(40);
    messages[20].topic = key;
    const auto results = Publish(*sink, messages);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i == 20) continue;
      EXPECT_TRUE(results[i].ok()) << i << ": " << results[i].ToString();
    }
    EXPECT_THAT(results[20], Fails(Code::kPermission, Disposition::kRetry)) << key;
  }
}

TEST_F(AmqpNarrowUserTest, WhatWasTakenBeforeARefusalIsNeverCalledUntaken) {
  const auto sink = MakeNarrow();
  ASSERT_OK(sink->Open(Soon()));
  std::vector<Message> messages = MakeMany(200, std::string(20'000, ' '));
  messages.back().topic = "orders.secret";
  const auto results = Publish(*sink, messages, Within(std::chrono::milliseconds(400)));
  std::set<std::string> taken;
  for (const std::string& id : QueuedIds()) taken.insert(id);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!taken.contains(messages[i].id.ToString())) continue;
    EXPECT_THAT(results[i].disposition(), AnyOf(Disposition::kNone, Disposition::kInDoubt))
        << results[i].ToString();
  }
}

TEST_F(AmqpNarrowUserTest, ManyForbiddenRoutingKeysDoNotCostAConnectionEach) {
  const auto sink = MakeNarrow("&routing_key=orders.secret.{id}");
  const auto results = Publish(*sink, MakeMany(200));
  EXPECT_THAT(results[0], Fails(Code::kPermission, Disposition::kRetry));
  EXPECT_THAT(results[199], Fails(Code::kPermission, Disposition::kSinkDown));
  const auto charged = std::count_if(results.begin(), results.end(), [](const Status& status) {
    return status.disposition() == Disposition::kRetry;
  });
  EXPECT_LE(charged, 10);
}

TEST_F(AmqpNarrowUserTest, WhatWasTakenBetweenManyRefusalsIsNeverCalledUntaken) {
  const auto sink = MakeNarrow();
  ASSERT_OK(sink->Open(Soon()));
  std::vector<Message> messages = MakeMany(20);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i != 8) messages[i].topic = StrCat("orders.secret.", i);
  }
  const auto results = Publish(*sink, messages);
  const auto taken = QueuedIds();
  const bool queued = std::count(taken.begin(), taken.end(), messages[8].id.ToString()) > 0;
  EXPECT_TRUE(queued == results[8].ok() || results[8].disposition() == Disposition::kInDoubt)
      << results[8].ToString();
}

TEST_F(AmqpNarrowUserTest, AForbiddenRoutingKeyOfAllMessagesIsASinkThatIsDown) {
  const auto sink = MakeNarrow("&routing_key=orders.secret");
  EXPECT_THAT(Publish(*sink, MakeMany(3)), Each(Fails(Code::kPermission, Disposition::kSinkDown)));
}

TEST_F(AmqpSinkTest, TriesEachHostInTurn) {
  const ReservedPort nobodys;
  const auto sink = MakeAt(StrCat("amqp://127.0.0.1:", nobodys.number(), ",", rabbit().endpoint(),
                                  "/%2F?exchange=", name_));
  ASSERT_OK(sink->Open(Soon()));
  ExpectAllOk(Publish(*sink, MakeMany(2)));
}

TEST_F(AmqpSinkTest, ASmallWindowTakesALargeBatch) {
  std::vector<Message> messages = MakeMany(200);
  ExpectAllOk(Publish(*Make("&window=3"), messages));
  std::vector<std::string> sent;
  for (const Message& message : messages) sent.push_back(message.id.ToString());
  EXPECT_EQ(QueuedIds(), sent) << "in order";
}

TEST_F(AmqpSinkTest, AnIdleConnectionIsKeptAliveUnderItsName) {
  const auto sink = Make(StrCat("&heartbeat=3s&connection_name=", name_));
  ASSERT_OK(sink->Open(Soon()));
  // The connection of that name: the broker's process for it, and how much has come through it.
  const std::string connections = StrCat(
      "[{pid_to_list(Pid), Bytes} || [{client_properties, Client}, {pid, Pid}, {recv_oct, Bytes}] "
      "<- ",
      "rabbit_networking:connection_info_all([client_properties, pid, recv_oct]), ",
      "lists:member({<<\"connection_name\">>, longstr, <<\"", name_, "\">>}, Client)]");
  const auto look = [&]() -> std::pair<std::string, int> {
    const std::string found = rabbit().Evaluate(connections).value_or("");
    const auto fields = base::Split(found, '"');  // [{"<0.686.0>", 123}]
    if (fields.size() != 3) return {};
    return {std::string(fields[1]), std::stoi(std::string(fields[2].substr(2)))};
  };
  const auto [pid, bytes] = look();
  ASSERT_NE(pid, "");
  // Eight bytes a heartbeat: after so many the broker would have missed them long ago.
  EXPECT_TRUE(WaitFor([&] { return look().second >= bytes + 6 * 8; }));
  EXPECT_EQ(look().first, pid);
  ExpectAllOk(Publish(*sink, MakeMany(2)));
  EXPECT_EQ(look().first, pid);
}

TEST_F(AmqpSinkTest, AConnectionClosedWhileIdleFailsNoMessage) {
  const auto sink = Make();
  ExpectAllOk(Publish(*sink, MakeMany(1)));
  ASSERT_TRUE(rabbit().Control({"close_all_connections", "maintenance"}));
  client_.emplace(rabbit());
  ExpectAllOk(Publish(*sink, MakeMany(3)));
}

class AmqpTlsTest : public AmqpSinkTest {
 protected:
  std::shared_ptr<Sink> MakeTls(const std::string& host, const std::string& query) const {
    return MakeAt(StrCat("amqps://guest:guest@", host, ":", TheNode().tls_port.number(),
                         "/%2F?exchange=", name_, query));
  }
  static std::string Ca() { return StrCat("&tls_ca=", rabbit().folder(), "/cert.pem"); }
};

TEST_F(AmqpTlsTest, DeliversToAServerItCanVerify) {
  const auto sink = MakeTls("localhost", Ca());
  ASSERT_OK(sink->Open(Soon()));
  ExpectAllOk(Publish(*sink, MakeMany(200, std::string(10'000, ' '))));
  EXPECT_EQ(client_->Count(name_), 200u);
}

TEST_F(AmqpTlsTest, RefusesAServerItCanNotVerify) {
  EXPECT_THAT(MakeTls("localhost", "")->Open(Soon()),
              Fails(Code::kUnavailable, Disposition::kSinkDown));
  const Status other_name = MakeTls("127.0.0.1", Ca())->Open(Soon());
  EXPECT_THAT(other_name, Fails(Code::kUnavailable, Disposition::kSinkDown));
}

TEST_F(AmqpTlsTest, AProbeTellsTheTlsPortFromTheOther) {
  const auto way = [](const std::string& scheme, const std::string& host, int port) {
    return sink::AmqpWay(sink::SinkUri::Parse(StrCat(scheme, "://", host, ":", port, "/?exchange=x",
                                                     scheme == "amqps" ? Ca() : ""))
                             .value());
  };
  const int tls_port = TheNode().tls_port.number();
  const ProbeSteps good(way("amqps", "localhost", tls_port));
  EXPECT_OK(good.status);
  EXPECT_THAT(good.ok.at("tls"), HasSubstr("TLSv1."));
  EXPECT_TRUE(SpeaksTls(way("amqp", "localhost", tls_port)));
  const ProbeSteps plain(way("amqps", rabbit().host(), rabbit().port()));
  EXPECT_EQ(plain.failed, "tls");
  EXPECT_EQ(plain.status.hint(), "the server does not speak TLS at this port: write amqp:");
}

TEST_F(AmqpTlsTest, SpeakingInTheClearToATlsPortFailsClearly) {
  const Status status = MakeAt(StrCat("amqp://guest:guest@localhost:", TheNode().tls_port.number(),
                                      "/%2F?exchange=", name_))
                            ->Open(Soon());
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  EXPECT_THAT(status.hint(), HasSubstr("write amqps:")) << status.ToString();
}

TEST_F(AmqpTlsTest, VerifiesNothingOnlyWhenToldSo) {
  ExpectAllOk(Publish(*MakeTls("127.0.0.1", "&tls_verify=false"), MakeMany(2)));
}

}  // namespace
}  // namespace outbox::testing
