// The Redis sink and a server that was killed in the middle of a write to its file.
//
// At its start the server cuts such a file off behind the last whole command, even inside of a
// transaction: MULTI stays there without EXEC. The next EXEC in the file, whose ever it is, ends
// that transaction, and the half is added at the second start. Without one, what was written since
// is thrown away at the second start.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "sink/redis/redis_sink.h"
#include "tests/conformance/redis_server.h"
#include "tests/conformance/sink_producer.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using testing::Messages;
using testing::Publish;
using testing::RedisServer;
using testing::WaitFor;

constexpr std::size_t kTornBatch = 20;

class RedisTornWriteTest : public ::testing::Test {
 protected:
  void SetUp() override { OUTBOX_REQUIRE_PROGRAM("redis-server"); }

  void Start(const std::string& config = "") {
    server_ = RedisServer::Start(config);
    ASSERT_NE(server_, nullptr);
  }
  std::shared_ptr<Sink> Make(const std::string& options) const {
    const std::string uri = base::StrCat("redis://app:secret@", server_->address(), options);
    return MakeRedisSink(SinkUri::Parse(uri).value()).value();
  }
  // Until all are confirmed, as a relay does it.
  static bool Deliver(Sink& sink, std::vector<Message> messages) {
    return WaitFor([&] {
      const auto results = Publish(sink, messages);
      std::vector<Message> left;
      for (std::size_t i = 0; i < messages.size(); ++i) {
        if (!results[i].ok()) left.push_back(messages[i]);
      }
      messages = std::move(left);
      return messages.empty();
    });
  }
  // Each in a call of its own: the server writes no transaction for a group of one.
  static bool DeliverOneByOne(Sink& sink, const std::vector<Message>& messages) {
    return std::all_of(messages.begin(), messages.end(),
                       [&](const Message& message) { return Deliver(sink, {message}); });
  }

  // Every write is whole; what is torn is torn by the test.
  void Kill() const { server_->process().KillBetweenWrites(); }
  bool Says(const std::string& text) const {
    return server_->process().Log().find(text) != std::string::npos;
  }
  // False when it refuses to start with its file.
  bool Restart() const {
    if (!server_->process().StartAgain()) return false;
    // It accepts connections before it has read its file.
    bool up = false;
    EXPECT_TRUE(WaitFor([&] {
      up = server_->Ask({"PING"}) == "PONG";
      return up || Says("Unexpected end of file");
    }));
    return up;
  }

  std::string Folder() const { return server_->process().folder() + "/appendonlydir/"; }
  // Cuts the `nth` command of this name in two, and off all behind it.
  void TearIn(const std::string& command, std::size_t nth) const {
    const std::string path = Folder() + "appendonly.aof.1.incr.aof";
    std::ostringstream file;
    file << std::ifstream(path).rdbuf();
    std::size_t at = 0;
    for (std::size_t i = 0; i < nth; ++i) {
      at = file.str().find("\r\n" + command + "\r\n", at + 1);
      ASSERT_NE(at, std::string::npos) << "there are " << i << " of " << command;
    }
    std::filesystem::resize_file(path, at + 4);
  }

  std::multiset<std::string> Arrived() const {
    std::multiset<std::string> ids;
    for (const auto& entry : server_->Entries("orders.order.created.v1"))
      ids.insert(entry.Field("id"));
    return ids;
  }
  static void ExpectAllOf(const std::vector<Message>& messages,
                          const std::multiset<std::string>& arrived) {
    std::size_t lost = 0;
    for (const Message& message : messages) lost += arrived.contains(message.id.ToString()) ? 0 : 1;
    EXPECT_EQ(lost, 0u);
  }
  // Of what was torn and is delivered again, and of what comes after it, over two more starts.
  void ExpectEverythingOnce(Sink& sink, const std::vector<Message>& torn) const {
    const auto after = Messages(kTornBatch);
    const auto plain = Make("");
    ASSERT_TRUE(DeliverOneByOne(*plain, after));
    Kill();
    ASSERT_TRUE(Restart());
    ASSERT_TRUE(Deliver(sink, torn));
    Kill();
    ASSERT_TRUE(Restart());
    const auto arrived = Arrived();
    ExpectAllOf(torn, arrived);
    ExpectAllOf(after, arrived);
    EXPECT_EQ(arrived.size(), 2 * kTornBatch);
  }

  std::unique_ptr<RedisServer> server_;
};

struct Torn {
  const char* name;
  const char* options;
  std::size_t group;  // messages of one transaction; 0: none is written
};

class RedisTornGroupTest : public RedisTornWriteTest, public ::testing::WithParamInterface<Torn> {
 protected:
  static bool Dedupes() {
    return std::string(GetParam().options).find("dedupe") != std::string::npos;
  }
  // How often a message may be there when a write was torn behind `whole` entries of its batch.
  static std::size_t TimesMax(std::size_t message, std::size_t whole) {
    if (!Dedupes()) return 2;  // in doubt, and sent again
    const std::size_t first_of_torn = (whole - 1) / GetParam().group * GetParam().group;
    return message >= first_of_torn && message < whole ? 2 : 1;
  }
};

TEST_P(RedisTornGroupTest, LosesNothingAndRepeatsNothingElse) {
  std::size_t repeated = 0;
  for (const std::size_t whole : {std::size_t{1}, std::size_t{10}, kTornBatch}) {
    SCOPED_TRACE(whole);
    ASSERT_NO_FATAL_FAILURE(Start());
    const auto sink = Make(GetParam().options);
    const auto before = Messages(kTornBatch);
    const auto torn = Messages(kTornBatch);
    const auto after = Messages(kTornBatch);
    ASSERT_TRUE(Deliver(*sink, before));
    ASSERT_TRUE(Deliver(*sink, torn));
    Kill();
    // With dedupe the last whole entry has lost what remembers it.
    ASSERT_NO_FATAL_FAILURE(Dedupes()
                                ? TearIn("SET", kTornBatch + whole)
                                : TearIn("XADD", kTornBatch + std::min(whole + 1, kTornBatch)));
    ASSERT_TRUE(Restart());
    EXPECT_TRUE(Says("short read")) << "the server has seen nothing torn: this shows nothing";
    // Nobody has answered for them, so they come again.
    ASSERT_TRUE(Deliver(*sink, torn));
    ASSERT_TRUE(Deliver(*sink, after));
    Kill();
    ASSERT_TRUE(Restart());

    const auto arrived = Arrived();
    for (const auto* const messages : {&before, &torn, &after}) ExpectAllOf(*messages, arrived);
    for (std::size_t i = 0; i < kTornBatch; ++i) {
      EXPECT_EQ(arrived.count(before[i].id.ToString()), 1u);
      EXPECT_LE(arrived.count(torn[i].id.ToString()), TimesMax(i, whole)) << i;
      EXPECT_EQ(arrived.count(after[i].id.ToString()), 1u);
    }
    repeated += arrived.size() - 3 * kTornBatch;
  }
  std::printf("%zu messages are there twice\n", repeated);
}

INSTANTIATE_TEST_SUITE_P(Redis, RedisTornGroupTest,
                         ::testing::Values(Torn{"plain", "", kTornBatch},
                                           Torn{"group7", "?group=7", 7},
                                           Torn{"group1", "?group=1", 0},
                                           Torn{"dedupe", "?dedupe=10m", kTornBatch},
                                           Torn{"dedupe_group7", "?dedupe=10m&group=7", 7},
                                           Torn{"dedupe_group1", "?dedupe=10m&group=1", 1}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Messages that come one by one bring no EXEC: with half a transaction before them they would be
// gone, and those of the half there twice.
TEST_F(RedisTornWriteTest, AFileThatIsMendedBeforeTheStartKeepsEverythingOnce) {
  ASSERT_NO_FATAL_FAILURE(Start("aof-load-truncated no\n"));
  const auto sink = Make("?dedupe=10m");
  const auto torn = Messages(kTornBatch);
  ASSERT_TRUE(Deliver(*sink, torn));
  Kill();
  ASSERT_NO_FATAL_FAILURE(TearIn("SET", 10));
  ASSERT_FALSE(Restart());
  const auto mended =
      testing::Process::Run({"redis-check-aof", "--fix", Folder() + "appendonly.aof.manifest"},
                            {.standard_input = "y\n"});
  ASSERT_EQ(mended.exit_code, 0) << mended.standard_output << mended.standard_error;
  ASSERT_TRUE(Restart());
  ExpectEverythingOnce(*sink, torn);
}

TEST_F(RedisTornWriteTest, AFileThatIsRewrittenAfterTheStartKeepsEverythingOnce) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const auto sink = Make("?dedupe=10m");
  const auto torn = Messages(kTornBatch);
  ASSERT_TRUE(Deliver(*sink, torn));
  Kill();
  ASSERT_NO_FATAL_FAILURE(TearIn("SET", 10));
  ASSERT_TRUE(Restart());
  EXPECT_TRUE(Says("short read"));
  ASSERT_THAT(server_->Ask({"BGREWRITEAOF"}), HasSubstr("started"));
  ASSERT_TRUE(WaitFor([&] { return Says("Background AOF rewrite finished successfully"); }));
  ExpectEverythingOnce(*sink, torn);
}

}  // namespace
}  // namespace outbox::sink
