#include "sink/registry.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

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

TEST(SinkRegistry, MakesEverySinkItLists) {
  const std::map<std::string_view, std::pair<const char*, const char*>> examples{
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
  for (const SinkKind& kind : SinkKinds()) {
    const auto example = examples.find(kind.scheme);
    ASSERT_NE(example, examples.end()) << kind.scheme;
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

}  // namespace
}  // namespace outbox::sink
