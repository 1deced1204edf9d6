
#include "sink/amqp/classify_error.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;

struct Case {
  AmqpError error;
  Code code;
  Disposition disposition;
};

TEST(ClassifyAmqpError, SaysWhatToDo) {
  const Case cases[] = {
      {AmqpError::Library(AMQP_STATUS_SOCKET_ERROR), Code::kUnavailable, Disposition::kSinkDown},
      {AmqpError::Library(AMQP_STATUS_CONNECTION_CLOSED), Code::kUnavailable,
       Disposition::kSinkDown},
      {AmqpError::Library(AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED), Code::kUnavailable,
       Disposition::kSinkDown},
      {AmqpError::Library(AMQP_STATUS_SSL_PEER_VERIFY_FAILED), Code::kUnavailable,
       Disposition::kSinkDown},
      {AmqpError::Library(AMQP_STATUS_TIMEOUT), Code::kDeadline, Disposition::kSinkDown},
      {AmqpError::Library(AMQP_STATUS_HEARTBEAT_TIMEOUT), Code::kDeadline, Disposition::kSinkDown},
      {AmqpError::Library(AMQP_STATUS_BROKER_UNSUPPORTED_SASL_METHOD), Code::kPermission,
       Disposition::kSinkDown},
      {{0, AMQP_CONNECTION_FORCED, "CONNECTION_FORCED - broker forced connection closure"},
       Code::kUnavailable,
       Disposition::kSinkDown},
      {{0, AMQP_ACCESS_REFUSED, "ACCESS_REFUSED - Login was refused"},
       Code::kPermission,
       Disposition::kSinkDown},
      {{0, AMQP_ACCESS_REFUSED, "ACCESS_REFUSED - access to exchange 'x' in vhost '/' refused"},
       Code::kPermission,
       Disposition::kSinkDown},
      {{0, AMQP_ACCESS_REFUSED, "ACCESS_REFUSED - access to topic 'k' in exchange 'x' in vhost"},
       Code::kPermission,
       Disposition::kRetry},
      {{0, AMQP_NOT_ALLOWED, "NOT_ALLOWED - vhost nowhere not found"},
       Code::kNotFound,
       Disposition::kSinkDown},
      {{0, AMQP_NOT_ALLOWED, "NOT_ALLOWED - access to vhost refused"},
       Code::kPermission,
       Disposition::kSinkDown},
      {{0, AMQP_NOT_FOUND, "NOT_FOUND - no exchange 'x' in vhost '/'"},
       Code::kNotFound,
       Disposition::kSinkDown},
      {{0, AMQP_PRECONDITION_FAILED, "PRECONDITION_FAILED - inequivalent arg 'type'"},
       Code::kInvalidArgument,
       Disposition::kSinkDown},
      {{0, AMQP_PRECONDITION_FAILED, "PRECONDITION_FAILED - message size 9 is larger than"},
       Code::kRejected,
       Disposition::kPermanent},
      {{0, AMQP_CONTENT_TOO_LARGE, "CONTENT_TOO_LARGE"}, Code::kRejected, Disposition::kPermanent},
      {{0, AMQP_INTERNAL_ERROR, "INTERNAL_ERROR"}, Code::kUnavailable, Disposition::kSinkDown},
  };
  for (const Case& one : cases) {
    const Status status = ClassifyAmqpError(one.error, "broker:5672");
    EXPECT_EQ(status.code(), one.code) << status.ToString();
    EXPECT_EQ(status.disposition(), one.disposition) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("broker:5672"));
  }
  EXPECT_OK(ClassifyAmqpError({}, "broker:5672"));
}

TEST(ClassifyAmqpError, TellsWhichMessageIsMeant) {
  const AmqpError key{0, 403, "ACCESS_REFUSED - write access to topic 'a.b' in exchange 'x' in …"};
  EXPECT_TRUE(IsAbout(key, "a.b", 1));
  EXPECT_FALSE(IsAbout(key, "a", 1));
  EXPECT_FALSE(IsAbout(key, "a.b.c", 1));
  const AmqpError cut_off{0, 403, "ACCESS_REFUSED - access to topic 'aaaa..."};
  EXPECT_TRUE(IsAbout(cut_off, "aaaab", 1));
  EXPECT_FALSE(IsAbout(cut_off, "aaa", 1));
  EXPECT_FALSE(IsAbout({0, 403, "ACCESS_REFUSED - access to exchange 'x' in vhost '/'"}, "x", 1));
  const AmqpError size{0, 406, "PRECONDITION_FAILED - message size 20 is larger than max size 9"};
  EXPECT_TRUE(IsAbout(size, "k", 20));
  EXPECT_FALSE(IsAbout(size, "k", 2));
  EXPECT_FALSE(IsAbout(size, "k", 9));
}

TEST(ClassifyAmqpError, RepeatsTheBrokersReasonAndNumber) {
  const Status status = ClassifyAmqpError({0, 404, "NOT_FOUND - no exchange 'orders'"}, "b:1");
  EXPECT_THAT(status.ToString(), HasSubstr("no exchange 'orders'"));
  EXPECT_EQ(status.native(), "AMQP 404");
  EXPECT_THAT(status.hint(), HasSubstr("declare=true"));
}

}  // namespace
}  // namespace outbox::sink
