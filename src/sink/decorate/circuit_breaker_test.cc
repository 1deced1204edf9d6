#include "sink/decorate/circuit_breaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "sink/decorate/fakes.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class CircuitBreakerTest : public ::testing::Test {
 protected:
  std::vector<Status> Publish(std::size_t count) {
    return PublishTo(*sink_, count, clock_.After(1min));
  }
  void Answer(const Status& status) {
    inner_->answer = [status](const Message&) { return status; };
  }
  void OpenTheCircuit() {
    Answer(busy_);
    Publish(3);
    inner_->calls.clear();
  }

  const Status busy_ = Status::Retry(Code::kUnavailable, "HTTP 503");
  FakeClock clock_;
  const std::shared_ptr<FakeSink> inner_ = std::make_shared<FakeSink>();
  const std::shared_ptr<Sink> sink_ = CircuitBreaker(inner_, MakeCircuit(3, 10s, clock_));
};

TEST_F(CircuitBreakerTest, OpensAfterFailuresInARowAndAnswersAtOnce) {
  Answer(busy_);
  Publish(2);
  EXPECT_EQ(Publish(1)[0].message(), "HTTP 503");
  const auto results = Publish(5);
  for (const Status& status : results) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
    EXPECT_THAT(status.message(), HasSubstr("3 failures in a row, the last: HTTP 503"));
  }
  EXPECT_THAT(inner_->calls, ElementsAre(2, 1)) << "the destination is left alone";
}

TEST_F(CircuitBreakerTest, TellsOtherMessagesNothingOfAPayload) {
  inner_->answer = [](const Message& message) {
    return Status::Retry(Code::kUnavailable, "HTTP 503: " + message.payload);
  };
  std::vector<Message> quoted(3);
  for (Message& message : quoted) message.payload = R"({"name":"CANARY"})";
  std::vector<Status> results(3);
  sink_->Publish(quoted, results, clock_.After(1min));
  EXPECT_THAT(Publish(1)[0].message(), HasSubstr("the last: HTTP 503: [payload]"));
}

TEST_F(CircuitBreakerTest, ASuccessInBetweenStartsTheCountAnew) {
  for (int i = 0; i < 5; ++i) {
    Answer(busy_);
    Publish(2);
    Answer(Status::Ok());
    EXPECT_OK(Publish(1)[0]);
  }
}

TEST_F(CircuitBreakerTest, RefusedMessagesAndOutagesDoNotOpenIt) {
  for (const Status& status :
       {Status::Permanent(Code::kRejected, "no"), Status::Retry(Code::kNotFound, "no topic"),
        Status::SinkDown("away"), Status::NotAttempted()}) {
    Answer(status);
    Publish(10);
    EXPECT_EQ(Publish(1)[0].message(), status.message());
  }
}

TEST_F(CircuitBreakerTest, DoubtAndDeadlinesCount) {
  Answer(Status::InDoubt(Code::kDeadline, "no answer"));
  Publish(3);
  EXPECT_THAT(Publish(1)[0].message(), HasSubstr("circuit is open"));
}

TEST_F(CircuitBreakerTest, AfterTheCooldownOneMessageIsTried) {
  OpenTheCircuit();
  clock_.Advance(9999ms);
  Publish(5);
  EXPECT_THAT(inner_->calls, ElementsAre());
  clock_.Advance(1ms);
  const auto results = Publish(5);
  EXPECT_THAT(inner_->calls, ElementsAre(1)) << "a failed trial costs one attempt, not five";
  EXPECT_EQ(results[0].message(), "HTTP 503");
  EXPECT_EQ(results[4].disposition(), Disposition::kSinkDown);
  Publish(5);
  EXPECT_THAT(inner_->calls, ElementsAre(1)) << "open for another cooldown";
}

TEST_F(CircuitBreakerTest, ASuccessfulTrialClosesItAndTheRestFollows) {
  OpenTheCircuit();
  clock_.Advance(10s);
  Answer(Status::Ok());
  for (const Status& status : Publish(5)) EXPECT_OK(status);
  EXPECT_THAT(inner_->calls, ElementsAre(1, 4));
  Answer(busy_);
  Publish(2);
  EXPECT_EQ(Publish(1)[0].message(), "HTTP 503") << "it counts from the start again";
}

TEST_F(CircuitBreakerTest, ATrialThatFindsTheSinkDownFails) {
  OpenTheCircuit();
  clock_.Advance(10s);
  Answer(Status::SinkDown("away"));
  EXPECT_EQ(Publish(2)[0].message(), "away");
  EXPECT_THAT(Publish(1)[0].message(), HasSubstr("circuit is open"));
}

TEST_F(CircuitBreakerTest, OneTrialAtATime) {
  OpenTheCircuit();
  clock_.Advance(10s);
  std::vector<Status> meanwhile;
  inner_->answer = [&](const Message&) {
    std::thread([&] { meanwhile = Publish(1); }).join();
    return Status::Ok();
  };
  EXPECT_OK(Publish(1)[0]);
  ASSERT_EQ(meanwhile.size(), 1u);
  EXPECT_EQ(meanwhile[0].disposition(), Disposition::kSinkDown);
}

// Calls back on each Publish, without a lock.
class ReentrantSink final : public Sink {
 public:
  std::string_view name() const noexcept override { return "reentrant"; }
  Status Open(Deadline) override { return Status::Ok(); }
  void Publish(std::span<const Message>, std::span<Status> results, Deadline) override {
    std::fill(results.begin(), results.end(), answer());
  }

  std::function<Status()> answer;
};

TEST_F(CircuitBreakerTest, ATrialThatHangsFailsSoonAfterItsDeadlineAndAnotherMayGo) {
  const auto inner = std::make_shared<ReentrantSink>();
  const auto sink = CircuitBreaker(inner, MakeCircuit(3, 10s, clock_));
  const auto publish = [&] { return PublishTo(*sink, 1, clock_.After(1min))[0]; };
  inner->answer = [&] { return busy_; };
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(publish().ok());
  clock_.Advance(10s);
  std::vector<Status> meanwhile;
  bool hangs = true;
  inner->answer = [&] {
    if (!std::exchange(hangs, false)) return Status::Ok();
    for (const auto wait : {60s, 10s, 1s}) {
      clock_.Advance(wait);
      meanwhile.push_back(publish());
    }
    return busy_;
  };
  EXPECT_FALSE(publish().ok());
  ASSERT_EQ(meanwhile.size(), 3u);
  EXPECT_THAT(meanwhile[0].message(), HasSubstr("circuit is open")) << "it has a moment to return";
  EXPECT_THAT(meanwhile[1].message(), HasSubstr("circuit is open")) << "the cooldown is not over";
  EXPECT_OK(meanwhile[2]);
  EXPECT_TRUE(publish().ok()) << "what the first trial says at last concerns nobody";
}

TEST_F(CircuitBreakerTest, OpenIsRefusedWhileTheCircuitIs) {
  OpenTheCircuit();
  EXPECT_EQ(sink_->Open(clock_.After(1s)).disposition(), Disposition::kSinkDown);
  EXPECT_EQ(inner_->opened, 0);
  clock_.Advance(10s);
  EXPECT_OK(sink_->Open(clock_.After(1s)));
  EXPECT_EQ(inner_->opened, 1);
}

TEST_F(CircuitBreakerTest, ExceptionsCountAndATrialThatThrowsIsOver) {
  inner_->answer = [](const Message&) -> Status { throw std::runtime_error("broken"); };
  EXPECT_THROW(Publish(100), std::runtime_error) << "one failure, not a hundred";
  EXPECT_THROW(Publish(1), std::runtime_error);
  EXPECT_THROW(Publish(1), std::runtime_error);
  EXPECT_THAT(Publish(1)[0].message(), HasSubstr("circuit is open"));
  clock_.Advance(10s);
  EXPECT_THROW(Publish(1), std::runtime_error);
  clock_.Advance(10s);
  Answer(Status::Ok());
  EXPECT_OK(Publish(1)[0]);
}

TEST_F(CircuitBreakerTest, ResultsGivenBeforeAnExceptionCountAsTheyAre) {
  // Three in a row would open it: each call ends one row and begins another.
  for (int i = 0; i < 5; ++i) {
    inner_->answer = [n = 0](const Message&) mutable -> Status {
      if (++n == 3) throw std::runtime_error("broken");
      return Status::Ok();
    };
    EXPECT_THROW(Publish(10), std::runtime_error);
  }
  Answer(busy_);
  EXPECT_EQ(Publish(2)[1].message(), "HTTP 503") << "the exception and these two are three";
  EXPECT_THAT(Publish(1)[0].message(), HasSubstr("circuit is open"));
}

TEST_F(CircuitBreakerTest, ManyThreadsMayPublish) {
  inner_->answer = [n = 0, this](const Message&) mutable {
    return ++n % 7 < 4 ? busy_ : Status::Ok();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Publish(2);
        clock_.Advance(1s);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  clock_.Advance(10s);
  Answer(Status::Ok());
  EXPECT_OK(Publish(1)[0]);
}

TEST_F(CircuitBreakerTest, SinksWithOneCircuitAreLeftAloneTogether) {
  const auto circuit = MakeCircuit(3, 10s, clock_);
  const auto one = CircuitBreaker(inner_, circuit);
  const auto other = CircuitBreaker(inner_, circuit);
  const auto publish = [&](Sink& sink, std::size_t count) {
    return PublishTo(sink, count, clock_.After(1min))[0].message();
  };
  Answer(busy_);
  publish(*one, 2);
  publish(*other, 1);
  for (Sink* sink : {one.get(), other.get()}) {
    EXPECT_THAT(publish(*sink, 1), HasSubstr("circuit is open"));
  }
  clock_.Advance(10s);
  Answer(Status::Ok());
  EXPECT_EQ(publish(*one, 1), "");
  EXPECT_EQ(publish(*other, 1), "");
}

}  // namespace
}  // namespace outbox::sink
