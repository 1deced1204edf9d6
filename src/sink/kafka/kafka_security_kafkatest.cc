// Logging in and TLS. librdkafka's mock cluster knows neither, so a broker that answers no more
// than it takes to log in stands in for one, and openssl's server for the TLS of another.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/text.h"
#include "sink/kafka/kafka_sink.h"
#include "sink/kafka/options.h"
#include "tests/support/certificates.h"
#include "tests/support/listener.h"
#include "tests/support/matchers.h"
#include "tests/support/mock_kafka.h"
#include "tests/support/probe_steps.h"
#include "tests/support/server.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

// Big-endian numbers and the strings of Kafka's protocol.
class Answer {
 public:
  Answer& Number(std::int64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      bytes_ += static_cast<char>((value >> shift) & 0xFF);
    }
    return *this;
  }
  Answer& Text(std::string_view text) {
    Number(static_cast<std::int64_t>(text.size()), 2);
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Lets in who says `login` ("\0user\0password") by the mechanism PLAIN, and tells it that there
// is one broker, itself, and no topic.
class LoginBroker {
 public:
  explicit LoginBroker(std::string login) : login_(std::move(login)) {
    server_ = std::thread([this] { Serve(); });
  }
  ~LoginBroker() {
    stopped_ = true;
    listener_.Shutdown();
    server_.join();
  }
  LoginBroker(const LoginBroker&) = delete;
  LoginBroker& operator=(const LoginBroker&) = delete;

  int port() const { return listener_.port(); }
  int logins() const { return logins_; }

 private:
  enum Api : int { kMetadata = 3, kSaslHandshake = 17, kApiVersions = 18, kSaslAuthenticate = 36 };

  void Serve() {
    std::vector<std::thread> connections;
    while (!stopped_) {
      const int connection = listener_.Accept();
      if (connection < 0) break;
      // A client that is silent is no reason to stay.
      const timeval limit{.tv_sec = 10, .tv_usec = 0};
      setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
      connections.emplace_back([this, connection] {
        while (AnswerOne(connection)) continue;
        close(connection);
      });
    }
    for (std::thread& connection : connections) connection.join();
  }

  static bool Read(int connection, std::string& bytes) {
    return recv(connection, bytes.data(), bytes.size(), MSG_WAITALL) ==
           static_cast<ssize_t>(bytes.size());
  }
  static int NumberAt(const std::string& bytes, std::size_t at, int count) {
    int number = 0;
    for (int i = 0; i < count; ++i) number = number << 8 | static_cast<unsigned char>(bytes[at++]);
    return number;
  }

  bool AnswerOne(int connection) {
    std::string size(4, '\0');
    if (!Read(connection, size)) return false;
    // What is larger is no request: TLS, for instance.
    const int request_bytes = NumberAt(size, 0, 4);
    if (request_bytes < 10 || request_bytes > 65536) return false;
    std::string request(static_cast<std::size_t>(request_bytes), '\0');
    if (!Read(connection, request)) return false;
    Answer answer;
    answer.Number(NumberAt(request, 4, 4), 4);  // the request's number
    // Its header ends with the client's name.
    const std::size_t body = 10 + static_cast<std::size_t>(NumberAt(request, 8, 2));
    Fill(NumberAt(request, 0, 2), NumberAt(request, 2, 2), request.substr(body), answer);
    const std::string bytes =
        Answer().Number(static_cast<std::int64_t>(answer.bytes().size()), 4).bytes() +
        answer.bytes();
    return send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  void Fill(int api, int version, const std::string& body, Answer& answer) {
    constexpr int kUnsupportedVersion = 35;
    constexpr int kUnsupportedMechanism = 33;
    constexpr int kAuthenticationFailed = 58;
    switch (api) {
      case kApiVersions: {
        answer.Number(version == 0 ? 0 : kUnsupportedVersion, 2).Number(4, 4);
        for (const auto& [key, latest] : std::initializer_list<std::pair<int, int>>{
                 {kMetadata, 1}, {kSaslHandshake, 1}, {kApiVersions, 0}, {kSaslAuthenticate, 0}}) {
          answer.Number(key, 2).Number(0, 2).Number(latest, 2);
        }
        return;
      }
      case kSaslHandshake: {
        const bool plain = body.substr(2) == "PLAIN";
        answer.Number(plain ? 0 : kUnsupportedMechanism, 2).Number(1, 4).Text("PLAIN");
        return;
      }
      case kSaslAuthenticate: {
        const bool known = body.substr(4) == login_;
        if (known) ++logins_;
        answer.Number(known ? 0 : kAuthenticationFailed, 2);
        answer.Text(known ? "" : "Authentication failed: Invalid username or password");
        answer.Number(0, 4);
        return;
      }
      case kMetadata:
        answer.Number(1, 4).Number(1, 4).Text("127.0.0.1").Number(port(), 4).Number(-1, 2);
        answer.Number(1, 4).Number(0, 4);
        return;
      default: return;
    }
  }

  const std::string login_;
  const testing::Listener listener_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> logins_ = 0;
  std::thread server_;
};

Status OpenKafka(const std::string& uri, std::chrono::milliseconds wait = 20s) {
  const auto sink = MakeKafkaSink(SinkUri::Parse(uri).value());
  return sink.ok() ? (*sink)->Open(Deadline::After(wait)) : sink.error();
}

TEST(KafkaLogin, PlainGetsInWithTheRightPasswordOnly) {
  using namespace std::string_literals;
  const LoginBroker broker("\0alice\0s3cret"s);
  const std::string host = StrCat("@127.0.0.1:", broker.port());
  EXPECT_OK(OpenKafka("kafka://alice:s3cret" + host));
  EXPECT_GE(broker.logins(), 1);

  const int before = broker.logins();
  const Status wrong = OpenKafka("kafka://alice:hunter2" + host);
  EXPECT_EQ(wrong.code(), Code::kPermission) << wrong.ToString();
  EXPECT_EQ(wrong.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(wrong.message(), HasSubstr("Invalid username or password"));
  EXPECT_THAT(wrong.hint(), HasSubstr("user, password and the option sasl"));
  EXPECT_THAT(wrong.ToString() + wrong.hint(), Not(HasSubstr("hunter2")));
  EXPECT_EQ(broker.logins(), before);
}

TEST(KafkaLogin, AMechanismTheBrokerDoesNotHaveIsNamed) {
  const LoginBroker broker("");
  const Status status =
      OpenKafka(StrCat("kafka://alice:hunter2@127.0.0.1:", broker.port(), "?sasl=SCRAM-SHA-256"));
  EXPECT_EQ(status.code(), Code::kPermission) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("SCRAM-SHA-256"));
  EXPECT_THAT(status.hint(), HasSubstr("the option sasl"));
  EXPECT_THAT(status.ToString() + status.hint(), Not(HasSubstr("hunter2")));
}

Result<Way> WayOf(const std::string& uri) { return KafkaWay(SinkUri::Parse(uri).value()); }

class KafkaTls : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_PROGRAM("openssl");
    ASSERT_TRUE(certificates_.ok());
    server_ = testing::Server::Start(
        {.command = {"openssl", "s_server", "-accept", "127.0.0.1:{port}", "-quiet", "-cert",
                     certificates_.File("server.pem"), "-key", certificates_.File("server.key")}});
    ASSERT_NE(server_, nullptr);
  }
  std::string Uri(const std::string& host, const std::string& options) const {
    return StrCat("kafka://alice:hunter2@", host, ":", server_->port(), "?tls=true", options);
  }
  std::string Ca() const { return "&tls_ca=" + certificates_.File("ca.pem"); }
  static void ExpectRefused(const std::string& uri, const std::string& message,
                            const std::string& hint) {
    const Status status = OpenKafka(uri);
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_THAT(status.hint(), HasSubstr(hint)) << status.ToString();
    EXPECT_THAT(status.ToString() + status.hint(), Not(HasSubstr("hunter2")));
  }

  const testing::Certificates certificates_;
  std::unique_ptr<testing::Server> server_;
};

TEST_F(KafkaTls, AnAuthorityThatIsNotTrustedIsRefused) {
  ExpectRefused(Uri("localhost", ""), "certificate verify failed", "tls_ca");
  const testing::Certificates other;
  ExpectRefused(Uri("localhost", "&tls_ca=" + other.File("ca.pem")), "certificate verify failed",
                "tls_ca");
}

TEST_F(KafkaTls, ACertificateForAnotherHostIsRefused) {
  // 127.0.0.1 in a spelling that the certificate does not have.
  ExpectRefused(Uri("127.1", Ca()), "certificate verify failed", "must name the host");
}

// The control: who is trusted gets past TLS, to a server that then says nothing.
TEST_F(KafkaTls, AServerThatIsTrustedIsSpokenTo) {
  const Status status = OpenKafka(Uri("localhost", Ca()), 2s);
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(status.ToString(), Not(HasSubstr("certificate")));
}

TEST_F(KafkaTls, ABrokerWithoutTlsIsNamed) {
  const LoginBroker broker("");
  ExpectRefused(StrCat("kafka://alice:hunter2@127.0.0.1:", broker.port(), "?tls=true"),
                "SSL_HANDSHAKE", "leave out tls=true");
}

TEST_F(KafkaTls, ABrokerThatWantsTlsIsNamed) {
  const std::string address = StrCat("kafka://localhost:", server_->port());
  ExpectRefused(address, "SSL listener", "add tls=true");
  EXPECT_TRUE(testing::SpeaksTls(WayOf(address)));
}

TEST_F(KafkaTls, AProbeGoesThroughTls) {
  const testing::ProbeSteps good(WayOf(Uri("localhost", Ca())));
  EXPECT_OK(good.status);
  EXPECT_THAT(good.ok.at("tls"), HasSubstr("by outbox test authority until 20"));
  const testing::ProbeSteps unknown(WayOf(Uri("localhost", "")));
  EXPECT_EQ(unknown.failed, "tls");
  EXPECT_THAT(unknown.status.hint(), HasSubstr("tls_ca=FILE"));
  // Whom librdkafka is told to trust in its own words, a probe does not know.
  const testing::ProbeSteps special(WayOf(Uri("localhost", "&kafka.ssl.cipher.suites=HIGH")));
  EXPECT_OK(special.status);
  EXPECT_THAT(special.ok.at("tls"), HasSubstr("not verified"));
}

TEST_F(KafkaTls, EveryOptionReachesTheClient) {
  const auto options = ReadKafkaOptions(
      SinkUri::Parse(Uri("localhost",
                         Ca() + "&sasl=SCRAM-SHA-256&tls_cert=" + certificates_.File("client.pem") +
                             "&tls_key=" + certificates_.File("client.key") +
                             "&kafka.ssl.sigalgs.list=ECDSA%2BSHA256"))
          .value());
  ASSERT_OK(options);
  for (const auto& [property, value] : std::map<std::string, std::string>{
           {"security.protocol", "sasl_ssl"},
           {"sasl.mechanisms", "SCRAM-SHA-256"},
           {"sasl.username", "alice"},
           {"sasl.password", "hunter2"},
           {"ssl.ca.location", certificates_.File("ca.pem")},
           {"ssl.certificate.location", certificates_.File("client.pem")},
           {"ssl.key.location", certificates_.File("client.key")},
           {"ssl.sigalgs.list", "ECDSA+SHA256"}}) {
    std::array<char, 256> text{};
    std::size_t size = text.size();
    EXPECT_EQ(rd_kafka_conf_get(options->conf.get(), property.c_str(), text.data(), &size),
              RD_KAFKA_CONF_OK);
    EXPECT_EQ(std::string(text.data()), value) << property;
  }
}

}  // namespace
}  // namespace outbox::sink
