#include "sink/registry.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sink/amqp/options.h"
#include "sink/http/options.h"
#include "sink/option_table.h"
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
  // A batch is CloudEvents: an address that asks for one says what a body is.
  const auto batch = ReadHttpOptions(given("https://h?outbox.batch=true", both));
  ASSERT_OK(batch);
  EXPECT_EQ(batch->body.format, message::BodyFormat::kCloudEvents);
  EXPECT_EQ(ReadHttpOptions(given("https://h?outbox.batch=false", both))->body.format,
            message::BodyFormat::kEnvelope);
  EXPECT_FALSE(ReadHttpOptions(given("https://h?outbox.batch=true&outbox.body=envelope", {})).ok());
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

// What the sink says it knows when it is given an option that it does not.
std::set<std::string> OptionsRead(const std::string& address, std::string_view unknown) {
  const char* const join = address.find('?') == std::string::npos ? "?" : "&";
  const std::string hint = OpenSink(base::StrCat(address, join, unknown, "=1")).error().hint();
  const std::string start = "options of ";
  std::set<std::string> read;
  const std::size_t at = hint.find(start);
  if (at == std::string::npos) return read;
  for (const std::string& name : base::Split(hint.substr(hint.find(": ", at) + 2), ',')) {
    read.emplace(base::Trim(name));
  }
  return read;
}

TEST(OptionTable, HasExactlyTheOptionsThatSinksRead) {
  for (const SinkKind& kind : SinkKinds()) {
    std::string address = Examples().at(kind.scheme).first;
    if (kind.scheme == "kafka") address += "?tls=true";
    const bool web = kind.scheme.starts_with("http");
    std::set<std::string> in_table;
    for (const KnownOption& option : OptionsOf(kind.scheme)) {
      in_table.emplace(option.name);
      if (option.view == base::OptionView::kShown) continue;
      for (const char* source : {"_env", "_file"}) {
        in_table.insert(base::StrCat(option.name, source));
      }
    }
    EXPECT_EQ(OptionsRead(address, web ? "outbox.no_such" : "no_such"), in_table) << kind.scheme;
  }
}

// Each option set to a marker, beside the same misspelt: only what is known is shown.
TEST(OptionTable, MasksEverySecretAndWhateverIsNotKnown) {
  for (const SinkKind& kind : SinkKinds()) {
    const std::string address = base::StrCat(kind.scheme, "://h/?");
    const auto shown = [&](std::string_view option) {
      return MaskSinkAddress(base::StrCat(address, option, "=MARKER")).find("MARKER") !=
             std::string::npos;
    };
    for (const KnownOption& option : OptionsOf(kind.scheme)) {
      const bool secret = option.view == base::OptionView::kHidden;
      EXPECT_EQ(shown(option.name), !secret) << kind.scheme << " " << option.name;
      EXPECT_EQ(shown(base::StrCat(option.name, "_env")), option.view != base::OptionView::kShown)
          << "of a secret, where it is";
      EXPECT_FALSE(shown(base::StrCat(option.name, "x"))) << option.name;
      EXPECT_FALSE(shown(option.name.substr(1))) << option.name;
      std::string twisted(option.name);
      std::swap(twisted[twisted.size() - 1], twisted[twisted.size() - 2]);
      EXPECT_EQ(shown(twisted), !secret && twisted == option.name) << twisted;
    }
    for (const char* option :
         {"outbox.header.X-Any", "outbox.baerer", "outbox.bearer_evn", "kafka.ssl.key.pem",
          "kafka.ssl.key.password", "kafka.sasl.oauthbearer.config", "kafka.no.such", "sig",
          "passwrd", "Password", ""}) {
      EXPECT_FALSE(shown(option)) << kind.scheme << " " << option;
    }
  }
  EXPECT_EQ(MaskSinkAddress("https://h/?outbox.header.X-Api-Key_env=NAME&outbox.bearer_file=/a"),
            "https://h/?outbox.header.X-Api-Key_env=NAME&outbox.bearer_file=/a");
  EXPECT_EQ(MaskSinkAddress("kafka://h?kafka.linger.ms=5&kafka.ssl.key.pem=x"),
            "kafka://h?kafka.linger.ms=5&kafka.ssl.key.pem=***");
  EXPECT_EQ(MaskSinkAddress("kafkas://h?kafka.linger.ms=5"), "kafkas://h?kafka.linger.ms=***");
  EXPECT_EQ(MaskSinkAddress("https://h/?outbox.proxy=http%3A%2F%2Fu%3Apw%40p%3A1"),
            "https://h/?outbox.proxy=http://***@p:1");
}

TEST(OptionTable, NoErrorOfASinkQuotesASecret) {
  for (const SinkKind& kind : SinkKinds()) {
    const std::string address = base::StrCat(kind.scheme, "://h:1/?");
    std::vector<std::string> options{"no.such",
                                     "outbox.baerer",
                                     "outbox.header.X-Any",
                                     "outbox.header.Host",
                                     "kafka.ssl.key.pem",
                                     "kafka.sasl.oauthbearer.config",
                                     "kafka.ssl.key.password",
                                     "kafka.sasl.kerberos.kinit.cmd",
                                     "kafka.no.such"};
    for (const KnownOption& option : OptionsOf(kind.scheme)) {
      if (option.view != base::OptionView::kShown) options.emplace_back(option.name);
    }
    for (const std::string& option : options) {
      // A value that many refuse, alone and where TLS and SASL are on.
      for (const char* more : {"", "&tls=true", "&tls=true&sasl=OAUTHBEARER",
                               "&tls=true&sasl=GSSAPI", "&window=x&outbox.batch_max=x&timeout=x"}) {
        const Status status =
            OpenSink(base::StrCat(address, option, "=MARKER%7F%25%7Bx%7D", more)).error();
        EXPECT_THAT(status.ToString() + status.hint(), Not(HasSubstr("MARKER")))
            << kind.scheme << " " << option << more;
      }
    }
  }
}

}  // namespace
}  // namespace outbox::sink
