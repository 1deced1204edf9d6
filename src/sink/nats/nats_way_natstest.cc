// The way to a NATS server, which greets in the clear before TLS begins.
#include "sink/nats/nats_sink.h"
#include "tests/conformance/nats_server.h"
#include "tests/support/chatterbox.h"
#include "tests/support/matchers.h"
#include "tests/support/probe_steps.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using testing::NatsServer;
using testing::ProbeSteps;

Result<Way> WayOf(const std::string& uri) { return NatsWay(SinkUri::Parse(uri).value()); }

TEST(NatsWay, LeadsThroughTlsAfterTheGreeting) {
  OUTBOX_REQUIRE_PROGRAM("nats-server");
  OUTBOX_REQUIRE_PROGRAM("openssl");
  const auto server = NatsServer::StartWithTls();
  ASSERT_NE(server, nullptr);
  const std::string address = base::StrCat("natss://app:secret@localhost:", server->port());
  const ProbeSteps steps(WayOf(address + "?tls_ca=" + server->ca_file()));
  EXPECT_OK(steps.status);
  EXPECT_THAT(steps.ok.at("tls"), HasSubstr("by outbox test authority until 20"));

  const ProbeSteps unknown(WayOf(address));
  EXPECT_EQ(unknown.failed, "tls");
  EXPECT_THAT(unknown.status.hint(), HasSubstr("tls_ca=FILE"));
}

TEST(NatsWay, AServerWithoutTlsIsNamed) {
  OUTBOX_REQUIRE_PROGRAM("nats-server");
  const auto server = NatsServer::Start();
  ASSERT_NE(server, nullptr);
  const ProbeSteps steps(WayOf("natss://app:secret@" + server->address()));
  EXPECT_EQ(steps.failed, "tls");
  EXPECT_THAT(steps.status.message(), HasSubstr("the server has no TLS"));
  EXPECT_THAT(steps.status.hint(), HasSubstr("write nats:"));
  EXPECT_OK(ProbeSteps(WayOf("nats://app:secret@" + server->address())).status);
}

TEST(NatsWay, AnotherServerIsToldByItsGreeting) {
  const testing::Chatterbox mail("220 mail.example ESMTP\r\n");
  const ProbeSteps steps(WayOf(base::StrCat("natss://127.0.0.1:", mail.port())));
  EXPECT_EQ(steps.failed, "tls");
  EXPECT_THAT(steps.status.message(), HasSubstr("does not greet as a NATS server does"));
  EXPECT_THAT(steps.status.hint(), HasSubstr("is this the port for clients?"));

  const testing::Listener silent;
  const Status status = Probe(*WayOf("natss://h"), {"127.0.0.1", silent.port()},
                              Deadline::After(std::chrono::seconds(2)));
  EXPECT_THAT(status, HasCode(Code::kDeadline));
  EXPECT_THAT(status.hint(), HasSubstr("is this the port for clients?"));
}

}  // namespace
}  // namespace outbox::sink
