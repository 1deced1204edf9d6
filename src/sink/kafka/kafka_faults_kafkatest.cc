// What the Kafka sink does when the cluster misbehaves: librdkafka's mock cluster on request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "base/text.h"
#include "sink/kafka/kafka_sink.h"
#include "tests/support/matchers.h"
#include "tests/support/mock_kafka.h"
#include "tests/support/reserved_port.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::KafkaArrived;
using testing::MockKafka;
using testing::WaitFor;
using namespace std::chrono_literals;

constexpr std::size_t kKeys = 10;

class KafkaFaults : public ::testing::Test {
 protected:
  std::shared_ptr<Sink> Make(const std::string& options = "") {
    auto made = MakeKafkaSink(SinkUri::Parse(kafka_.uri() + options).value());
    EXPECT_OK(made);
    return *made;
  }

  // With one request under way at a time, for tests in which the mock refuses requests. librdkafka
  // takes the answer to a later batch as the answer to those before it: a broker checks the
  // sequence and stores no later batch without them. The mock checks nothing, and would let the
  // refused one count as stored.
  std::shared_ptr<Sink> MakeForRefusals() {
    return Make("?kafka.max.in.flight.requests.per.connection=1");
  }

  static Message MakeMessage(std::size_t number) {
    Message message;
    message.id = Uuid::NewV7();
    message.seq = static_cast<std::int64_t>(number);
    message.table = "t";
    message.topic = "orders.order.created.v1";
    message.key = base::StrCat("key-", number % kKeys);
    message.payload = std::to_string(number);
    message.attempt = 1;
    message.created_at = Timestamp(std::chrono::milliseconds(1'700'000'000'123));
    return message;
  }
  static std::vector<Message> MakeMessages(std::size_t count, std::size_t first = 0) {
    std::vector<Message> messages;
    for (std::size_t i = 0; i < count; ++i) messages.push_back(MakeMessage(first + i));
    return messages;
  }
  static std::vector<Status> Publish(Sink& sink, const std::vector<Message>& messages,
                                     std::chrono::milliseconds wait = 30s) {
    std::vector<Status> results(messages.size(), Status::NotAttempted());
    sink.Publish(messages, results, Deadline::After(wait));
    return results;
  }
  // As an ordered relay does it: what failed comes first in the next round, in its old order.
  static bool PublishUntilConfirmed(Sink& sink, std::vector<Message> messages) {
    return WaitFor([&] {
      const auto results = Publish(sink, messages);
      std::vector<Message> left;
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i].ok()) left.push_back(messages[i]);
      }
      messages = left;
      if (!messages.empty()) (void)sink.Open(Deadline::After(10s));
      return messages.empty();
    });
  }
  // How often a message arrived after a later one of its key, by first arrivals.
  static int Inversions(const std::vector<KafkaArrived>& arrived) {
    std::map<std::string, int> last;
    std::set<std::string> seen;
    int inversions = 0;
    for (const KafkaArrived& message : arrived) {
      if (!seen.insert(message.body).second) continue;
      const int number = std::stoi(message.body);
      const auto [entry, added] = last.try_emplace(*message.key, number);
      if (!added && number < entry->second) ++inversions;
      entry->second = std::max(entry->second, number);
    }
    return inversions;
  }
  static std::size_t Distinct(const std::vector<KafkaArrived>& arrived) {
    std::set<std::string> bodies;
    for (const KafkaArrived& message : arrived) bodies.insert(message.body);
    return bodies.size();
  }

  // The result of the first of two messages, once it costs an attempt and the second is confirmed.
  // Both have little time: on a busy machine that may need several calls.
  static Status PublishUntilFirstIsRetried(Sink& sink, const std::vector<Message>& messages) {
    std::vector<Status> results;
    EXPECT_TRUE(WaitFor([&] {
      results = Publish(sink, messages);
      return results[0].disposition() == Disposition::kRetry && results[1].ok();
    })) << results[1].ToString();
    return results[0];
  }

  // Everything that arrived, once `count` different messages have. Repeats do not end the wait.
  const std::vector<KafkaArrived>& ReceiveDistinct(std::size_t count) {
    WaitFor([&] { return Distinct(kafka_.Receive(0)) >= count; });
    return kafka_.Receive(0);
  }

  MockKafka kafka_;
};

TEST_F(KafkaFaults, KeyAndTimestampTravelAndAnEmptyKeyIsNone) {
  const auto sink = Make();
  std::vector<Message> messages = MakeMessages(2);
  messages[1].key.clear();
  for (const Status& result : Publish(*sink, messages)) ASSERT_OK(result);
  const auto& arrived = kafka_.Receive(2);
  ASSERT_EQ(arrived.size(), 2u);
  for (const KafkaArrived& message : arrived) {
    EXPECT_EQ(message.timestamp_ms, 1'700'000'000'123);
    EXPECT_EQ(message.key.has_value(), message.body == "0");
  }
}

TEST_F(KafkaFaults, TheTopicIsATemplate) {
  const auto sink = Make("?topic=orders.{aggregate_type}.created.v1&body=envelope");
  Message message = MakeMessage(1);
  message.topic = "elsewhere";
  message.aggregate_type = "order";
  ASSERT_OK(Publish(*sink, {message})[0]);
  const auto& arrived = kafka_.Receive(1);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_THAT(arrived[0].body, HasSubstr("\"payload\":1"));
}

TEST_F(KafkaFaults, AnImpossibleTopicIsTheMessagesFault) {
  const auto sink = Make();
  std::vector<Message> messages = MakeMessages(2);
  messages[0].topic = "no such topic!";
  const auto results = Publish(*sink, messages);
  EXPECT_EQ(results[0].disposition(), Disposition::kPermanent);
  EXPECT_OK(results[1]);
}

TEST_F(KafkaFaults, AMissingTopicIsRetriedAndDelaysNoOther) {
  kafka_.SetTopicError("missing", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  const auto sink = Make("?timeout=15s");
  std::vector<Message> messages = MakeMessages(2);
  messages[0].topic = "missing";
  const Status missing = PublishUntilFirstIsRetried(*sink, messages);
  EXPECT_EQ(missing.code(), Code::kNotFound) << missing.ToString();
  EXPECT_THAT(missing.hint(), HasSubstr("create the topic"));
}

TEST_F(KafkaFaults, APartitionWithoutALeaderDoesNotStopTheSink) {
  kafka_.CreateTopic("headless");
  for (int p = 0; p < MockKafka::kPartitions; ++p) kafka_.SetLeader("headless", p, -1);
  const auto sink = Make("?timeout=5s");
  std::vector<Message> messages = MakeMessages(2);
  messages[0].topic = "headless";
  const Status headless = PublishUntilFirstIsRetried(*sink, messages);
  EXPECT_EQ(headless.disposition(), Disposition::kRetry) << headless.ToString();
}

TEST_F(KafkaFaults, InjectedErrorsLoseNothingAndKeepTheOrderOfAKey) {
  const auto sink = MakeForRefusals();
  ASSERT_OK(sink->Open(Deadline::After(30s)));
  constexpr std::size_t kRounds = 6;
  constexpr std::size_t kBatch = 200;
  for (std::size_t round = 0; round < kRounds; ++round) {
    kafka_.Push(MockKafka::kProduce,
                {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
                 RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR__TRANSPORT,
                 RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS});
    ASSERT_TRUE(PublishUntilConfirmed(*sink, MakeMessages(kBatch, round * kBatch)));
  }
  const auto& arrived = ReceiveDistinct(kRounds * kBatch);
  EXPECT_EQ(Distinct(arrived), kRounds * kBatch);
  EXPECT_EQ(Inversions(arrived), 0);
}

TEST_F(KafkaFaults, AFatalErrorReplacesTheProducer) {
  const auto sink = MakeForRefusals();
  constexpr std::size_t kRounds = 5;
  constexpr std::size_t kBatch = 50;
  std::size_t failed = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::vector<Message> messages = MakeMessages(kBatch, round * kBatch);
    ASSERT_TRUE(PublishUntilConfirmed(*sink, {messages[0]}));
    kafka_.Push(MockKafka::kProduce, {RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER});
    std::vector<Message> left;
    const auto results = Publish(*sink, messages);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].ok()) continue;
      ++failed;
      left.push_back(messages[i]);
      EXPECT_THAT(results[i].disposition(), AnyOf(Disposition::kInDoubt, Disposition::kSinkDown))
          << results[i].ToString();
    }
    ASSERT_TRUE(PublishUntilConfirmed(*sink, left));
  }
  EXPECT_GT(failed, 0u) << "no fatal error was raised: this test shows nothing";
  const auto& arrived = ReceiveDistinct(kRounds * kBatch);
  EXPECT_EQ(Distinct(arrived), kRounds * kBatch);
  EXPECT_EQ(Inversions(arrived), 0);
}

TEST_F(KafkaFaults, AForbiddenIdempotentWriteIsNamedAndCured) {
  kafka_.Push(MockKafka::kInitProducerId, {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED});
  const auto sink = Make();
  const auto results = Publish(*sink, MakeMessages(1));
  EXPECT_EQ(results[0].disposition(), Disposition::kSinkDown) << results[0].ToString();
  EXPECT_EQ(results[0].code(), Code::kPermission) << results[0].ToString();
  EXPECT_THAT(results[0].hint(), HasSubstr("IdempotentWrite"));
  EXPECT_TRUE(PublishUntilConfirmed(*sink, MakeMessages(1)));
}

TEST_F(KafkaFaults, ABrokerThatComesAndGoesLosesNothing) {
  const auto sink = Make("?timeout=2s");
  constexpr std::size_t kRounds = 4;
  constexpr std::size_t kBatch = 100;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::vector<Message> messages = MakeMessages(kBatch, round * kBatch);
    kafka_.Break();
    for (const Status& result : Publish(*sink, messages, 3s)) {
      EXPECT_THAT(result.disposition(), AnyOf(Disposition::kSinkDown, Disposition::kInDoubt))
          << result.ToString();
    }
    kafka_.Mend();
    ASSERT_TRUE(PublishUntilConfirmed(*sink, messages));
  }
  const auto& arrived = ReceiveDistinct(kRounds * kBatch);
  EXPECT_EQ(Distinct(arrived), kRounds * kBatch);
  EXPECT_EQ(Inversions(arrived), 0);
}

TEST_F(KafkaFaults, WhatWasSentWhenTheTimeWasUpIsInDoubtAndItsLateReportHarmless) {
  const auto sink = Make();
  ASSERT_OK(Publish(*sink, MakeMessages(1))[0]);
  // A call that waited for its reports would have them all confirmed.
  kafka_.SetRoundTrip(10'000);
  const std::vector<Message> messages = MakeMessages(20, 1);
  EXPECT_TRUE(WaitFor([&] {
    std::size_t in_doubt = 0;
    for (const Status& result : Publish(*sink, messages, 1s)) {
      // On a slow machine a batch may still wait to be sent.
      EXPECT_THAT(result.disposition(), AnyOf(Disposition::kInDoubt, Disposition::kSinkDown))
          << result.ToString();
      if (result.disposition() == Disposition::kInDoubt) ++in_doubt;
    }
    return in_doubt > 0;
  }));
  kafka_.SetRoundTrip(0);
  EXPECT_TRUE(PublishUntilConfirmed(*sink, messages));
  EXPECT_EQ(Distinct(ReceiveDistinct(21)), 21u);
}

TEST_F(KafkaFaults, SeveralCallsAtOnceShareAProducer) {
  const auto sink = Make("");
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t round = 0; round < 5; ++round) {
        for (const Status& result : Publish(*sink, MakeMessages(50, t * 1000 + round * 50))) {
          EXPECT_OK(result);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Distinct(ReceiveDistinct(750)), 750u);
}

// As an ordered route calls: what a key has for later waits until this is confirmed.
TEST_F(KafkaFaults, SeveralCallsKeepTheOrderOfTheirKeysWhileTheBrokerComesAndGoes) {
  const auto sink = Make();
  constexpr std::size_t kRounds = 8;
  constexpr std::size_t kBatch = 200;
  const std::size_t callers = sink->traits().concurrency;
  std::atomic<std::size_t> confirmed = 0;
  std::vector<std::thread> threads;
  for (std::size_t caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] {
      for (std::size_t round = 0; round < kRounds; ++round) {
        auto messages = MakeMessages(kBatch, caller * 100'000 + round * kBatch);
        for (Message& message : messages) message.key += base::StrCat(" of ", caller);
        EXPECT_TRUE(PublishUntilConfirmed(*sink, messages));
        confirmed += kBatch;
      }
    });
  }
  const std::size_t total = callers * kRounds * kBatch;
  for (const std::size_t part : {1, 2, 3}) {
    EXPECT_TRUE(WaitFor([&] { return confirmed >= total * part / 4; }));
    kafka_.Break();
    std::this_thread::sleep_for(200ms);
    kafka_.Mend();
  }
  for (std::thread& thread : threads) thread.join();
  const auto& arrived = ReceiveDistinct(total);
  EXPECT_EQ(Distinct(arrived), total);
  EXPECT_EQ(Inversions(arrived), 0);
}

TEST_F(KafkaFaults, ACallThatGivesUpTakesNoOtherAlong) {
  kafka_.CreateTopic("headless");
  for (int p = 0; p < MockKafka::kPartitions; ++p) kafka_.SetLeader("headless", p, -1);
  const auto sink = Make("?timeout=60s");
  ASSERT_OK(Publish(*sink, MakeMessages(1))[0]);
  std::vector<Message> messages = MakeMessages(5);
  for (Message& message : messages) message.topic = "headless";
  auto patient = std::async(std::launch::async, [&] { return Publish(*sink, messages, 60s); });
  for (int i = 0; i < 2; ++i) {
    for (const Status& result : Publish(*sink, messages, 3s)) {
      EXPECT_EQ(result.disposition(), Disposition::kRetry) << result.ToString();
    }
  }
  ASSERT_EQ(patient.wait_for(0s), std::future_status::timeout) << "it still has time";
  for (int p = 0; p < MockKafka::kPartitions; ++p) kafka_.SetLeader("headless", p, 1);
  for (const Status& result : patient.get()) EXPECT_OK(result);
}

TEST_F(KafkaFaults, ARefusedMessageIsFoundByHalvesAndTheOthersArrive) {
  // All of a call are queued before any is sent, on a slow machine too.
  const auto sink =
      Make("?timeout=60s&kafka.max.in.flight.requests.per.connection=1&kafka.linger.ms=1000");
  ASSERT_OK(Publish(*sink, MakeMessages(1))[0]);
  // One partition, so one request: as a whole, its first half, the first half of that, and so on.
  // One by one, the next eight would be refused alone too.
  std::vector<Message> messages = MakeMessages(256);
  for (Message& message : messages) message.key = "key-0";
  kafka_.Push(MockKafka::kProduce, std::vector(9, RD_KAFKA_RESP_ERR_INVALID_RECORD));
  const auto results = Publish(*sink, messages, 60s);
  EXPECT_EQ(results[0].disposition(), Disposition::kPermanent) << results[0].ToString();
  for (std::size_t i = 1; i < results.size(); ++i) EXPECT_OK(results[i]);
}

TEST_F(KafkaFaults, WhatTheTimeDoesNotSufficeForWasNotAttempted) {
  const auto sink = MakeForRefusals();
  ASSERT_OK(Publish(*sink, MakeMessages(1))[0]);
  std::vector<Message> messages = MakeMessages(64);
  for (Message& message : messages) message.key = "key-0";
  kafka_.Push(MockKafka::kProduce, std::vector(200, RD_KAFKA_RESP_ERR_INVALID_RECORD));
  kafka_.SetRoundTrip(1000);
  const auto results = Publish(*sink, messages, 12s);
  const auto count = [&](Code code) {
    return std::count_if(results.begin(), results.end(),
                         [&](const Status& result) { return result.code() == code; });
  };
  EXPECT_GT(count(Code::kNotAttempted), 0);
  // Of the others each was refused alone, or was under way when the time was up.
  for (const Status& result : results) {
    EXPECT_THAT(result.disposition(),
                AnyOf(Disposition::kPermanent, Disposition::kInDoubt, Disposition::kRetry));
    EXPECT_FALSE(result.disposition() == Disposition::kRetry &&
                 result.code() != Code::kNotAttempted)
        << result.ToString();
  }
}

TEST_F(KafkaFaults, ARefusedRequestCostsNoMessageThatIsNotAtFault) {
  for (const auto error : {RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
                           RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE}) {
    SCOPED_TRACE(rd_kafka_err2name(error));
    const auto sink = MakeForRefusals();
    ASSERT_OK(Publish(*sink, MakeMessages(1))[0]);
    kafka_.Push(MockKafka::kProduce, {error});
    for (const Status& result : Publish(*sink, MakeMessages(20))) EXPECT_OK(result);
  }
}

TEST_F(KafkaFaults, OnlyAMessageThatIsRefusedAloneIsDead) {
  const auto sink = MakeForRefusals();
  ASSERT_OK(Publish(*sink, MakeMessages(1))[0]);
  kafka_.Push(MockKafka::kProduce,
              {RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_RECORD});
  const Status status = Publish(*sink, MakeMessages(1))[0];
  EXPECT_EQ(status.disposition(), Disposition::kPermanent) << status.ToString();
  EXPECT_EQ(status.code(), Code::kRejected);
  EXPECT_OK(Publish(*sink, MakeMessages(1))[0]);
}

TEST_F(KafkaFaults, ATopicWithAnOldFormatIsTriedAgain) {
  const auto sink = MakeForRefusals();
  kafka_.Push(MockKafka::kProduce, {RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT});
  const Status status = Publish(*sink, MakeMessages(1))[0];
  EXPECT_EQ(status.disposition(), Disposition::kRetry) << status.ToString();
}

TEST_F(KafkaFaults, ADestinationThatNeverWasIsDown) {
  const testing::ReservedPort nobodys;
  const std::string address = base::StrCat("127.0.0.1:", nobodys.number());
  const auto sink =
      MakeKafkaSink(SinkUri::Parse(base::StrCat("kafka://", address, "?timeout=2m")).value())
          .value();
  auto call = std::async(std::launch::async, [&] { return Publish(*sink, MakeMessages(3), 2min); });
  EXPECT_EQ(call.wait_for(testing::kPatience), std::future_status::ready)
      << "refused connections are known early";
  const auto results = call.get();
  for (const Status& result : results) {
    EXPECT_EQ(result.disposition(), Disposition::kSinkDown) << result.ToString();
    EXPECT_THAT(result.message(), HasSubstr(address));
  }
}

}  // namespace
}  // namespace outbox::sink
