#include "sink/registry.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "sink/amqp/options.h"
#include "sink/http/options.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SinkUri, IsTakenApart) {
  const auto uri = SinkUri::Parse("File:/tmp/a%20b.jsonl?fsync=never&x=%26");
  ASSERT_OK(uri);
  EXPECT_EQ(uri->scheme, "file");
  EXPECT_EQ(uri->target, "/tmp/a%20b.jsonl");
  const std::vector<std::pair<std::string, std::string>> options{{"fsync", "never"}, {"x", "&"}};
  EXPECT_EQ(uri->options, options);
}

TEST(SinkUri, DecodesOnlyWholeEscapes) {
  EXPECT_EQ(PercentDecode("a%41%4"), "aA%4");
  EXPECT_EQ(PercentDecode("100%zz%"), "100%zz%");
}

// By scheme, an address and the sink's name.
const std::map<std::string_view, std::pair<const char*, const char*>>& Examples() {
  static const std::map<std::string_view, std::pair<const char*, const char*>> examples{
      {"stdout", {"stdout:", "stdout"}},
      {"null", {"null:", "null"}},
      {"file", {"file:out.jsonl", "file"}},
      {"amqp", {"amqp://h/?exchange=x", "rabbitmq"}},
      {"amqps", {"amqps://h/?exchange=x", "rabbitmq"}},
      {"http", {"http://hooks.example/x", "http"}},
      {"https", {"https://hooks.example/x?a=1&wait", "http"}},
      {"kafka", {"kafka://h:9092", "kafka"}},
      {"nats", {"nats://h", "nats"}},
      {"natss", {"natss://h", "nats"}},
      {"redis", {"redis://h", "redis"}},
      {"rediss", {"rediss://h", "redis"}},
  };
  return examples;
}

TEST(SinkRegistry, MakesEverySinkItLists) {
  for (const SinkKind& kind : SinkKinds()) {
    const auto example = Examples().find(kind.scheme);
    ASSERT_NE(example, Examples().end()) << kind.scheme;
    const auto sink = OpenSink(example->second.first);
    ASSERT_OK(sink);
    EXPECT_EQ((*sink)->name(), example->second.second);
  }
}

// The schemes in the first column of the page's table.
std::set<std::string> DocumentedSchemes() {
  std::ifstream page(OUTBOX_DOCS "/reference/sinks/README.md");
  const std::regex scheme("`([a-z]+):(//)?`");
  std::set<std::string> schemes;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ")) continue;
    const std::string cell = line.substr(0, line.find('|', 1));
    for (std::sregex_iterator at(cell.begin(), cell.end(), scheme), end; at != end; ++at) {
      schemes.insert((*at)[1]);
    }
  }
  return schemes;
}

TEST(SinkRegistry, ListsExactlyTheSchemesOfTheDocs) {
  std::set<std::string> schemes;
  for (const SinkKind& kind : SinkKinds()) {
    schemes.emplace(kind.scheme);
    EXPECT_THAT(std::string(kind.usage), ::testing::StartsWith(std::string(kind.scheme) + ":"));
  }
  EXPECT_THAT(DocumentedSchemes(), ::testing::ContainerEq(schemes));
}

TEST(SinkRegistry, NamesTheNearestSchemeAndListsTheRest) {
  const Status status = OpenSink("stduot:").error();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'stduot:'"));
  EXPECT_THAT(status.hint(), HasSubstr("did you mean 'stdout:'?"));
  EXPECT_THAT(status.hint(), HasSubstr("file:PATH"));
  for (const auto& [typed, meant] : std::map<std::string, std::string>{{"ampq://h", "amqp:"},
                                                                       {"amqpss://h", "amqps:"},
                                                                       {"htps://h", "https:"},
                                                                       {"kafak://h", "kafka:"},
                                                                       {"natts://h", "nats:"},
                                                                       {"reddis://h", "redis:"}}) {
    EXPECT_THAT(OpenSink(typed).error().hint(), HasSubstr("did you mean '" + meant + "'?"));
  }
  // What resembles none is not guessed at.
  EXPECT_THAT(OpenSink("mqtt-bridge://h").error().hint(), Not(HasSubstr("did you mean")));
}

TEST(SinkRegistry, NeverRepeatsAPasswordInItsErrors) {
  for (const char* uri : {"gopher://user:hunter2@host/", "hunter2", "file:x?hunter2", ":hunter2"}) {
    const Status status = OpenSink(uri).error();
    EXPECT_FALSE(status.ok()) << uri;
    EXPECT_THAT(status.ToString() + status.hint(), Not(HasSubstr("hunter2")));
  }
}

TEST(SinkRegistry, EverySinkSaysTheSameOfAFileForTls) {
  for (const auto& [address, prefix] :
       std::map<std::string, std::string>{{"amqps://h/?exchange=x&", ""},
                                          {"https://h/?", "outbox."},
                                          {"kafka://h?tls=true&", ""},
                                          {"natss://h?", ""},
                                          {"rediss://h?", ""}}) {
    for (const std::string option : {"tls_ca", "tls_cert"}) {
      const Status status = OpenSink(address + prefix + option + "=/no/such.pem").error();
      EXPECT_EQ(status.code(), Code::kInvalidArgument) << address;
      EXPECT_THAT(status.message(), HasSubstr(" sink: " + prefix + option +
                                              ": can not read /no/such.pem: No such file"));
      EXPECT_EQ(status.hint(), "it must be a PEM file that this user may read") << address;
    }
  }
}

TEST(SinkRegistry, RefusesWhatASinkDoesNotTake) {
  for (const char* uri : {"stdout:x", "null:x", "null:?a=b", "file:", "file://host/x",
                          "file:x?fsnyc=always", "file:x?fsync=perhaps"}) {
    EXPECT_THAT(OpenSink(uri), HasCode(Code::kInvalidArgument)) << uri;
  }
  EXPECT_THAT(OpenSink("file:x?fsnyc=always").error().message(),
              HasSubstr("did you mean 'fsync'?"));
}

TEST(SinkRegistry, ADefaultHoldsWhereTheAddressDoesNotSay) {
  const auto given = [](const char* address, const OptionDefaults& defaults) {
    return WithDefaults(SinkUri::Parse(address).value(), defaults);
  };
  const OptionDefaults both{.body = "envelope", .mandatory = "false"};
  for (const char* scheme : {"amqp", "amqps"}) {
    const auto amqp = ReadAmqpOptions(given((std::string(scheme) + "://h").c_str(), both));
    ASSERT_OK(amqp);
    EXPECT_EQ(amqp->body, message::BodyFormat::kEnvelope);
    EXPECT_FALSE(amqp->mandatory);
  }
  const auto amqp = ReadAmqpOptions(given("amqp://h?body=plain&mandatory=true", both));
  ASSERT_OK(amqp);
  EXPECT_EQ(amqp->body, message::BodyFormat::kPlain);
  EXPECT_TRUE(amqp->mandatory);
  EXPECT_TRUE(ReadAmqpOptions(given("amqp://h", {}))->mandatory);

  for (const char* scheme : {"http", "https"}) {
    const auto http = ReadHttpOptions(given((std::string(scheme) + "://h/?body=x").c_str(), both));
    ASSERT_OK(http);
    EXPECT_EQ(http->body.format, message::BodyFormat::kEnvelope);
    EXPECT_THAT(http->url, ::testing::EndsWith("://h/?body=x")) << "the receiver's own";
  }
  const auto http = ReadHttpOptions(given("https://h?outbox.body=binary", both));
  ASSERT_OK(http);
  EXPECT_TRUE(http->body.binary);
  EXPECT_EQ(ReadHttpOptions(given("https://h", {}))->body.format,
            message::BodyFormat::kCloudEvents);
}

TEST(SinkRegistry, EveryKindTakesADefaultOrLeavesIt) {
  for (const SinkKind& kind : SinkKinds()) {
    const auto found = Examples().find(kind.scheme);
    ASSERT_NE(found, Examples().end()) << kind.scheme;
    for (const char* body : {"plain", "envelope", "cloudevents"}) {
      EXPECT_OK(OpenSink(found->second.first, {}, {.body = body, .mandatory = "false"}));
    }
  }
  EXPECT_THAT(OpenSink("redis://h?stream=s", {}, {.body = "enveloppe"}).error().message(),
              HasSubstr("body: 'enveloppe' is not one of plain, envelope, cloudevents"));
}

}  // namespace
}  // namespace outbox::sink
