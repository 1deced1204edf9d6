#include <cstdlib>
#include <fstream>

#include "base/text.h"
#include "sink/authority.h"
#include "sink/body_option.h"
#include "sink/metadata.h"
#include "sink/option_reader.h"
#include "sink/text_template.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace outbox::sink {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

SinkUri Parsed(std::string_view text) { return SinkUri::Parse(text).value(); }

// --- Authority ---

TEST(Authority, IsTakenApart) {
  const auto authority = ParseAuthority(Parsed("amqp://us%40er:p%2Fw@h1:1,h2,[::1]:3/v%2Fh"), 5672);
  ASSERT_OK(authority);
  EXPECT_EQ(authority->user, "us@er");
  EXPECT_EQ(authority->password, "p/w");
  ASSERT_EQ(authority->endpoints.size(), 3u);
  EXPECT_EQ(authority->endpoints[0].ToString(), "h1:1");
  EXPECT_EQ(authority->endpoints[1].ToString(), "h2:5672");
  EXPECT_EQ(authority->endpoints[2].ToString(), "[::1]:3");
  EXPECT_EQ(authority->path, "v/h");
}

TEST(Authority, TellsAnEmptyPathFromNone) {
  EXPECT_TRUE(ParseAuthority(Parsed("amqp://h/"), 1)->has_path);
  EXPECT_FALSE(ParseAuthority(Parsed("amqp://h"), 1)->has_path);
}

TEST(Authority, RefusesNonsenseWithoutRepeatingIt) {
  for (const char* text :
       {"amqp:hunter2", "amqp://u:hunter2@", "amqp://u:hunter2@h:0", "amqp://u:hunter2@h:x",
        "amqp://u:hunter2@h:65536", "amqp://[::1", "amqp://u:hunter2@h,,h"}) {
    const Status status = ParseAuthority(Parsed(text), 1).error();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.ToString() + status.hint(), Not(HasSubstr("hunter2")));
  }
}

TEST(Authority, RefusesAPasswordThatIsEmpty) {
  for (const char* text : {"amqp://user:@h", "nats://u:@h", "redis://:@h", "kafka://user:@h"}) {
    const Status status = ParseAuthority(Parsed(text), 1).error();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr("the password in the address is empty"));
    EXPECT_THAT(status.hint(), HasSubstr("password_env"));
  }
  EXPECT_OK(ParseAuthority(Parsed("amqp://user@h"), 1));
}

// --- OptionReader ---

TEST(OptionReader, KnowsAValueThatIsGivenAndEmpty) {
  const SinkUri uri = Parsed("x:?creds=&nkey=file");
  OptionReader options(uri);
  EXPECT_EQ(options.NotEmpty("nkey"), "file");
  EXPECT_EQ(options.NotEmpty("absent"), "");
  EXPECT_EQ(options.NotEmpty("creds"), "");
  EXPECT_THAT(options.Finish().message(), HasSubstr("creds: is empty"));
  EXPECT_THAT(options.Finish().hint(), HasSubstr("give creds a value or leave it out"));
}

TEST(BodyOption, HasTheSameWordsForAllBuses) {
  const auto read = [](const std::string& text) {
    const SinkUri uri = Parsed(text);
    OptionReader options(uri);
    (void)ReadBody(options);
    return options.Finish();
  };
  for (const char* word : {"plain", "envelope", "cloudevents"}) {
    EXPECT_OK(read(base::StrCat("x:?body=", word)));
  }
  EXPECT_THAT(read("x:?body=binary").message(),
              HasSubstr("body: 'binary' is not one of plain, envelope, cloudevents"));
}

TEST(OptionReader, ReadsEachKind) {
  const SinkUri uri = Parsed("x:?text=a&flag=true&number=7&wait=2s&size=big&kafka.acks=all");
  OptionReader options(uri);
  EXPECT_EQ(options.Text("text", ""), "a");
  EXPECT_EQ(options.Text("absent", "b"), "b");
  EXPECT_TRUE(options.Flag("flag", false));
  EXPECT_EQ(options.Number("number", 1, 1, 10), 7u);
  EXPECT_EQ(options.Duration("wait", std::chrono::seconds(1), std::chrono::seconds(1),
                             std::chrono::minutes(1)),
            std::chrono::seconds(2));
  EXPECT_EQ(options.Choice("size", 0, {{"small", 1}, {"big", 2}}), 2);
  EXPECT_THAT(options.Prefixed("kafka."), Contains(Pair("acks", "all")));
  EXPECT_OK(options.Finish());
}

TEST(OptionReader, NamesEveryProblemAtOnce) {
  const SinkUri uri = Parsed("x:?flag=perhaps&number=11&wait=soon&size=huge&key={topc}&nmber=1");
  OptionReader options(uri);
  options.Flag("flag", false);
  options.Number("number", 1, 1, 10);
  options.Duration("wait", std::chrono::seconds(1), std::chrono::seconds(1),
                   std::chrono::minutes(1));
  options.Choice("size", 0, {{"small", 1}, {"big", 2}});
  options.Template("key", "{topic}");
  EXPECT_THAT(
      options.Finish().message(),
      AllOf(HasSubstr("flag: 'perhaps' is not one of true, false"),
            HasSubstr("number: '11' is not a number between 1 and 10"),
            HasSubstr("wait: 'soon' is not a duration between 1s and 1m; write it like 30s"),
            HasSubstr("size: 'huge' is not one of small, big"), HasSubstr("did you mean {topic}?"),
            HasSubstr("there is no option 'nmber' (did you mean 'number'?)")));
}

TEST(OptionReader, RefusesAnOptionThatIsGivenTwice) {
  const SinkUri uri = Parsed("x:?text=a&text=b&kafka.x=1&kafka.x=2");
  OptionReader options(uri);
  options.Text("text", "");
  options.Prefixed("kafka.");
  EXPECT_EQ(options.Finish().message(), "the x: sink: text: is given twice");
}

TEST(OptionReader, SaysWhenThereAreNoOptions) {
  const SinkUri uri = Parsed("x:?text=a");
  EXPECT_EQ(OptionReader(uri).Finish().hint(), "x: has no options");
}

TEST(OptionReader, TakesSecretsFromEnvironmentAndFile) {
  const testing::TempFolder folder;
  std::ofstream(folder.File("secret")) << "from file\n";
  setenv("OUTBOX_TEST_SECRET", "from environment", 1);
  const auto read = [](const std::string& text) {
    const SinkUri uri = Parsed(text);
    OptionReader options(uri);
    const std::string secret = options.Secret("password");
    const Status status = options.Finish();
    return status.ok() ? secret : status.message();
  };
  EXPECT_EQ(read("x:?password=plain"), "plain");
  EXPECT_EQ(read("x:?password_env=OUTBOX_TEST_SECRET"), "from environment");
  EXPECT_EQ(read("x:?password_file=" + folder.File("secret")), "from file");
  EXPECT_THAT(read("x:?password_env=OUTBOX_ABSENT"), HasSubstr("the environment has no"));
  EXPECT_THAT(read("x:?password_file=/absent"), HasSubstr("can not read /absent"));
  setenv("OUTBOX_TEST_SECRET", "", 1);
  std::ofstream(folder.File("empty")) << "\n";
  EXPECT_THAT(read("x:?password="), HasSubstr("password: is empty"));
  EXPECT_THAT(read("x:?password_env=OUTBOX_TEST_SECRET"),
              HasSubstr("password_env: OUTBOX_TEST_SECRET is empty"));
  EXPECT_THAT(read("x:?password_file=" + folder.File("empty")), HasSubstr("is empty"));
  EXPECT_THAT(read("x:?password=hunter2&password_env=OUTBOX_TEST_SECRET"),
              AllOf(HasSubstr("give one of"), Not(HasSubstr("hunter2"))));
}

// --- TextTemplate ---

TEST(TextTemplate, PutsFieldsIn) {
  Message message;
  message.topic = "a.b.c.v1";
  message.key = "k";
  EXPECT_EQ(TextTemplate::Parse("x.{topic}.{key}{tenant_id}.{{y}}")->Render(message),
            "x.a.b.c.v1.k.{y}");
}

TEST(TextTemplate, ShowsWhatStandsBetweenTheFields) {
  EXPECT_EQ(TextTemplate::Parse("a b/{topic}{{")->Sample(), "a b/x{");
  EXPECT_EQ(TextTemplate::Parse("")->Sample(), "");
}

TEST(TextTemplate, NamesWhatItDoesNotKnow) {
  const Status status = TextTemplate::Parse("{tpoic}").error();
  EXPECT_THAT(status.message(), HasSubstr("{tpoic}"));
  EXPECT_THAT(status.hint(), HasSubstr("{topic}"));
  EXPECT_FALSE(TextTemplate::Parse("{topic").ok());
  EXPECT_FALSE(TextTemplate::Parse("topic}").ok());
}

// --- DeliveryHeaders ---

TEST(DeliveryHeaders, CarryTheMetadataAndTheProducersHeaders) {
  Message message;
  message.id = Uuid::NewV7();
  message.topic = "a.b.c.v1";
  message.seq = 3;
  message.attempt = 2;
  message.tenant_id = Uuid::NewV7();
  message.headers = {{"traceparent", "00-1-2-01"}, {"x", "é"}, {"outbox-attempt", "99"}};
  const Headers headers = DeliveryHeaders(message);
  EXPECT_THAT(headers, Contains(Pair("outbox-id", message.id.ToString())));
  EXPECT_THAT(headers, Contains(Pair("outbox-topic", "a.b.c.v1")));
  EXPECT_THAT(headers, Contains(Pair("outbox-seq", "3")));
  EXPECT_THAT(headers, Contains(Pair("outbox-attempt", "2")));
  EXPECT_THAT(headers, Contains(Pair("outbox-tenant-id", message.tenant_id->ToString())));
  EXPECT_THAT(headers, Contains(Pair("traceparent", "00-1-2-01")));
  EXPECT_THAT(headers, Contains(Pair("x", "é")));
  EXPECT_THAT(headers, Not(Contains(Pair("outbox-attempt", "99"))));
  EXPECT_THAT(headers, Not(Contains(Pair("outbox-key", ""))));
}

}  // namespace
}  // namespace outbox::sink
