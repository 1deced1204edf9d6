#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sink/kafka/classify_error.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Case {
  rd_kafka_resp_err_t error;
  Code code;
  Disposition disposition;  // never sent
  Disposition after_sending = Disposition::kInDoubt;
};

constexpr Case kCases[] = {
    {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, Code::kRejected, Disposition::kPermanent,
     Disposition::kPermanent},
    {RD_KAFKA_RESP_ERR_INVALID_RECORD, Code::kRejected, Disposition::kPermanent,
     Disposition::kPermanent},
    {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, Code::kRejected, Disposition::kPermanent,
     Disposition::kPermanent},
    {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, Code::kInvalidArgument, Disposition::kPermanent,
     Disposition::kPermanent},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT, Code::kRejected, Disposition::kRetry,
     Disposition::kRetry},
    {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, Code::kNotFound, Disposition::kRetry, Disposition::kRetry},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, Code::kNotFound, Disposition::kRetry,
     Disposition::kRetry},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, Code::kPermission, Disposition::kRetry,
     Disposition::kRetry},
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, Code::kPermission, Disposition::kSinkDown,
     Disposition::kSinkDown},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, Code::kPermission, Disposition::kSinkDown,
     Disposition::kSinkDown},
    {RD_KAFKA_RESP_ERR__SSL, Code::kUnavailable, Disposition::kSinkDown},
    {RD_KAFKA_RESP_ERR__TRANSPORT, Code::kUnavailable, Disposition::kSinkDown},
    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, Code::kUnavailable, Disposition::kSinkDown},
    {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, Code::kUnavailable, Disposition::kSinkDown},
    {RD_KAFKA_RESP_ERR__PURGE_QUEUE, Code::kUnavailable, Disposition::kSinkDown},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, Code::kUnavailable, Disposition::kRetry},
    {RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, Code::kUnavailable, Disposition::kRetry},
    {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, Code::kUnavailable, Disposition::kRetry},
    {RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, Code::kUnavailable, Disposition::kRetry},
    {RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE, Code::kUnavailable, Disposition::kSinkDown},
    {RD_KAFKA_RESP_ERR__FATAL, Code::kUnavailable, Disposition::kSinkDown},
    {RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, Code::kDeadline, Disposition::kInDoubt},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, Code::kDeadline, Disposition::kInDoubt},
    {RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, Code::kDeadline, Disposition::kInDoubt},
    {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, Code::kInternal, Disposition::kRetry},
};

TEST(ClassifyKafkaError, SaysWhatToDo) {
  for (const Case& expected : kCases) {
    const Status unsent = ClassifyKafkaError({.error = expected.error}, "b:9092", "");
    EXPECT_EQ(unsent.code(), expected.code) << unsent.ToString();
    EXPECT_EQ(unsent.disposition(), expected.disposition) << unsent.ToString();
    EXPECT_THAT(unsent.message(), HasSubstr("b:9092"));
    EXPECT_EQ(unsent.native(), rd_kafka_err2name(expected.error));
    const Status sent = ClassifyKafkaError(
        {.error = expected.error, .persisted = RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED}, "b:9092",
        "");
    EXPECT_EQ(sent.disposition(), expected.after_sending) << sent.ToString();
  }
}

TEST(ClassifyKafkaError, AMessageIsNotBlamedForTheOthersOfItsRequest) {
  for (const auto error : {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_RECORD,
                           RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP}) {
    const Status status = ClassifyKafkaError({.error = error, .alone = false}, "b:9092", "");
    EXPECT_EQ(status.disposition(), Disposition::kRetry) << status.ToString();
    EXPECT_EQ(status.code(), Code::kRejected);
  }
}

TEST(ClassifyKafkaError, WaitingForOnePartitionDoesNotStopTheSink) {
  const Status status = ClassifyKafkaError(
      {.error = RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, .cluster_answers = true}, "b:9092", "");
  EXPECT_EQ(status.disposition(), Disposition::kRetry);
  EXPECT_EQ(status.code(), Code::kDeadline);
}

TEST(ClassifyKafkaError, DetailsAreCleaned) {
  const Status status = ClassifyKafkaError({.error = RD_KAFKA_RESP_ERR__AUTHENTICATION}, "b:9092",
                                           "kafka://u:hunter2@b said\nno");
  EXPECT_THAT(status.message(), Not(HasSubstr("hunter2")));
  EXPECT_THAT(status.message(), Not(HasSubstr("\n")));
  EXPECT_FALSE(status.hint().empty());
}

}  // namespace
}  // namespace outbox::sink
