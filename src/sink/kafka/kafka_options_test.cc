#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "base/text.h"
#include "sink/kafka/options.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Result<KafkaOptions> Read(const std::string& text) {
  return ReadKafkaOptions(SinkUri::Parse(text).value());
}

std::string Property(const KafkaOptions& options, const char* name) {
  std::array<char, 256> text{};
  std::size_t size = text.size();
  if (rd_kafka_conf_get(options.conf.get(), name, text.data(), &size) != RD_KAFKA_CONF_OK) {
    return "(none)";
  }
  return text.data();
}

TEST(KafkaOptions, DefaultsConfirmByAllReplicasAndVerifyNothingAway) {
  const auto options = Read("kafka://b1,b2:9093");
  ASSERT_OK(options);
  EXPECT_EQ(options->servers, "b1:9092,b2:9093");
  EXPECT_EQ(Property(*options, "acks"), "-1");
  EXPECT_EQ(Property(*options, "enable.idempotence"), "true");
  EXPECT_EQ(Property(*options, "message.timeout.ms"), "20000");
  EXPECT_EQ(Property(*options, "security.protocol"), "plaintext");
  EXPECT_EQ(options->batch_bytes, 131072u);
  Message message;
  message.topic = "orders.v1";
  EXPECT_EQ(options->topic.Render(message), "orders.v1");
}

TEST(KafkaOptions, AUserMeansSaslAndTlsIsVerified) {
  const auto options = Read("kafka://alice:s3cret@b1?tls=true&sasl=SCRAM-SHA-512");
  ASSERT_OK(options);
  EXPECT_EQ(Property(*options, "security.protocol"), "sasl_ssl");
  EXPECT_EQ(Property(*options, "sasl.mechanisms"), "SCRAM-SHA-512");
  EXPECT_EQ(Property(*options, "sasl.username"), "alice");
  EXPECT_EQ(Property(*options, "sasl.password"), "s3cret");
  EXPECT_EQ(Property(*options, "enable.ssl.certificate.verification"), "true");
  EXPECT_EQ(Property(*options, "ssl.endpoint.identification.algorithm"), "https");
  EXPECT_EQ(Property(*Read("kafka://alice:x@b1"), "security.protocol"), "sasl_plaintext");
}

TEST(KafkaOptions, ThePasswordMayBeInTheEnvironment) {
  setenv("OUTBOX_TEST_KAFKA_PASSWORD", "from env", 1);
  const auto options = Read("kafka://alice@b1?password_env=OUTBOX_TEST_KAFKA_PASSWORD");
  ASSERT_OK(options);
  EXPECT_EQ(Property(*options, "sasl.password"), "from env");
}

TEST(KafkaOptions, LogsInWithoutAPasswordWhereTheMechanismHasNone) {
  const auto options = Read(
      "kafka://b1?sasl=OAUTHBEARER&kafka.enable.sasl.oauthbearer.unsecure.jwt=true"
      "&kafka.sasl.oauthbearer.config=principal%3Dshop");
  ASSERT_OK(options);
  EXPECT_EQ(Property(*options, "security.protocol"), "sasl_plaintext");
  EXPECT_EQ(Property(*options, "sasl.mechanisms"), "OAUTHBEARER");
  EXPECT_EQ(Property(*options, "sasl.oauthbearer.config"), "principal=shop");
}

TEST(KafkaOptions, AnyPropertyOfLibrdkafkaPassesThrough) {
  const auto options =
      Read("kafka://b1?kafka.compression.type=lz4&kafka.linger.ms=20&kafka.batch.size=5000");
  ASSERT_OK(options);
  EXPECT_EQ(Property(*options, "compression.type"), "lz4");
  EXPECT_EQ(Property(*options, "linger.ms"), "20");
  EXPECT_EQ(options->batch_bytes, 5000u);
}

TEST(KafkaOptions, EveryProblemIsToldAtOnce) {
  const Status status =
      Read(
          "kafka://alice:hunter2@b1/path?kafka.no.such=1&kafka.linger.ms=soon&kafka.acks=0"
          "&kafka.bootstrap.servers=b2&tpoic=x&tls_ca=/ca&body=xml")
          .error();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("kafka.no.such: No such configuration property"),
                    HasSubstr("kafka.linger.ms: "), HasSubstr("kafka.acks: without"),
                    HasSubstr("kafka.bootstrap.servers: the brokers are"),
                    HasSubstr("did you mean 'topic'?"), HasSubstr("need tls=true"),
                    HasSubstr("use ?topic="), HasSubstr("body: ")));
  EXPECT_THAT(status.message() + status.hint(), Not(HasSubstr("hunter2")));
}

TEST(KafkaOptions, NoPropertyUndoesWhatIsPromised) {
  const std::pair<const char*, const char*> cases[] = {
      {"kafka.acks=0", "kafka.acks: without acknowledgements"},
      {"kafka.acks=00", "kafka.acks: without acknowledgements"},
      {"kafka.request.required.acks=0x0", "kafka.acks: without acknowledgements"},
      {"kafka.delivery.report.only.error=true", "kafka.delivery.report.only.error: "},
      {"tls=true&kafka.security.protocol=plaintext", "kafka.security.protocol: use the option tls"},
      {"kafka.sasl.mechanism=PLAIN", "kafka.sasl.mechanism: use the option sasl"},
      {"kafka.sasl.mechanisms=GSSAPI", "kafka.sasl.mechanisms: use the option sasl"},
      {"kafka.sasl.oauthbearer.method=oidc",
       "kafka.sasl.oauthbearer.method: has no effect without sasl"},
      {"sasl=GSSAPI&password=hunter2", "password: GSSAPI knows no password"},
      {"tls=true&kafka.enable.ssl.certificate.verification=false", "use the option tls_verify"},
      {"tls=true&kafka.ssl.endpoint.identification.algorithm=none", "use the option tls_verify"},
      {"kafka.ssl.cipher.suites=HIGH", "kafka.ssl.cipher.suites: has no effect without tls=true"},
      {"kafka.debug=all", "kafka.debug: "},
      {"kafka.log_level=7", "kafka.log_level: "},
      {"kafka.log.connection.close=false", "kafka.log.connection.close: "},
      {"kafka.statistics.interval.ms=1000", "kafka.statistics.interval.ms: "},
      {"kafka.enabled_events=1", "kafka.enabled_events: "},
      {"kafka.test.mock.num.brokers=1", "kafka.test.mock.num.brokers: "},
      {"kafka.enable.idempotence=false&kafka.queuing.strategy=lifo", "kafka.queuing.strategy: "},
      {"kafka.group.id=x", "group.id is a consumer property"},
  };
  for (const auto& [options, problem] : cases) {
    const Status status = Read(base::StrCat("kafka://b1?", options)).error();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << options;
    EXPECT_THAT(status.message(), HasSubstr(problem)) << options;
  }
}

TEST(KafkaOptions, ATopicThatCanNotBeIsFoundBeforeTheStart) {
  for (const char* const topic : {"", "a/{topic}", "{topic} {key}", "..", "a%C3%A4"}) {
    const Status status = Read(base::StrCat("kafka://b1?topic=", topic)).error();
    EXPECT_THAT(status.message(), HasSubstr("topic: ")) << topic;
  }
  EXPECT_OK(Read("kafka://b1?topic={aggregate_type}-{topic}_v1"));
}

TEST(KafkaOptions, ContradictionsAreFoundBeforeTheStart) {
  EXPECT_THAT(Read("kafka://b1?kafka.acks=1").error().message(), HasSubstr("acks"));
  EXPECT_OK(Read("kafka://b1?kafka.acks=1&kafka.enable.idempotence=false"));
  EXPECT_THAT(Read("kafka://b1?tls=true&tls_ca=/no/such/file").error().message(),
              HasSubstr("tls_ca: can not read /no/such/file"));
  EXPECT_THAT(Read("kafka://b1?sasl=PLAIN"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(Read("kafka://b1?password=x"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(Read("kafka://alice:hunter2@b1?sasl=PLIAN").error().message(),
              AllOf(HasSubstr("is not one of"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(Read("kafka:"), HasCode(Code::kInvalidArgument));
}

}  // namespace
}  // namespace outbox::sink
