// The Redis sink against a server, beyond what every sink must do.
#include <future>
#include <set>
#include <thread>

#include "sink/redis/redis_sink.h"
#include "tests/conformance/redis_server.h"
#include "tests/conformance/sink_producer.h"
#include "tests/support/matchers.h"
#include "tests/support/probe_steps.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using testing::Messages;
using ::testing::Not;
using testing::Producer;
using testing::Publish;
using testing::RedisServer;
using testing::Soon;
using testing::WaitFor;

constexpr const char* kStream = "orders.order.created.v1";

class RedisSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_PROGRAM("redis-server");
    server_ = RedisServer::Start();
    ASSERT_NE(server_, nullptr);
  }
  std::shared_ptr<Sink> Make(const std::string& rest) const {
    return MakeUri(base::StrCat("redis://app:secret@", server_->address(), rest));
  }
  static std::shared_ptr<Sink> MakeUri(const std::string& uri) {
    return MakeRedisSink(SinkUri::Parse(uri).value()).value();
  }
  std::multiset<std::string> Ids() const {
    std::multiset<std::string> ids;
    for (const auto& entry : server_->Entries(kStream)) ids.insert(entry.Field("id"));
    return ids;
  }

  std::unique_ptr<RedisServer> server_;
};

TEST_F(RedisSinkTest, AnEntryHasItsFieldsInTheDocumentedOrder) {
  const auto sink = Make("");
  auto messages = Messages(1, R"({"a":1})");
  messages[0].headers = {{"x-shop", "north"}};
  ASSERT_OK(Publish(*sink, messages)[0]);
  const auto entries = server_->Entries(kStream);
  ASSERT_EQ(entries.size(), 1u);
  const auto& fields = entries[0].fields;
  ASSERT_GE(fields.size(), 4u);
  EXPECT_EQ(fields[0], std::make_pair(std::string("id"), messages[0].id.ToString()));
  EXPECT_EQ(fields[1], std::make_pair(std::string("topic"), std::string(kStream)));
  EXPECT_EQ(fields[2], std::make_pair(std::string("payload"), messages[0].payload));
  EXPECT_EQ(fields.back(), std::make_pair(std::string("x-shop"), std::string("north")));
}

TEST_F(RedisSinkTest, ACallDoesNotWaitForTheRepliesOfOneWithMoreTime) {
  const auto sink = Make("");
  ASSERT_OK(sink->Open(Soon()));
  server_->process().Freeze();
  auto other = std::async(std::launch::async, [&] {
    return Publish(*sink, Messages(10), Deadline::After(testing::kPatience));
  });
  // Most likely it is the first. Were it not, the other would have nobody to wait for.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto results = Publish(*sink, Messages(10), Deadline::After(std::chrono::seconds(3)));
  EXPECT_NE(other.wait_for(std::chrono::seconds(0)), std::future_status::ready)
      << "it waited for the other to end";
  for (const Status& status : results) {
    EXPECT_EQ(status.disposition(), Disposition::kInDoubt) << status.ToString();
  }
  server_->process().Thaw();
  (void)other.get();
  // Nobody takes the replies that nobody waited for.
  const auto later = Messages(10);
  for (const Status& status : Publish(*sink, later)) EXPECT_OK(status);
  const auto ids = Ids();
  for (const Message& message : later) EXPECT_EQ(ids.count(message.id.ToString()), 1u);
}

TEST_F(RedisSinkTest, KeepsTheOrderOfABatchLargerThanOneWrite) {
  const auto sink = Make("");
  const auto messages = Messages(100, "\"" + std::string(100'000, 'x') + "\"");
  for (const Status& status : Publish(*sink, messages)) ASSERT_OK(status);
  const auto entries = server_->Entries(kStream);
  ASSERT_EQ(entries.size(), messages.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].Field("id"), messages[i].id.ToString());
  }
}

TEST_F(RedisSinkTest, TwoCallsAtATimeShareOneConnectionAndEachHasItsOwnReplies) {
  const std::string taken = "orders.order.taken.v1";
  ASSERT_EQ(server_->Ask({"SET", taken, "no stream"}), "OK");
  const auto sink = Make("");
  ASSERT_EQ(sink->traits().concurrency, 2u);
  const auto publish = [&](std::size_t refused_every) {
    for (int round = 0; round < 100; ++round) {
      auto messages = Messages(21);
      for (std::size_t i = 0; i < messages.size(); i += refused_every) messages[i].topic = taken;
      const auto results = Publish(*sink, messages);
      for (std::size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].ok(), i % refused_every != 0) << i << ": " << results[i].ToString();
      }
    }
  };
  std::thread other(publish, 3);
  publish(7);
  other.join();
  EXPECT_EQ(server_->Ask({"XLEN", kStream}), std::to_string(100 * (21 - 7) + 100 * (21 - 3)));
  const std::string clients = server_->Ask({"CLIENT", "LIST"});
  ASSERT_THAT(clients, HasSubstr("name=outboxd"));
  EXPECT_EQ(clients.find("name=outboxd"), clients.rfind("name=outboxd")) << clients;
}

// Both have sent what they have before either gets an answer.
TEST_F(RedisSinkTest, ACallSendsWhileAnotherWaitsForItsReplies) {
  const auto sink = Make("");
  ASSERT_OK(Publish(*sink, Messages(1))[0]);
  server_->process().Freeze();
  const Deadline soon = Deadline::After(std::chrono::seconds(5));
  auto other = std::async(std::launch::async, [&] { return Publish(*sink, Messages(5), soon); });
  const auto results = Publish(*sink, Messages(5), soon);
  for (const auto& each : {results, other.get()}) {
    EXPECT_EQ(each[0].disposition(), Disposition::kInDoubt) << each[0].ToString();
  }
  server_->process().Thaw();
  ASSERT_TRUE(WaitFor([&] { return server_->Ask({"XLEN", kStream}) == "11"; }));
}

TEST_F(RedisSinkTest, TrimsTheStreamExactly) {
  const auto sink = Make("?maxlen_exact=10");
  for (const Status& status : Publish(*sink, Messages(25))) ASSERT_OK(status);
  EXPECT_EQ(server_->Ask({"XLEN", kStream}), "10");
}

TEST_F(RedisSinkTest, TrimsTheStreamApproximately) {
  const auto sink = Make("?maxlen=10");
  for (const Status& status : Publish(*sink, Messages(1000))) ASSERT_OK(status);
  const int length = std::stoi(server_->Ask({"XLEN", kStream}));
  EXPECT_GE(length, 10);
  EXPECT_LT(length, 1000);
}

TEST_F(RedisSinkTest, UsesTheDatabaseOfTheAddressAndGivesItsName) {
  const auto sink = Make("/3");
  ASSERT_OK(Publish(*sink, Messages(1))[0]);
  EXPECT_EQ(server_->Ask({"XLEN", kStream}), "0");
  EXPECT_THAT(server_->Ask({"INFO", "keyspace"}), HasSubstr("db3:keys=1"));
  EXPECT_THAT(server_->Ask({"CLIENT", "LIST"}), HasSubstr("name=outboxd"));
}

TEST_F(RedisSinkTest, ADatabaseThatDoesNotExistIsASinkThatIsDown) {
  const Status status = Make("/99")->Open(Soon());
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("DB index"));
}

TEST_F(RedisSinkTest, DedupeAddsTheSameIdOnce) {
  const auto sink = Make("?dedupe=10m");
  const auto messages = Messages(20);
  for (int round = 0; round < 3; ++round) {
    for (const Status& status : Publish(*sink, messages)) ASSERT_OK(status);
  }
  EXPECT_EQ(server_->Ask({"XLEN", kStream}), "20");
}

TEST_F(RedisSinkTest, DedupeForgetsAfterItsTime) {
  const auto sink = Make("?dedupe=200ms");
  const auto messages = Messages(1);
  ASSERT_OK(Publish(*sink, messages)[0]);
  const std::string key = base::StrCat("outbox:dedupe:{", kStream, "}:", messages[0].id.ToString());
  ASSERT_TRUE(WaitFor([&] { return server_->Ask({"EXISTS", key}) == "0"; }));
  ASSERT_OK(Publish(*sink, messages)[0]);
  EXPECT_EQ(server_->Ask({"XLEN", kStream}), "2");
}

TEST_F(RedisSinkTest, DedupeDoesNotRememberWhatWasRefused) {
  const auto sink = Make("?dedupe=10m");
  ASSERT_EQ(server_->Ask({"SET", kStream, "a string"}), "OK");
  const auto messages = Messages(3);
  for (const Status& status : Publish(*sink, messages)) {
    EXPECT_EQ(status.disposition(), Disposition::kRetry) << status.ToString();
    EXPECT_THAT(status.hint(), HasSubstr("the key of the stream holds something else"));
  }
  ASSERT_EQ(server_->Ask({"DEL", kStream}), "1");
  for (const Status& status : Publish(*sink, messages)) EXPECT_OK(status);
  EXPECT_EQ(server_->Ask({"XLEN", kStream}), "3");
}

TEST_F(RedisSinkTest, DedupeSurvivesAFlushOfTheScripts) {
  const auto sink = Make("?dedupe=10m");
  for (const Status& status : Publish(*sink, Messages(2))) ASSERT_OK(status);
  ASSERT_EQ(server_->Ask({"SCRIPT", "FLUSH"}), "OK");
  for (const Status& status : Publish(*sink, Messages(2))) EXPECT_OK(status);
}

TEST_F(RedisSinkTest, AnEmptyStreamNameFailsAlone) {
  const auto sink = Make("?stream={aggregate_id}");
  auto messages = Messages(3);
  messages[0].aggregate_id = messages[2].aggregate_id = kStream;
  const auto results = Publish(*sink, messages);
  EXPECT_OK(results[0]);
  EXPECT_EQ(results[1].disposition(), Disposition::kPermanent);
  EXPECT_OK(results[2]);
}

class RedisGroupTest : public RedisSinkTest, public ::testing::WithParamInterface<std::size_t> {
 protected:
  std::shared_ptr<Sink> MakeGrouped() const { return Make(base::StrCat("?group=", GetParam())); }
};

// Of every size: the command may be cut off while it is written, or leave whole.
TEST_P(RedisGroupTest, AMessageTheServerFindsTooLargeIsRefusedForGood) {
  ASSERT_EQ(server_->Ask({"CONFIG", "SET", "proto-max-bulk-len", "1mb"}), "OK");
  const auto sink = MakeGrouped();
  for (const std::size_t bytes : {1'100'000u, 2'000'000u, 8'000'000u, 64'000'000u}) {
    auto messages = Messages(3);
    messages[1].payload = std::string(bytes, 'x');
    const auto results = Publish(*sink, messages);
    EXPECT_OK(results[0]);
    EXPECT_EQ(results[1].disposition(), Disposition::kPermanent) << results[1].ToString();
    EXPECT_EQ(results[2].disposition(), Disposition::kSinkDown) << results[2].ToString();
    ASSERT_OK(Publish(*sink, {messages[2]})[0]);
  }
  EXPECT_EQ(server_->Ask({"XLEN", kStream}), "8");
}

TEST_P(RedisGroupTest, AsManyMessagesAsToldAreAddedInOneStep) {
  const auto sink = MakeGrouped();
  ASSERT_OK(sink->Open(Soon()));
  const auto executed = [&] {
    const std::string stats = server_->Ask({"INFO", "commandstats"});
    const std::size_t at = stats.find("cmdstat_exec:calls=");
    return at == std::string::npos ? 0 : std::stoi(stats.substr(stats.find('=', at) + 1));
  };
  const int before = executed();
  for (const Status& status : Publish(*sink, Messages(250))) ASSERT_OK(status);
  const auto groups = static_cast<int>((250 + GetParam() - 1) / GetParam());
  EXPECT_EQ(executed() - before, GetParam() == 1 ? 0 : groups);
  EXPECT_EQ(Ids().size(), 250u);
}

INSTANTIATE_TEST_SUITE_P(Redis, RedisGroupTest, ::testing::Values(1, 2, 100),
                         ::testing::PrintToStringParamName());

TEST_F(RedisSinkTest, LargeMessagesMakeSmallGroups) {
  const auto sink = Make("");
  const std::string payload(300'000, 'x');
  for (const Status& status : Publish(*sink, Messages(20, payload))) ASSERT_OK(status);
  EXPECT_THAT(server_->Ask({"INFO", "commandstats"}), HasSubstr("cmdstat_exec:calls=20,"));
}

class RedisNarrowUserTest : public RedisSinkTest {
 protected:
  // May add to streams of created orders only.
  std::shared_ptr<Sink> MakeNarrow(const std::string& options) const {
    server_->Ask({"ACL", "SETUSER", "narrow", "on", ">secret", "~orders.order.created.*",
                  "~outbox:dedupe:*", "+@all"});
    return MakeUri(base::StrCat("redis://narrow:secret@", server_->address(), options));
  }
  static std::vector<Message> OneForbiddenOf(std::size_t count) {
    auto messages = Messages(count);
    messages[1].topic = "orders.order.secret.v1";
    return messages;
  }
};

TEST_F(RedisNarrowUserTest, AMessageThatSpoilsItsGroupFailsAlone) {
  const auto sink = MakeNarrow("");
  const auto results = Publish(*sink, OneForbiddenOf(150));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i == 1) {
      EXPECT_EQ(results[i].disposition(), Disposition::kRetry) << results[i].ToString();
      EXPECT_EQ(results[i].code(), Code::kPermission) << results[i].ToString();
      EXPECT_THAT(results[i].message(), HasSubstr("NOPERM"));
    } else {
      EXPECT_OK(results[i]);
    }
  }
  EXPECT_EQ(server_->Ask({"XLEN", kStream}), "149");
}

TEST_F(RedisNarrowUserTest, AForbiddenStreamOfAllMessagesIsASinkThatIsDown) {
  const auto sink = MakeNarrow("?stream=orders.order.secret.v1");
  for (const Status& status : Publish(*sink, Messages(3))) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
    EXPECT_EQ(status.code(), Code::kPermission) << status.ToString();
  }
}

TEST_F(RedisNarrowUserTest, ACommandThatIsForbiddenIsASinkThatIsDown) {
  for (const char* const options : {"", "?dedupe=10m", "?dedupe=10m&group=1"}) {
    const auto narrower = MakeNarrow(options);
    server_->Ask({"ACL", "SETUSER", "narrow", "-xadd"});
    for (const Status& status : Publish(*narrower, Messages(3))) {
      EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << options << status.ToString();
      EXPECT_EQ(status.code(), Code::kPermission) << options << status.ToString();
    }
  }
}

TEST_F(RedisNarrowUserTest, WhoMayNotRememberAnIdAddsNothing) {
  for (const char* const options : {"?dedupe=10m", "?dedupe=10m&group=1"}) {
    for (const char* const forbidden : {"-set", "-get", "-evalsha"}) {
      SCOPED_TRACE(base::StrCat(options, " ", forbidden));
      const auto sink = MakeNarrow(options);
      ASSERT_EQ(server_->Ask({"ACL", "SETUSER", "narrow", forbidden}), "OK");
      // -evalsha: the first of a batch still brings the script along.
      const bool all = std::string_view(forbidden) != "-evalsha";
      const auto messages = Messages(3);
      const auto results = Publish(*sink, messages);
      for (std::size_t i = all ? 0 : 1; i < results.size(); ++i) {
        EXPECT_EQ(results[i].disposition(), Disposition::kSinkDown) << results[i].ToString();
        EXPECT_EQ(results[i].code(), Code::kPermission) << results[i].ToString();
        EXPECT_THAT(results[i].hint(), HasSubstr("GET and SET"));
        EXPECT_EQ(Ids().count(messages[i].id.ToString()), 0u);
      }
    }
  }
}

// The first brings the script along and is refused before the server has seen it.
TEST_F(RedisNarrowUserTest, AScriptThatCameWithARefusedMessageIsSentAgain) {
  const auto sink = MakeNarrow("?dedupe=10m&group=1");
  auto messages = Messages(10);
  messages[0].topic = "orders.order.secret.v1";
  const auto results = Publish(*sink, messages);
  EXPECT_EQ(results[0].code(), Code::kPermission) << results[0].ToString();
  for (std::size_t i = 1; i < results.size(); ++i) EXPECT_OK(results[i]);
  EXPECT_EQ(server_->Ask({"XLEN", kStream}), "9");
}

TEST_F(RedisNarrowUserTest, AGroupNeedsNoScriptOfOneThatWasRefused) {
  const auto sink = MakeNarrow("?dedupe=10m&group=2");
  ASSERT_OK(Publish(*sink, Messages(1))[0]);
  server_->Ask({"SCRIPT", "FLUSH"});
  const auto results = Publish(*sink, OneForbiddenOf(10));
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].ok(), i != 1) << i;
}

TEST_F(RedisSinkTest, GoesOnOneByOneWhenGroupsAreNoLongerAllowed) {
  int added = 0;
  for (const char* const forbidden : {"-multi", "-exec"}) {
    SCOPED_TRACE(forbidden);
    const auto sink = Make("");
    for (const Status& status : Publish(*sink, Messages(2))) EXPECT_OK(status);
    ASSERT_EQ(server_->Ask({"ACL", "SETUSER", "app", forbidden}), "OK");
    for (int round = 0; round < 2; ++round) {
      for (const Status& status : Publish(*sink, Messages(3))) EXPECT_OK(status);
    }
    added += 8;
    EXPECT_EQ(server_->Ask({"XLEN", kStream}), std::to_string(added));
    ASSERT_EQ(server_->Ask({"ACL", "SETUSER", "app", "+multi", "+exec"}), "OK");
  }
}

TEST_F(RedisSinkTest, AServerThatIsFullWhenAGroupEndsIsDown) {
  const auto sink = Make("");
  ASSERT_OK(Publish(*sink, Messages(2))[0]);
  ASSERT_EQ(server_->Ask({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  for (const Status& status : Publish(*sink, Messages(3))) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  }
  ASSERT_EQ(server_->Ask({"CONFIG", "SET", "maxmemory", "0"}), "OK");
  for (const Status& status : Publish(*sink, Messages(3))) EXPECT_OK(status);
}

// The server hangs up on both; only the one whose fault it is must not be tried again.
TEST_F(RedisSinkTest, AMessageThatIsTooLargeIsNoFaultOfACallBesideIt) {
  ASSERT_EQ(server_->Ask({"CONFIG", "SET", "proto-max-bulk-len", "1mb"}), "OK");
  const auto sink = Make("");
  std::jthread other([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (const Status& result : Publish(*sink, Messages(50))) {
        EXPECT_NE(result.disposition(), Disposition::kPermanent) << result.ToString();
      }
    }
  });
  for (int round = 0; round < 50; ++round) {
    auto messages = Messages(3);
    messages[1].payload = std::string(2'000'000, 'x');
    // Hung up on for the other's sake it may be, until it is looked at.
    ASSERT_TRUE(WaitFor(
        [&] { return Publish(*sink, messages)[1].disposition() == Disposition::kPermanent; }));
  }
  other.request_stop();
  other.join();
  EXPECT_OK(Publish(*sink, Messages(1))[0]);
}

TEST_F(RedisSinkTest, ConnectionsTheServerHasDroppedAreReplacedWithoutAFailure) {
  const auto sink = Make("");
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK(Publish(*sink, Messages(1))[0]);
    server_->Ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(WaitFor([&] {
      return server_->Ask({"CLIENT", "LIST"}).find("name=outboxd") == std::string::npos;
    }));
  }
  EXPECT_OK(Publish(*sink, Messages(1))[0]);
}

TEST_F(RedisSinkTest, AFullServerIsASinkThatIsDown) {
  const auto sink = Make("");
  ASSERT_OK(Publish(*sink, Messages(1))[0]);
  ASSERT_EQ(server_->Ask({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  for (const Status& status : Publish(*sink, Messages(3))) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
    EXPECT_EQ(status.native(), "OOM");
  }
  ASSERT_EQ(server_->Ask({"CONFIG", "SET", "maxmemory", "0"}), "OK");
  for (const Status& status : Publish(*sink, Messages(3))) EXPECT_OK(status);
}

TEST_F(RedisSinkTest, AReplicaIsASinkThatIsDown) {
  const testing::ReservedPort nobodys;
  ASSERT_EQ(server_->Ask({"REPLICAOF", "127.0.0.1", std::to_string(nobodys.number())}), "OK");
  const auto sink = Make("");
  const Status status = Publish(*sink, Messages(1))[0];
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  ASSERT_EQ(server_->Ask({"REPLICAOF", "NO", "ONE"}), "OK");
  EXPECT_OK(Publish(*sink, Messages(1))[0]);
}

// The script fails as a plain XADD does.
TEST_F(RedisSinkTest, WithDedupeAServerThatTakesNoWritesIsDownToo) {
  const testing::ReservedPort nobodys;
  const struct {
    std::vector<std::string> begin;
    std::vector<std::string> end;
    const char* native;
  } cases[] = {
      {{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}, "OOM"},
      {{"REPLICAOF", "127.0.0.1", std::to_string(nobodys.number())},
       {"REPLICAOF", "NO", "ONE"},
       "READONLY"},
      {{"CONFIG", "SET", "min-replicas-to-write", "1"},
       {"CONFIG", "SET", "min-replicas-to-write", "0"},
       "NOREPLICAS"},
  };
  std::size_t added = 0;
  for (const char* const options : {"?dedupe=10m", "?dedupe=10m&group=1"}) {
    for (const auto& [begin, end, native] : cases) {
      SCOPED_TRACE(base::StrCat(options, " ", native));
      const auto sink = Make(options);
      ASSERT_OK(sink->Open(Soon()));
      ASSERT_EQ(server_->Ask(begin), "OK");
      const auto messages = Messages(3);
      for (const Status& status : Publish(*sink, messages)) {
        EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
        EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
        EXPECT_THAT(status.message(), Not(HasSubstr("user_script")));
      }
      ASSERT_EQ(server_->Ask(end), "OK");
      for (const Status& status : Publish(*sink, messages)) EXPECT_OK(status);
      added += messages.size();
      EXPECT_EQ(server_->Ask({"XLEN", kStream}), std::to_string(added));
    }
  }
}

TEST_F(RedisSinkTest, AUserThatMayOnlyAddIsEnough) {
  ASSERT_EQ(server_->Ask({"ACL", "SETUSER", "adder", "on", ">secret", "~orders.*", "+xadd"}), "OK");
  const auto sink = MakeUri(base::StrCat("redis://adder:secret@", server_->address()));
  ASSERT_OK(sink->Open(Soon()));
  EXPECT_OK(Publish(*sink, Messages(1))[0]);
}

TEST_F(RedisSinkTest, ACredentialIsNamedAsSuch) {
  ASSERT_EQ(server_->Ask({"ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read"}), "OK");
  for (const char* login : {"app:hunter2@", "nobody:hunter2@", ":hunter2@", "reader:secret@"}) {
    const auto sink = MakeUri(base::StrCat("redis://", login, server_->address()));
    Status status = sink->Open(Soon());
    if (status.ok()) status = Publish(*sink, Messages(1))[0];
    EXPECT_EQ(status.code(), Code::kPermission) << login << " " << status.ToString();
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << login;
    EXPECT_FALSE(status.hint().empty());
    EXPECT_THAT(status.ToString() + status.hint(), Not(HasSubstr("hunter2")));
  }
}

TEST_F(RedisSinkTest, TheNextEndpointIsTriedWhenOneIsAway) {
  const testing::ReservedPort nobodys;
  const auto sink = MakeUri(
      base::StrCat("redis://app:secret@127.0.0.1:", nobodys.number(), ",", server_->address()));
  EXPECT_OK(Publish(*sink, Messages(1))[0]);
}

class RedisKillTest : public RedisSinkTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(RedisKillTest, WhatWasConfirmedIsThereWhateverKillsTheServer) {
  constexpr std::size_t kKills = 5;
  const bool dedupes = std::string(GetParam()).find("dedupe") != std::string::npos;
  // Two calls at a time, as a relay makes them.
  const auto sink = Make(GetParam());
  Producer producer(sink);
  Producer other(sink);
  for (std::size_t kill = 0; kill < kKills; ++kill) {
    const std::size_t before = producer.confirmed();
    ASSERT_TRUE(WaitFor([&] { return producer.confirmed() >= before + 200; }));
    // What a torn write repeats in spite of dedupe is in redis_torn_write_redistest.cc.
    dedupes ? server_->process().KillBetweenWrites() : server_->process().Kill();
    ASSERT_TRUE(server_->process().StartAgain());
  }
  const std::size_t before = producer.confirmed();
  ASSERT_TRUE(WaitFor([&] { return producer.confirmed() >= before + 200; }));
  producer.Stop();
  other.Stop();

  const auto arrived = Ids();
  for (const auto* const ids : {&producer.ids(), &other.ids()}) {
    for (const std::string& id : *ids) EXPECT_TRUE(arrived.contains(id)) << id;
  }
  const std::set<std::string> distinct(arrived.begin(), arrived.end());
  const std::size_t duplicates = arrived.size() - distinct.size();
  EXPECT_LE(duplicates, dedupes ? 0u : 2 * Producer::kWindow * kKills);
}

INSTANTIATE_TEST_SUITE_P(Redis, RedisKillTest,
                         ::testing::Values("", "?group=7", "?group=1", "?dedupe=10m",
                                           "?dedupe=10m&group=7"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase_if(name, [](char c) { return !isalnum(c); });
                           return name.empty() ? std::string("plain") : name;
                         });

class RedisTlsTest : public RedisSinkTest {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_PROGRAM("redis-server");
    OUTBOX_REQUIRE_PROGRAM("openssl");
    server_ = RedisServer::StartWithTls();
    ASSERT_NE(server_, nullptr);
    address_ = base::StrCat("rediss://app:secret@", server_->tls_address());
    client_ = base::StrCat("tls_cert=", server_->certificates().File("client.pem"),
                           "&tls_key=", server_->certificates().File("client.key"));
  }
  std::string address_;
  std::string client_;
};

TEST_F(RedisTlsTest, TakesAClientCertificate) {
  const auto sink = MakeUri(address_ + "?tls_ca=" + server_->ca_file() + "&" + client_);
  EXPECT_OK(Publish(*sink, Messages(1))[0]);
}

TEST_F(RedisTlsTest, WithoutTheClientCertificateTheServerIsDown) {
  const Status status = MakeUri(address_ + "?tls_ca=" + server_->ca_file())->Open(Soon());
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
}

TEST_F(RedisTlsTest, AServerOfAnotherAuthorityIsRefused) {
  const testing::Certificates other;
  const auto refused =
      MakeUri(address_ + "?tls_ca=" + other.File("ca.pem") + "&" + client_)->Open(Soon());
  EXPECT_EQ(refused.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(refused.message(), HasSubstr("certificate verify failed"));
  EXPECT_THAT(refused.hint(), HasSubstr("tls_ca"));
  // The system's authorities do not know it either.
  EXPECT_FALSE(MakeUri(address_ + "?" + client_)->Open(Soon()).ok());
  EXPECT_OK(MakeUri(address_ + "?tls_verify=false&" + client_)->Open(Soon()));
}

TEST_F(RedisTlsTest, AServerOfAnotherNameIsRefused) {
  const std::string port = server_->tls_address().substr(server_->tls_address().find(':'));
  const std::string options = "?tls_ca=" + server_->ca_file() + "&" + client_;
  EXPECT_OK(MakeUri("rediss://app:secret@localhost" + port + options)->Open(Soon()));
  // 127.0.0.1 in a spelling that its certificate does not have.
  const Status status = MakeUri("rediss://app:secret@127.1" + port + options)->Open(Soon());
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(status.message(), HasSubstr("ostname mismatch"));
}

TEST_F(RedisTlsTest, AProbeTellsTheTlsPortFromTheOther) {
  const auto way = [](const std::string& uri) { return RedisWay(SinkUri::Parse(uri).value()); };
  const std::string options = "?tls_ca=" + server_->ca_file() + "&" + client_;
  const testing::ProbeSteps steps(way(address_ + options));
  EXPECT_OK(steps.status);
  EXPECT_THAT(steps.ok.at("tls"), HasSubstr("by outbox test authority until 20"));
  EXPECT_TRUE(testing::SpeaksTls(way("redis://" + server_->tls_address())));
  EXPECT_EQ(way("redis://" + server_->tls_address())->instead, "write rediss:");
}

TEST_F(RedisTlsTest, SpeakingTlsToAPortInTheClearFailsClearly) {
  const Status status = MakeUri("rediss://app:secret@" + server_->address())
                            ->Open(Deadline::After(std::chrono::seconds(5)));
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(status.hint(), HasSubstr("write redis:"));
}

TEST_F(RedisTlsTest, SpeakingInTheClearToATlsPortFailsClearly) {
  const Status status = MakeUri("redis://app:secret@" + server_->tls_address())->Open(Soon());
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(status.hint(), HasSubstr("rediss:")) << status.ToString();
}

}  // namespace
}  // namespace outbox::sink
