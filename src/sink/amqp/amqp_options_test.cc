#include "base/text.h"
#include "sink/amqp/options.h"
#include "tests/support/certificates.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Result<AmqpOptions> Read(const std::string& text) {
  return ReadAmqpOptions(SinkUri::Parse(text).value());
}

TEST(AmqpOptions, HaveDefaults) {
  const auto options = Read("amqp://broker");
  ASSERT_OK(options);
  EXPECT_EQ(options->endpoints.at(0).ToString(), "broker:5672");
  EXPECT_EQ(options->user, "guest");
  EXPECT_EQ(options->password, "guest");
  EXPECT_EQ(options->vhost, "/");
  EXPECT_EQ(options->exchange, "");
  EXPECT_EQ(options->window, 1000u);
  EXPECT_EQ(options->heartbeat, std::chrono::seconds(30));
  EXPECT_TRUE(options->mandatory);
  EXPECT_TRUE(options->persistent);
  EXPECT_FALSE(options->declare);
  EXPECT_FALSE(options->tls.has_value());
  Message message;
  message.topic = "orders.created";
  EXPECT_EQ(options->routing_key.Render(message), "orders.created");
}

TEST(AmqpOptions, AreRead) {
  const testing::Certificates files;
  const auto options = Read(base::StrCat(
      "amqps://shop:s%40crt@one,two:5699/a%2Fb?exchange=orders&declare=true&type=direct&"
      "routing_key=x.{key}&mandatory=false&persistent=false&window=7&heartbeat=10s&"
      "connection_name=relay-1&body=cloudevents&tls_ca=",
      files.File("ca.pem"), "&tls_cert=", files.File("client.pem"),
      "&tls_key=", files.File("client.key")));
  ASSERT_OK(options);
  EXPECT_EQ(options->endpoints.at(0).ToString(), "one:5671");
  EXPECT_EQ(options->endpoints.at(1).ToString(), "two:5699");
  EXPECT_EQ(options->password, "s@crt");
  EXPECT_EQ(options->vhost, "a/b");
  EXPECT_EQ(options->exchange_type, "direct");
  EXPECT_TRUE(options->declare);
  EXPECT_FALSE(options->mandatory);
  EXPECT_FALSE(options->persistent);
  EXPECT_EQ(options->window, 7u);
  EXPECT_EQ(options->heartbeat, std::chrono::seconds(10));
  ASSERT_TRUE(options->tls.has_value());
  EXPECT_TRUE(options->tls->verify);
  EXPECT_EQ(options->tls->ca_file, files.File("ca.pem"));
  EXPECT_EQ(options->tls->key_file, files.File("client.key"));
  EXPECT_EQ(options->body, message::BodyFormat::kCloudEvents);
}

TEST(AmqpOptions, NameEveryProblemAtOnceAndNoPassword) {
  const Status status =
      Read("amqp://u:hunter2@h?type=topic&window=0&password=hunter2&exchnage=x").error();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  for (const char* part : {"type: is used with declare=true", "window", "password: is given twice",
                           "did you mean 'exchange'?"}) {
    EXPECT_THAT(status.message(), HasSubstr(part));
  }
  EXPECT_THAT(status.ToString() + status.hint(), Not(HasSubstr("hunter2")));
}

TEST(AmqpOptions, RefuseARoutingKeyThatNoMessageCanHave) {
  EXPECT_THAT(Read("amqp://h?exchange=x&routing_key=" + std::string(256, 'a')).error().message(),
              HasSubstr("routing_key: is too long"));
  EXPECT_THAT(Read("amqp://h?exchange=x&routing_key=" + std::string(255, 'a') + "{topic}"),
              HasCode(Code::kInvalidArgument));
  EXPECT_THAT(Read("amqp://h?routing_key=").error().message(), HasSubstr("routing_key: is empty"));
  EXPECT_OK(Read("amqp://h?exchange=fanned-out&routing_key="));
}

TEST(AmqpOptions, RefuseWhatMakesNoSense) {
  for (const char* uri :
       {"amqp:", "amqp://", "amqp://h?declare=true", "amqps://h?tls_key=/k.pem",
        "amqp://h?tls_verify=false", "amqp://h?declare=true&exchange=x&type=queue",
        "amqp://h?routing_key={nonsense}", "amqp://h?heartbeat=1d"}) {
    EXPECT_THAT(Read(uri), HasCode(Code::kInvalidArgument)) << uri;
  }
}

}  // namespace
}  // namespace outbox::sink
