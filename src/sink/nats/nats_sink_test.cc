#include "sink/nats/nats_sink.h"

#include <fstream>

#include "base/text.h"
#include "sink/nats/ack_box.h"
#include "sink/nats/classify_error.h"
#include "sink/nats/denial.h"
#include "sink/nats/nkey.h"
#include "sink/nats/options.h"
#include "sink/nats/stream_lookup.h"
#include "sink/nats/subject.h"
#include "tests/support/certificates.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace outbox::sink {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;

Result<NatsOptions> Read(std::string_view text) {
  return NatsOptions::Read(SinkUri::Parse(text).value());
}

// --- options ---

TEST(NatsOptions, ReadTheAddress) {
  const testing::Certificates files;
  const auto read =
      Read("natss://me:hunter2@h1:1,h2?stream=S&subject=a.{topic}&tls_ca=" + files.File("ca.pem"));
  ASSERT_OK(read);
  EXPECT_EQ(read->user, "me");
  EXPECT_EQ(read->password, "hunter2");
  EXPECT_EQ(read->endpoints.at(0).ToString(), "h1:1");
  EXPECT_EQ(read->endpoints.at(1).ToString(), "h2:4222");
  EXPECT_EQ(read->stream, "S");
  ASSERT_TRUE(read->tls);
  EXPECT_TRUE(read->tls->verify);
  Message message;
  message.topic = "t";
  EXPECT_EQ(read->subject.Render(message), "a.t");
}

TEST(NatsOptions, NameEveryProblem) {
  const Status status =
      Read("nats://me:hunter2@h/x?token=t&creds=/c&nkey=/n&window=0&tls_ca=/ca&body=xml").error();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("stream=NAME"), HasSubstr("give one of"), HasSubstr("window:"),
                    HasSubstr("'tls_ca'"), HasSubstr("is not one of"), Not(HasSubstr("hunter2"))));
}

TEST(NatsOptions, RefuseAPasswordWithoutAUser) {
  for (const char* text :
       {"nats://h?password=hunter2", "nats://:hunter2@h", "nats://h?password=hunter2&token=t",
        "nats://h?password=hunter2&creds=/c", "nats://h?password=hunter2&nkey=/n"}) {
    const Status status = Read(text).error();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), AllOf(HasSubstr("password: "), Not(HasSubstr("hunter2"))));
  }
  EXPECT_OK(Read("nats://me@h?password=hunter2"));
}

TEST(NatsOptions, RefuseCredentialsThatAreEmpty) {
  for (const char* text : {"nats://u:@h", "nats://h?creds=", "nats://h?nkey="}) {
    const Status status = Read(text).error();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr("empty"));
    EXPECT_NE(status.hint(), "");
  }
}

TEST(NatsOptions, RefuseASuffixOfIdsWithBlanks) {
  EXPECT_EQ(Read("nats://h?id_suffix=.audit")->id_suffix, ".audit");
  for (const char* bad : {"%20", "a%0D%0Ab", "a%09", "%7F"}) {
    EXPECT_THAT(Read(base::StrCat("nats://h?id_suffix=", bad)).error().message(),
                HasSubstr("id_suffix: "))
        << bad;
  }
}

TEST(NatsOptions, RefuseASubjectThatNoMessageCouldHave) {
  for (const char* bad : {"", "a%20b", "a..{topic}", "{topic}.", "orders.*", "orders.{topic}.%3E",
                          "$JS.{topic}", "_INBOX.x"}) {
    const Status status = Read(base::StrCat("nats://h?subject=", bad)).error();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << bad;
    EXPECT_THAT(status.message(), AllOf(HasSubstr("subject: "), HasSubstr("is no subject"))) << bad;
  }
  EXPECT_OK(Read("nats://h?subject=shop.{tenant_id}.{topic}"));
  EXPECT_THAT(Read("nats://h?subject=a.{tropic}").error().message(),
              Not(HasSubstr("is no subject")));
}

// --- keys ---

// A pair made by NATS's own tool.
constexpr const char* kSeed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
constexpr const char* kPublicKey = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

TEST(Nkey, APublicKeyIsThatOfItsSeed) {
  const testing::TempFolder folder;
  const std::string path = folder.File("user.nk");
  std::ofstream(path) << "-----BEGIN USER NKEY SEED-----\n" << kSeed << "\n";
  const auto key = PublicKeyOfSeedFile(path);
  ASSERT_OK(key);
  EXPECT_EQ(*key, kPublicKey);
}

TEST(Nkey, RefusesWhatIsNoUsersSeedWithoutShowingIt) {
  const testing::TempFolder folder;
  const std::string path = folder.File("user.nk");
  EXPECT_THAT(PublicKeyOfSeedFile(path).error().message(), HasSubstr("can not read " + path));
  std::string damaged = kSeed;
  damaged[20] = damaged[20] == 'A' ? 'B' : 'A';
  const std::string seed = kSeed;
  for (const std::string& text : {std::string(), std::string("SU"), damaged, seed + "A",
                                  seed.substr(1), "SA" + seed.substr(2), std::string(kPublicKey)}) {
    std::ofstream(path) << text;
    const Status status = PublicKeyOfSeedFile(path).error();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), AllOf(HasSubstr(path), Not(HasSubstr(seed.substr(30)))));
  }
}

// --- subjects and headers ---

TEST(NatsSubject, RefusesWhatTheServerWouldMisread) {
  for (const char* good :
       {"orders.order.created.v1", "a", "a*b.c>d", "größe.1", "$KV.bucket.key"}) {
    EXPECT_OK(CheckSubject(good));
  }
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nPUB x", "a.*", "a.>",
                          "$JS.API.STREAM.DELETE.X", "$SYS.x", "_INBOX.x"}) {
    const Status status = CheckSubject(bad);
    EXPECT_EQ(status.disposition(), Disposition::kPermanent) << bad;
  }
}

TEST(NatsHeader, HasNoLineBreaks) {
  EXPECT_OK(CheckHeader("x-shop", "Grüße: 1"));
  EXPECT_FALSE(CheckHeader("x", "a\r\nNats-Rollup: all").ok());
  EXPECT_FALSE(CheckHeader("x:y", "a").ok());
  EXPECT_FALSE(CheckHeader("x y", "a").ok());
  EXPECT_FALSE(CheckHeader("", "a").ok());
  EXPECT_TRUE(IsServerHeader("nats-rollup"));
  EXPECT_FALSE(IsServerHeader("Nat"));
  EXPECT_FALSE(IsServerHeader("x-nats-"));
}

// --- errors ---

TEST(ClassifyPubAck, IsOkOnlyWhenAStreamHasIt) {
  EXPECT_OK(ClassifyPubAck(R"({"stream":"S","seq":1})", "h:1"));
  EXPECT_OK(ClassifyPubAck(R"({"stream":"S","seq":1,"duplicate":true})", "h:1"));
  for (const char* strange : {"", "+OK", "{}", "[]", "null", R"({"stream":"S"})"}) {
    EXPECT_EQ(ClassifyPubAck(strange, "h:1").disposition(), Disposition::kRetry) << strange;
  }
}

TEST(ClassifyPubAck, TellsTheServersStateFromTheMessagesFault) {
  const struct {
    int code;
    const char* description;
    Disposition disposition;
  } cases[] = {
      {10047, "insufficient storage resources available", Disposition::kSinkDown},
      {10023, "insufficient resources", Disposition::kSinkDown},
      {10008, "JetStream system temporarily unavailable", Disposition::kSinkDown},
      {10077, "write /store/1.blk: no space left on device", Disposition::kSinkDown},
      {10077, "maximum messages exceeded", Disposition::kRetry},
      {10077, "maximum bytes exceeded", Disposition::kRetry},
      {10077, "maximum messages per subject exceeded", Disposition::kRetry},
      {10054, "message size exceeds maximum allowed", Disposition::kPermanent},
      {10060, "expected stream does not match", Disposition::kRetry},
      {10109, "invalid operation on sealed stream", Disposition::kRetry},
      {1, "something new", Disposition::kRetry},
  };
  for (const auto& [code, description, disposition] : cases) {
    const Status status = ClassifyPubAck(
        base::StrCat(R"({"error":{"code":400,"err_code":)", code, R"(,"description":")",
                     description, R"("},"stream":"S","seq":0})"),
        "h:1");
    EXPECT_EQ(status.disposition(), disposition) << description;
    EXPECT_EQ(status.native(), std::to_string(code));
    EXPECT_THAT(status.message(), AllOf(HasSubstr("h:1"), HasSubstr(description)));
  }
  EXPECT_FALSE(ClassifyPubAck(R"({"error":"text","stream":"S","seq":1})", "h:1").ok());
}

TEST(ClassifyPubAck, TakesAnErrorOfAnyShape) {
  for (const char* error :
       {"null", "7", "[]", "{}", R"("text")", R"({"err_code":"10077"})", R"({"err_code":null})",
        R"({"err_code":{},"description":[]})", R"({"err_code":1e300,"description":7})",
        R"({"err_code":99999999999999999999,"description":null})"}) {
    const Status status =
        ClassifyPubAck(base::StrCat(R"({"error":)", error, R"(,"stream":"S","seq":1})"), "h:1");
    EXPECT_EQ(status.disposition(), Disposition::kRetry) << error;
  }
}

TEST(ClassifyPubAck, KnowsThePlainAnswerWithoutParsing) {
  EXPECT_TRUE(IsPlainPubAck(R"({"stream":"ORDERS","seq":12})"));
  EXPECT_TRUE(IsPlainPubAck(R"({"stream":"ORDERS", "seq":12})"));
  for (const char* other :
       {"", "{}", R"({"stream":"","seq":1})", R"({"stream":"S","seq":})", R"({"stream":"S"})",
        R"({"stream":"S","seq":1,"duplicate":true})", R"({"stream":"S","seq":1} )",
        R"({"error":{"code":503},"stream":"S","seq":1})", R"({"stream":"S\"","seq":1})"}) {
    EXPECT_FALSE(IsPlainPubAck(other)) << other;
  }
}

TEST(PublishDenied, BlamesTheMessagesOfItsSubjectOnly) {
  const Status status = PublishDenied("invoices.x", "h:1");
  EXPECT_EQ(status.code(), Code::kPermission);
  EXPECT_EQ(status.disposition(), Disposition::kRetry);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("h:1"), HasSubstr("'invoices.x'")));
}

TEST(Denial, IsAboutTheSubjectItQuotes) {
  const Denial denial(R"(Permissions Violation for Publish to "a.b")");
  EXPECT_TRUE(denial.Covers("a.b"));
  EXPECT_FALSE(denial.Covers("a.b.c"));
  EXPECT_FALSE(denial.Covers("a"));
  const Denial escaped(R"(Permissions Violation for Publish to "a.\"b\\")");
  EXPECT_TRUE(escaped.Covers(R"(a."b\)"));
}

TEST(Denial, MayBeCutOff) {
  const std::string subject = "a." + std::string(300, 'x');
  const std::string text = "Permissions Violation for Publish to \"" + subject;
  const Denial denial(text.substr(0, 255));
  EXPECT_TRUE(denial.Covers(subject));
  EXPECT_TRUE(denial.Covers(subject + "y"));
  EXPECT_FALSE(denial.Covers("a.x"));
}

TEST(Denial, OfSomethingElseIsAboutNoSubject) {
  for (const char* other : {"", "Permissions Violation for Publish to \"",
                            R"(Permissions Violation for Subscription to "a.b")"}) {
    EXPECT_FALSE(Denial(other).Covers("a.b")) << other;
    EXPECT_FALSE(Denial(other).Covers("")) << other;
  }
}

TEST(StreamLookup, ReadsTheNames) {
  EXPECT_EQ(ReadStreamNames(R"({"total":1,"streams":["ORDERS"]})"), StreamFound::kSome);
  EXPECT_EQ(ReadStreamNames(R"({"total":0,"streams":[]})"), StreamFound::kNone);
  EXPECT_EQ(ReadStreamNames(R"({"total":0,"streams":null})"), StreamFound::kNone);
  for (const char* none : {"", "[]", "text", R"({"error":{"err_code":10008}})"}) {
    EXPECT_EQ(ReadStreamNames(none), StreamFound::kNoAnswer) << none;
  }
}

TEST(ClassifyNatsError, BlamesAMessageOnlyForItself) {
  EXPECT_EQ(ClassifyNatsError(NATS_MAX_PAYLOAD, "", "h:1").disposition(), Disposition::kPermanent);
  EXPECT_EQ(ClassifyNatsError(NATS_CONNECTION_AUTH_FAILED, "", "h:1").code(), Code::kPermission);
  for (const natsStatus status : {NATS_NO_SERVER, NATS_CONNECTION_CLOSED, NATS_IO_ERROR,
                                  NATS_TIMEOUT, NATS_SSL_ERROR, NATS_NO_MEMORY, NATS_ERR}) {
    const Status classified = ClassifyNatsError(status, "", "h:1");
    EXPECT_EQ(classified.disposition(), Disposition::kSinkDown) << natsStatus_GetText(status);
    EXPECT_THAT(classified.message(), HasSubstr("h:1"));
  }
}

// --- answers ---

const Deadline kNoWait = Deadline::After(std::chrono::seconds(0));

std::string InboxSubject(const AckBox::Batch& batch, std::size_t index) {
  return base::StrCat("_INBOX.x.", batch.Address(index));
}

TEST(AckBox, TakesAnswersOfOpenBatchesOnly) {
  const auto box = AckBox::Make();
  auto ended = box->Begin(2);
  const std::string old = InboxSubject(*ended, 0);
  ended.reset();
  const auto first = box->Begin(2);
  const auto second = box->Begin(2);
  for (AckBox::Batch* batch : {first.get(), second.get()}) batch->TakeRoom(2, 9, kNoWait);
  box->Put(old, {.body = "old"});
  box->Put(InboxSubject(*second, 1), {.body = "new"});
  box->Put(InboxSubject(*second, 2), {.body = "beyond"});
  for (const char* nonsense : {"", ".", "x", "x.y", "x.1.y", "1.1", "x.99999999999999999999.0"}) {
    box->Put(nonsense, {.body = "nonsense"});
  }
  EXPECT_THAT(first->TakeAll(), ElementsAre(Eq(std::nullopt), Eq(std::nullopt)));
  const auto acks = second->TakeAll();
  EXPECT_FALSE(acks.at(0));
  ASSERT_TRUE(acks.at(1));
  EXPECT_EQ(acks[1]->body, "new");
}

TEST(AckBox, WaitsUntilAllIsAnsweredOrNothingCanCome) {
  const auto box = AckBox::Make();
  const auto batch = box->Begin(3);
  EXPECT_TRUE(batch->WaitForAll(Deadline::After(std::chrono::seconds(0))));
  EXPECT_EQ(batch->TakeRoom(2, 9, kNoWait), 2U);
  batch->GiveBack(1);
  EXPECT_FALSE(batch->WaitForAll(Deadline::After(std::chrono::milliseconds(1))));
  batch->Put(0, {});
  EXPECT_TRUE(batch->WaitForAll(Deadline::After(std::chrono::seconds(30))));
  EXPECT_EQ(batch->TakeRoom(1, 9, kNoWait), 1U);
  box->Break();
  EXPECT_FALSE(batch->WaitForAll(Deadline::After(std::chrono::hours(1))));
}

TEST(AckBox, HasOneWindowForAllBatches) {
  const auto box = AckBox::Make();
  auto first = box->Begin(4);
  const auto second = box->Begin(4);
  EXPECT_EQ(first->TakeRoom(3, 4, kNoWait), 3U);
  EXPECT_EQ(first->TakeRoom(3, 4, kNoWait), 1U);
  EXPECT_EQ(second->TakeRoom(1, 4, Deadline::After(std::chrono::milliseconds(1))), 0U);
  first->Put(0, {});
  first->Put(1, {});
  EXPECT_EQ(second->TakeRoom(9, 4, Deadline::After(std::chrono::seconds(30))), 2U);
  first.reset();  // what it has not been told counts no more
  EXPECT_EQ(second->TakeRoom(9, 3, kNoWait), 1U);
}

TEST(AckBox, IsFoundByItsNumberWhileItLives) {
  auto box = AckBox::Make();
  const auto number = box->number();
  EXPECT_EQ(AckBox::Find(number), box);
  box.reset();
  EXPECT_EQ(AckBox::Find(number), nullptr);
}

}  // namespace
}  // namespace outbox::sink
