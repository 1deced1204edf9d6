#include "sink/redis/redis_sink.h"

#include "sink/redis/classify_error.h"
#include "sink/redis/command.h"
#include "sink/redis/options.h"
#include "tests/support/certificates.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

Result<RedisOptions> Read(std::string_view text) {
  return RedisOptions::Read(SinkUri::Parse(text).value());
}

Message Example() {
  Message message;
  message.id = *Uuid::Parse("01890a5d-ac96-774b-bcce-b302099a8057");
  message.topic = "orders.order.created.v1";
  message.payload = "{}";
  return message;
}

// --- options ---

TEST(RedisOptions, ReadTheAddress) {
  const testing::Certificates files;
  const auto read =
      Read("rediss://me:hunter2@h1:1,h2/3?maxlen=1000&dedupe=10m&tls_ca=" + files.File("ca.pem"));
  ASSERT_OK(read);
  EXPECT_EQ(read->user, "me");
  EXPECT_EQ(read->password, "hunter2");
  EXPECT_EQ(read->endpoints.at(0).ToString(), "h1:1");
  EXPECT_EQ(read->endpoints.at(1).ToString(), "h2:6379");
  EXPECT_EQ(read->db, 3);
  EXPECT_EQ(read->maxlen, 1000u);
  EXPECT_FALSE(read->maxlen_exact);
  EXPECT_EQ(read->dedupe, std::chrono::minutes(10));
  ASSERT_TRUE(read->tls);
  EXPECT_TRUE(read->tls->verify);
  EXPECT_EQ(read->tls->ca_file, files.File("ca.pem"));
}

TEST(RedisOptions, DefaultToTheTopicAndKeepEverything) {
  const auto read = Read("redis://h");
  ASSERT_OK(read);
  EXPECT_EQ(read->stream.Render(Example()), "orders.order.created.v1");
  EXPECT_EQ(read->db, 0);
  EXPECT_EQ(read->maxlen, 0u);
  EXPECT_EQ(read->dedupe.count(), 0);
  EXPECT_FALSE(read->tls);
}

TEST(RedisOptions, NameEveryProblem) {
  const Status status =
      Read("redis://me:hunter2@h/x?maxlen=1&maxlen_exact=2&password=p&tls_ca=/ca&body=xml&stream=")
          .error();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(
      status.message(),
      AllOf(HasSubstr("the database after the host"), HasSubstr("maxlen_exact"),
            HasSubstr("password: is in the address already"), HasSubstr("'tls_ca'"),
            HasSubstr("is not one of"), HasSubstr("stream: is empty"), Not(HasSubstr("hunter2"))));
}

// --- commands ---

TEST(RedisCommand, IsAnArrayOfBulkStrings) {
  std::string out;
  AppendCommand({"PING", "", "a\r\nb"}, out);
  EXPECT_EQ(out, "*3\r\n$4\r\nPING\r\n$0\r\n\r\n$4\r\na\r\nb\r\n");
}

TEST(RedisCommand, AddsAnEntry) {
  std::string out;
  AddCommand(*Read("redis://h?maxlen=5")).Append(Example(), "s", true, out);
  EXPECT_THAT(out, HasSubstr("$4\r\nXADD\r\n$1\r\ns\r\n$6\r\nMAXLEN\r\n$1\r\n~\r\n$1\r\n5\r\n"
                             "$1\r\n*\r\n$2\r\nid\r\n"));
}

TEST(RedisCommand, SendsTheScriptOnceABatch) {
  AddCommand add(*Read("redis://h?dedupe=1s"));
  std::string first;
  add.Append(Example(), "s", true, first);
  EXPECT_THAT(first, AllOf(HasSubstr("\r\nEVAL\r\n"), HasSubstr("redis.pcall('XADD'"),
                           HasSubstr("outbox:dedupe:{s}:01890a5d-ac96-774b-bcce-b302099a8057"),
                           HasSubstr("\r\n1000\r\n")));
  std::string next;
  add.Append(Example(), "s", false, next);
  EXPECT_THAT(next, AllOf(HasSubstr("\r\nEVALSHA\r\n"), Not(HasSubstr("redis.pcall"))));
}

TEST(RedisCommand, PutsTheOwnFieldsFirstAndNoHeaderOverThem) {
  Message message = Example();
  message.headers = {{"x", "1"}, {"payload", "other"}};
  const Headers fields = EntryFields(message, message::BodyFormat::kPlain);
  EXPECT_THAT(fields.at(0), Pair("id", message.id.ToString()));
  EXPECT_THAT(fields.at(1), Pair("topic", message.topic));
  EXPECT_THAT(fields.at(2), Pair("payload", "{}"));
  EXPECT_THAT(fields, ::testing::Contains(Pair("x", "1")));
  EXPECT_THAT(fields, ::testing::Contains(Pair("header:payload", "other")));
  EXPECT_THAT(fields, Not(::testing::Contains(Pair("payload", "other"))));
}

// --- errors ---

TEST(ClassifyRedisError, RepeatsNothingOfTheCommand) {
  for (const char* reply :
       {"ERR unknown command 'XADD', with args beginning with: 'orders' '*' 'payload' 'CANARY' ",
        "ERR unknown command `XADD`, with args beginning with: `orders`, `*`, `CANARY`, ",
        "with args beginning with: CANARY"}) {
    EXPECT_THAT(ClassifyRedisError(reply, "h:1").ToString(), Not(HasSubstr("CANARY")));
  }
  EXPECT_THAT(ClassifyRedisError("ERR unknown command 'XADD', with args beginning with: 'a' ", "h")
                  .message(),
              ::testing::EndsWith("ERR unknown command 'XADD'"));
  EXPECT_EQ(ClassifyRedisError("{\"name\":\"CANARY\"}", "h:1").native(), "");
  EXPECT_EQ(ClassifyRedisError("OOM no", "h:1").native(), "OOM");
}

TEST(ClassifyRedisError, TellsTheServersStateFromTheMessagesFault) {
  const struct {
    const char* reply;
    Code code;
    Disposition disposition;
  } cases[] = {
      {"OOM command not allowed when used memory > 'maxmemory'.", Code::kUnavailable,
       Disposition::kSinkDown},
      {"LOADING Redis is loading the dataset in memory", Code::kUnavailable,
       Disposition::kSinkDown},
      {"MASTERDOWN Link with MASTER is down", Code::kUnavailable, Disposition::kSinkDown},
      {"READONLY You can't write against a read only replica.", Code::kUnavailable,
       Disposition::kSinkDown},
      {"MISCONF Redis is configured to save RDB snapshots", Code::kUnavailable,
       Disposition::kSinkDown},
      {"NOREPLICAS Not enough good replicas to write.", Code::kUnavailable, Disposition::kSinkDown},
      {"CLUSTERDOWN Hash slot not served", Code::kUnavailable, Disposition::kSinkDown},
      {"ERR max number of clients reached", Code::kUnavailable, Disposition::kSinkDown},
      {"NOAUTH Authentication required.", Code::kPermission, Disposition::kSinkDown},
      {"WRONGPASS invalid username-password pair", Code::kPermission, Disposition::kSinkDown},
      {"NOPERM User app has no permissions to run the 'xadd' command", Code::kPermission,
       Disposition::kSinkDown},
      {"ERR ACL failure in script: User app has no permissions to run the 'xadd' command",
       Code::kPermission, Disposition::kSinkDown},
      {"NOPERM No permissions to access a key", Code::kPermission, Disposition::kRetry},
      {"ERR ACL failure in script: No permissions to access a key", Code::kPermission,
       Disposition::kRetry},
      {"@user_script: 6: -OOM command not allowed when used memory > 'maxmemory'.",
       Code::kUnavailable, Disposition::kSinkDown},
      {"ERR Error running script (call to f_0a): @user_script:6: @user_script: 6: -READONLY You "
       "can't write against a read only replica.",
       Code::kUnavailable, Disposition::kSinkDown},
      {"DENIED Redis is running in protected mode", Code::kPermission, Disposition::kSinkDown},
      {"ERR AUTH <password> called without any password configured", Code::kPermission,
       Disposition::kSinkDown},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", Code::kRejected,
       Disposition::kRetry},
      {"ERR Protocol error: invalid bulk length", Code::kRejected, Disposition::kPermanent},
      {"MOVED 3999 127.0.0.1:6381", Code::kRejected, Disposition::kRetry},
      {"NOSCRIPT No matching script.", Code::kRejected, Disposition::kRetry},
      {"ERR something else", Code::kRejected, Disposition::kRetry},
      {"", Code::kRejected, Disposition::kRetry},
  };
  for (const auto& [reply, code, disposition] : cases) {
    const Status status = ClassifyRedisError(reply, "h:1");
    EXPECT_EQ(status.code(), code) << reply;
    EXPECT_EQ(status.disposition(), disposition) << reply;
    EXPECT_THAT(status.message(), HasSubstr("h:1"));
  }
}

}  // namespace
}  // namespace outbox::sink
