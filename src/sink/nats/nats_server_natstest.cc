// The NATS sink against a server, beyond what every sink must do.
#include <future>
#include <set>

#include "sink/nats/nats_sink.h"
#include "tests/conformance/nats_server.h"
#include "tests/conformance/sink_producer.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using testing::Messages;
using testing::NatsServer;
using ::testing::Not;
using testing::Producer;
using testing::Publish;
using testing::Soon;
using testing::WaitFor;

constexpr const char* kStream = "ORDERS";

class NatsSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_PROGRAM("nats-server");
    server_ = NatsServer::Start();
    ASSERT_NE(server_, nullptr);
    ASSERT_TRUE(server_->AddStream(kStream, "orders.>"));
  }
  std::shared_ptr<Sink> Make(const std::string& rest = "", const std::string& user = "app") const {
    return MakeUri(base::StrCat("nats://", user, ":secret@", server_->address(), rest));
  }
  static std::shared_ptr<Sink> MakeUri(const std::string& uri) {
    return MakeNatsSink(SinkUri::Parse(uri).value()).value();
  }
  std::multiset<std::string> Ids() const {
    std::multiset<std::string> ids;
    for (const auto& stored : server_->Messages(kStream))
      ids.insert(stored.headers.at("outbox-id"));
    return ids;
  }

  std::unique_ptr<NatsServer> server_;
};

TEST_F(NatsSinkTest, DuplicatesInsideTheWindowAreRemovedAndConfirmed) {
  const auto sink = Make();
  const auto messages = Messages(20);
  for (int round = 0; round < 3; ++round) {
    for (const Status& status : Publish(*sink, messages)) ASSERT_OK(status);
  }
  const auto stored = server_->Messages(kStream);
  ASSERT_EQ(stored.size(), 20u);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    EXPECT_EQ(stored[i].headers.at("Nats-Msg-Id"), messages[i].id.ToString());
  }
}

TEST_F(NatsSinkTest, TwoSinksFeedOneStreamWhenTheirIdsDiffer) {
  const auto messages = Messages(3);
  const auto audit = Make("?subject=orders.audit&id_suffix=.audit");
  for (int round = 0; round < 2; ++round) {
    for (const auto& sink : {Make(), audit}) {
      for (const Status& status : Publish(*sink, messages)) ASSERT_OK(status);
    }
  }
  const auto stored = server_->Messages(kStream);
  ASSERT_EQ(stored.size(), 6u);
  EXPECT_EQ(stored[3].headers.at("Nats-Msg-Id"), messages[0].id.ToString() + ".audit");
  EXPECT_EQ(stored[3].headers.at("outbox-id"), messages[0].id.ToString());
}

TEST_F(NatsSinkTest, WithoutAStreamNothingIsConfirmedAndTheErrorSaysWhatToDo) {
  const auto sink = Make("?subject=unheard.{topic}");
  ASSERT_OK(sink->Open(Soon()));
  auto messages = Messages(6);
  for (const std::size_t i : {3, 4, 5}) messages[i].topic = "orders.other";
  const auto results = Publish(*sink, messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(results[i].code(), Code::kRejected) << results[i].ToString();
    EXPECT_EQ(results[i].disposition(), Disposition::kRetry);
    EXPECT_THAT(results[i].message(), HasSubstr("unheard." + messages[i].topic));
    EXPECT_THAT(results[i].hint(), HasSubstr("create a stream"));
  }
}

TEST_F(NatsSinkTest, AStreamThatNeverAnswersDoesNotMakeTheSinkLookDown) {
  ASSERT_TRUE(server_->AddStream("SILENT", "silent.>", [](auto& config) { config.NoAck = true; }));
  const auto sink = Make("?subject={topic}");
  ASSERT_OK(sink->Open(Soon()));
  auto messages = Messages(2);
  messages[0].topic = "silent.a";
  messages[1].topic = "unheard.a";
  std::vector<Status> results(2);
  sink->Publish(messages, results, Deadline::After(std::chrono::seconds(20)));
  EXPECT_EQ(results[0].disposition(), Disposition::kInDoubt) << results[0].ToString();
  EXPECT_EQ(results[1].disposition(), Disposition::kRetry) << results[1].ToString();
  EXPECT_EQ(results[1].code(), Code::kRejected);
}

TEST_F(NatsSinkTest, AnotherStreamThanTheOneExpectedIsNoConfirmation) {
  EXPECT_OK(Publish(*Make("?stream=ORDERS"), Messages(1))[0]);
  const Status status = Publish(*Make("?stream=INVOICES"), Messages(1))[0];
  EXPECT_EQ(status.disposition(), Disposition::kRetry) << status.ToString();
  EXPECT_EQ(status.native(), "10060");
  EXPECT_EQ(server_->Messages(kStream).size(), 1u);
}

TEST_F(NatsSinkTest, AMessageThatIsTooLargeFailsAlone) {
  const auto sink = Make();
  auto messages = Messages(3);
  messages[1].payload = std::string(1'100'000, 'x');  // max_payload is 1 MiB
  const auto results = Publish(*sink, messages);
  EXPECT_OK(results[0]);
  EXPECT_EQ(results[1].disposition(), Disposition::kPermanent) << results[1].ToString();
  EXPECT_EQ(results[1].code(), Code::kRejected);
  EXPECT_OK(results[2]);
}

// The server counts headers, and ends the connection of who sends more than it takes.
TEST_F(NatsSinkTest, HeadersCountForTheLimitAndWhatIsTooLargeIsNotSent) {
  constexpr std::size_t kLimit = 1'048'576;
  const auto sink = Make();
  ASSERT_OK(sink->Open(Soon()));
  const auto body_of = [&](std::size_t bytes) {
    auto messages = Messages(3);
    messages[1].headers = {{"x-note", std::string(500, 'n')}};
    messages[1].payload = std::string(bytes, 'x');
    return Publish(*sink, messages);
  };
  // The largest that is taken, by trying; it is less than the limit by the headers.
  std::size_t taken = kLimit - 4096;
  std::size_t refused = kLimit;
  while (refused - taken > 1) {
    const std::size_t middle = (taken + refused) / 2;
    const auto results = body_of(middle);
    EXPECT_OK(results[0]);
    EXPECT_TRUE(results[2].ok()) << "the connection has not been ended";
    if (results[1].ok()) {
      taken = middle;
      continue;
    }
    refused = middle;
    ASSERT_EQ(results[1].disposition(), Disposition::kPermanent) << results[1].ToString();
    EXPECT_EQ(results[1].code(), Code::kRejected);
  }
  EXPECT_LT(taken, kLimit - 500);
  const Status error = body_of(refused)[1];
  EXPECT_THAT(error.message(), HasSubstr(base::StrCat(kLimit + 1, " bytes")));
  EXPECT_THAT(error.message(), HasSubstr(base::StrCat("max_payload of ", kLimit)));
  EXPECT_THAT(error.hint(), HasSubstr("raise max_payload"));
}

TEST_F(NatsSinkTest, AMessageTheStreamFindsTooLargeFailsAlone) {
  ASSERT_TRUE(
      server_->AddStream("SMALL", "small.>", [](jsStreamConfig& c) { c.MaxMsgSize = 1000; }));
  auto messages = Messages(3);
  messages[1].payload = std::string(2000, 'x');
  const auto results = Publish(*Make("?subject=small.{topic}"), messages);
  EXPECT_OK(results[0]);
  EXPECT_EQ(results[1].disposition(), Disposition::kPermanent) << results[1].ToString();
  EXPECT_OK(results[2]);
}

TEST_F(NatsSinkTest, AStreamThatIsFullDoesNotStopTheOthers) {
  ASSERT_TRUE(server_->AddStream("FULL", "full.>", [](jsStreamConfig& c) {
    c.MaxMsgs = 2;
    c.Discard = js_DiscardNew;
  }));
  ASSERT_TRUE(server_->AddStream("LARGE", "large.>", [](jsStreamConfig& c) {
    c.MaxBytes = 10;
    c.Discard = js_DiscardNew;
  }));
  auto messages = Messages(5);
  for (const std::size_t i : {0, 1, 2}) messages[i].topic = "full.x";
  messages[3].topic = "large.x";
  const auto results = Publish(*Make(), messages);
  EXPECT_OK(results[0]);
  EXPECT_OK(results[1]);
  for (const std::size_t i : {2, 3}) {
    EXPECT_EQ(results[i].disposition(), Disposition::kRetry) << results[i].ToString();
    EXPECT_THAT(results[i].hint(), HasSubstr("full"));
  }
  EXPECT_OK(results[4]);
}

TEST_F(NatsSinkTest, ABadSubjectFailsAlone) {
  const auto sink = Make();
  auto messages = Messages(5);
  messages[1].topic = "orders.bad subject";
  messages[2].topic = "orders..created";
  messages[3].topic = "$JS.API.STREAM.PURGE.ORDERS";
  const auto results = Publish(*sink, messages);
  EXPECT_OK(results[0]);
  for (const std::size_t i : {1, 2, 3}) {
    EXPECT_EQ(results[i].disposition(), Disposition::kPermanent) << results[i].ToString();
  }
  EXPECT_OK(results[4]);
}

TEST_F(NatsSinkTest, AProducerCanNotCommandTheServer) {
  auto messages = Messages(2);
  messages[0].headers = {{"Nats-Expected-Last-Sequence", "77"}, {"x", "1"}};
  messages[1].headers = {{"x", "1\r\nNats-Expected-Last-Sequence: 77"}};
  const auto results = Publish(*Make(), messages);
  EXPECT_OK(results[0]);
  EXPECT_EQ(results[1].disposition(), Disposition::kPermanent);
  const auto stored = server_->Messages(kStream);
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].headers.count("Nats-Expected-Last-Sequence"), 0u);
  EXPECT_EQ(stored[0].headers.at("x"), "1");
}

TEST_F(NatsSinkTest, KeepsTheOrderOfABatchWithASmallWindow) {
  const auto sink = Make("?window=3");
  const auto messages = Messages(200);
  for (const Status& status : Publish(*sink, messages)) ASSERT_OK(status);
  const auto stored = server_->Messages(kStream);
  ASSERT_EQ(stored.size(), messages.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    EXPECT_EQ(stored[i].headers.at("outbox-id"), messages[i].id.ToString());
  }
}

TEST_F(NatsSinkTest, ASubjectThatIsNotPermittedFailsAloneAndAtOnce) {
  const auto sink = Make("", "narrow");
  ASSERT_OK(sink->Open(Soon()));
  auto messages = Messages(3);
  messages[1].topic = "invoices.invoice.created.v1";
  const auto start = std::chrono::steady_clock::now();
  const auto results = Publish(*sink, messages);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_OK(results[0]);
  EXPECT_EQ(results[1].code(), Code::kPermission) << results[1].ToString();
  EXPECT_EQ(results[1].disposition(), Disposition::kRetry);
  EXPECT_OK(results[2]);
}

TEST_F(NatsSinkTest, SeveralSubjectsThatAreNotPermittedAreEachNamed) {
  const auto sink = Make("", "narrow");
  auto messages = Messages(300);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i % 3 != 0) messages[i].topic = base::StrCat("invoices.", i % 3, ".", i % 50);
  }
  const auto results = Publish(*sink, messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i % 3 == 0) {
      EXPECT_OK(results[i]);
      continue;
    }
    EXPECT_EQ(results[i].code(), Code::kPermission) << results[i].ToString();
    EXPECT_EQ(results[i].disposition(), Disposition::kRetry);
    EXPECT_THAT(results[i].message(), HasSubstr("'" + messages[i].topic + "'"));
  }
}

TEST_F(NatsSinkTest, ALongSubjectThatIsNotPermittedIsNamedAtOnce) {
  auto messages = Messages(2);
  messages[0].topic = base::StrCat("invoices.", std::string(400, 'x'));
  const auto results = Publish(*Make("", "narrow"), messages);
  EXPECT_EQ(results[0].code(), Code::kPermission) << results[0].ToString();
  EXPECT_EQ(results[0].disposition(), Disposition::kRetry);
  EXPECT_OK(results[1]);
}

TEST_F(NatsSinkTest, AUserThatCanNotHearAnswersIsRefusedAtOpen) {
  const Status status = Make("", "deaf")->Open(Soon());
  EXPECT_EQ(status.code(), Code::kPermission) << status.ToString();
  EXPECT_THAT(status.hint(), HasSubstr("_INBOX"));
}

TEST_F(NatsSinkTest, TheNextEndpointIsTriedWhenOneIsAway) {
  const testing::ReservedPort nobodys;
  const auto sink = MakeUri(
      base::StrCat("nats://app:secret@127.0.0.1:", nobodys.number(), ",", server_->address()));
  EXPECT_OK(Publish(*sink, Messages(1))[0]);
}

TEST_F(NatsSinkTest, ReturnsByItsDeadlineWhenTheServerReadsNothing) {
  const auto sink = Make();
  ASSERT_OK(Publish(*sink, Messages(1))[0]);
  server_->process().Freeze();
  const auto messages = Messages(100, "\"" + std::string(500'000, 'x') + "\"");
  auto call = std::async(std::launch::async, [&] {
    return Publish(*sink, messages, Deadline::After(std::chrono::seconds(1)));
  });
  const bool ended = call.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  server_->process().Thaw();
  EXPECT_TRUE(ended);
  const auto results = call.get();
  for (const Status& status : results) {
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.disposition(), Disposition::kPermanent) << status.ToString();
  }
}

TEST_F(NatsSinkTest, WhatWasConfirmedIsThereOnceWhateverKillsTheServer) {
  Producer producer(Make());
  for (int kill = 0; kill < 5; ++kill) {
    const std::size_t before = producer.confirmed();
    ASSERT_TRUE(WaitFor([&] { return producer.confirmed() >= before + 200; }));
    server_->process().Kill();
    ASSERT_TRUE(server_->process().StartAgain());
  }
  const std::size_t before = producer.confirmed();
  ASSERT_TRUE(WaitFor([&] { return producer.confirmed() >= before + 200; }));
  producer.Stop();

  const auto arrived = Ids();
  std::size_t lost = 0;
  for (const std::string& id : producer.ids()) lost += arrived.count(id) == 0 ? 1 : 0;
  EXPECT_EQ(lost, 0u);
  EXPECT_EQ(arrived.size(), std::set<std::string>(arrived.begin(), arrived.end()).size());
}

class NatsWithoutJetStreamTest : public NatsSinkTest {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_PROGRAM("nats-server");
    server_ = NatsServer::StartWithoutJetStream();
    ASSERT_NE(server_, nullptr);
  }
  // The result of a message when JetStream's API gives this answer.
  Status PublishWhenTold(const std::string& answer) const {
    natsConnection* client = nullptr;
    const std::string url = base::StrCat("nats://app:secret@", server_->address());
    EXPECT_EQ(natsConnection_ConnectTo(&client, url.c_str()), NATS_OK);
    natsSubscription* questions = nullptr;
    natsConnection_SubscribeSync(&questions, client, "$JS.API.STREAM.NAMES");
    EXPECT_EQ(natsConnection_FlushTimeout(client, 30'000), NATS_OK);
    auto result = std::async(std::launch::async, [&] { return Publish(*Make(), Messages(1))[0]; });
    natsMsg* question = nullptr;
    EXPECT_EQ(natsSubscription_NextMsg(&question, questions, 30'000), NATS_OK);
    EXPECT_STREQ(natsMsg_GetData(question), R"({"subject":"orders.order.created.v1"})");
    natsConnection_PublishString(client, natsMsg_GetReply(question), answer.c_str());
    Status told = result.get();
    natsMsg_Destroy(question);
    natsSubscription_Destroy(questions);
    natsConnection_Destroy(client);
    return told;
  }
};

TEST_F(NatsWithoutJetStreamTest, IsASinkThatIsDown) {
  const auto sink = Make();
  const auto start = std::chrono::steady_clock::now();
  for (const Status& status : Publish(*sink, Messages(20))) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
    EXPECT_THAT(status.hint(), HasSubstr("JetStream"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(NatsWithoutJetStreamTest, IsToldFromASubjectWithoutAStream) {
  const Status none = PublishWhenTold(R"({"total":0,"offset":0,"limit":1024,"streams":null})");
  EXPECT_EQ(none.disposition(), Disposition::kRetry) << none.ToString();
  const Status leaderless = PublishWhenTold(R"({"total":1,"streams":["ORDERS"]})");
  EXPECT_EQ(leaderless.disposition(), Disposition::kSinkDown) << leaderless.ToString();
  EXPECT_THAT(leaderless.hint(), HasSubstr("leader"));
  const Status unavailable = PublishWhenTold(R"({"error":{"code":503,"err_code":10008}})");
  EXPECT_EQ(unavailable.disposition(), Disposition::kSinkDown) << unavailable.ToString();
}

TEST_F(NatsWithoutJetStreamTest, AUserThatMayNotAskIsToldWhatToDo) {
  const Status status = Publish(*Make("", "narrow"), Messages(1))[0];
  EXPECT_EQ(status.disposition(), Disposition::kRetry) << status.ToString();
  EXPECT_THAT(status.hint(), HasSubstr("$JS.API.STREAM.NAMES"));
}

class NatsTlsTest : public NatsSinkTest {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_PROGRAM("nats-server");
    OUTBOX_REQUIRE_PROGRAM("openssl");
    server_ = NatsServer::StartWithTls();
    ASSERT_NE(server_, nullptr);
    ASSERT_TRUE(server_->AddStream(kStream, "orders.>"));
    localhost_ = base::StrCat("natss://app:secret@localhost:", server_->port());
  }
  std::string localhost_;
};

TEST_F(NatsTlsTest, TrustsTheAuthorityThatIsNamed) {
  EXPECT_OK(Publish(*MakeUri(localhost_ + "?tls_ca=" + server_->ca_file()), Messages(1))[0]);
}

TEST_F(NatsTlsTest, AServerOfAnotherAuthorityIsRefused) {
  const testing::Certificates other;
  for (const std::string& options : {"?tls_ca=" + other.File("ca.pem"), std::string()}) {
    const Status status = MakeUri(localhost_ + options)->Open(Soon());
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
    EXPECT_THAT(status.hint(), HasSubstr("tls_ca")) << status.ToString();
  }
  EXPECT_OK(MakeUri(localhost_ + "?tls_verify=false")->Open(Soon()));
}

TEST_F(NatsTlsTest, AServerOfAnotherNameIsRefused) {
  const std::string rest = base::StrCat(":", server_->port(), "?tls_ca=", server_->ca_file());
  EXPECT_OK(MakeUri("natss://app:secret@127.0.0.1" + rest)->Open(Soon()));
  // 127.0.0.1 in a spelling that its certificate does not have.
  const Status status = MakeUri("natss://app:secret@127.1" + rest)->Open(Soon());
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(status.message(), HasSubstr("mismatch"));
}

TEST_F(NatsTlsTest, SpeakingInTheClearFailsClearly) {
  const Status status = Make()->Open(Soon());
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  EXPECT_THAT(status.hint(), HasSubstr("natss:")) << status.ToString();
}

}  // namespace
}  // namespace outbox::sink
