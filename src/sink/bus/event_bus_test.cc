#include "outbox/event_bus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <charconv>
#include <future>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/matchers.h"

namespace {

struct OrderCreated {
  int number = 0;
};

}  // namespace

template <>
struct outbox::EventCodec<OrderCreated> {
  static Result<OrderCreated> Decode(std::string_view payload) {
    if (payload == "throw") throw std::runtime_error("no JSON");
    OrderCreated event;
    const auto [end, error] =
        std::from_chars(payload.data(), payload.data() + payload.size(), event.number);
    if (error != std::errc()) return Status::Retry(Code::kInternal, "not a number");
    return event;
  }
};

namespace outbox {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kTopic = "orders.order.created.v1";

Message Make(std::string payload = "42", std::string topic = kTopic) {
  Message message;
  message.topic = std::move(topic);
  message.payload = std::move(payload);
  return message;
}

// What compiles as a subscriber, and what does not.
constexpr auto kGood = [](const Message&) { return Status::Ok(); };
constexpr auto kTyped = [](const OrderCreated&, const Message&) { return Status::Ok(); };
constexpr auto kReturnsNothing = [](const Message&) {};
constexpr auto kReturnsBool = [](const Message&) { return true; };
constexpr auto kTakesNothing = [] { return Status::Ok(); };
constexpr auto kWantsToChangeIt = [](Message&) { return Status::Ok(); };
struct MutableSubscriber {
  int calls = 0;
  Status operator()(const Message&) {
    ++calls;
    return Status::Ok();
  }
};
struct NotAnEvent {};
static_assert(MessageSubscriber<decltype(kGood)>);
static_assert(MessageSubscriber<Status (*)(const Message&)>);
static_assert(EventSubscriber<decltype(kTyped), OrderCreated>);
static_assert(!MessageSubscriber<decltype(kReturnsNothing)>);
static_assert(!MessageSubscriber<decltype(kReturnsBool)>);
static_assert(!MessageSubscriber<decltype(kTakesNothing)>);
static_assert(!MessageSubscriber<decltype(kWantsToChangeIt)>);
static_assert(!MessageSubscriber<MutableSubscriber>);
static_assert(!EventSubscriber<decltype(kGood), OrderCreated>);
static_assert(!EventSubscriber<decltype(kTyped), NotAnEvent>);
static_assert(DecodableEvent<OrderCreated>);
static_assert(!DecodableEvent<NotAnEvent>);

TEST(EventBus, CallsTheSubscribersOfATopicInTheirOrder) {
  EventBus bus;
  std::vector<std::string> calls;
  const auto note = [&](std::string name) {
    return [&calls, name](const Message&) {
      calls.push_back(name);
      return Status::Ok();
    };
  };
  const auto exact = bus.Subscribe(kTopic, note("exact"));
  const auto other = bus.Subscribe("orders.order.paid.v1", note("other"));
  const auto words = bus.Subscribe("orders.*.created.v*", note("words"));
  const auto all = bus.Subscribe("#", note("all"));
  EXPECT_OK(bus.Publish(Make()));
  EXPECT_THAT(calls, ElementsAre("exact", "words", "all"));
}

TEST(EventBus, DecodesThePayloadForTypedSubscribers) {
  EventBus bus;
  int number = 0;
  std::string topic;
  const auto token =
      bus.Subscribe<OrderCreated>(kTopic, [&](const OrderCreated& event, const Message& message) {
        number = event.number;
        topic = message.topic;
        return Status::Ok();
      });
  EXPECT_OK(bus.Publish(Make("7")));
  EXPECT_EQ(number, 7);
  EXPECT_EQ(topic, kTopic);
}

TEST(EventBus, APayloadThatCanNotBeDecodedIsPermanent) {
  EventBus bus;
  const auto token = bus.Subscribe<OrderCreated>(kTopic, kTyped);
  for (const char* payload : {"seven", "throw"}) {
    const Status status = bus.Publish(Make(payload));
    EXPECT_EQ(status.disposition(), Disposition::kPermanent);
    EXPECT_THAT(status.message(), HasSubstr(kTopic));
  }
}

TEST(EventBus, NoSubscriberIsAnErrorThatMayPass) {
  EventBus bus;
  const auto token = bus.Subscribe("billing.#", kGood);
  const Status status = bus.Publish(Make());
  EXPECT_THAT(status, HasCode(Code::kNotFound));
  EXPECT_EQ(status.disposition(), Disposition::kRetry);
  EXPECT_THAT(status.message(), HasSubstr("no subscriber for topic orders.order.created.v1"));
}

TEST(EventBus, ExceptionsBecomeErrorsAndTheOthersAreStillCalled) {
  EventBus bus;
  int calls = 0;
  const auto a = bus.Subscribe("#", [](const Message&) -> Status { throw std::logic_error("oh"); });
  const auto b = bus.Subscribe("#", [](const Message&) -> Status { throw 1; });
  const auto c = bus.Subscribe("#", [&](const Message&) {
    ++calls;
    return Status::Ok();
  });
  const Status status = bus.Publish(Make());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(status.disposition(), Disposition::kRetry);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("2 of 3 subscribers failed"),
                                      HasSubstr("threw: oh"), HasSubstr("something unknown")));
}

TEST(EventBus, JoinedErrorsArePermanentOnlyIfAllAre) {
  const auto failing = [](Status status) { return [status](const Message&) { return status; }; };
  const Status rejected = Status::Permanent(Code::kRejected, "never");
  const Status busy = Status::Retry(Code::kUnavailable, "busy");
  const Status away = Status::SinkDown("away");
  EventBus bus;
  const auto first = bus.Subscribe("#", failing(rejected));
  EXPECT_EQ(bus.Publish(Make()).message(), "never");
  const auto second = bus.Subscribe("#", failing(rejected));
  EXPECT_EQ(bus.Publish(Make()).disposition(), Disposition::kPermanent);
  const auto third = bus.Subscribe("#", failing(away));
  EXPECT_EQ(bus.Publish(Make()).disposition(), Disposition::kSinkDown);
  const auto fourth = bus.Subscribe("#", failing(busy));
  const Status status = bus.Publish(Make());
  EXPECT_EQ(status.disposition(), Disposition::kRetry);
  EXPECT_THAT(status, HasCode(Code::kUnavailable));
}

TEST(EventBus, JoinedErrorsWaitForTheLongest) {
  const auto busy_for = [](int seconds) {
    return [seconds](const Message&) {
      return Status::Retry(Code::kUnavailable, "busy")
          .WithRetryAfter(std::chrono::seconds(seconds));
    };
  };
  EventBus bus;
  const auto first = bus.Subscribe("#", busy_for(3));
  const auto second = bus.Subscribe("#", busy_for(7));
  const auto third = bus.Subscribe("#", [](const Message&) { return Status::SinkDown("away"); });
  const Status status = bus.Publish(Make());
  EXPECT_EQ(status.retry_after(), std::chrono::seconds(7));
  EXPECT_THAT(status.message(), HasSubstr("3 of 3 subscribers failed"));
}

TEST(EventBus, CancelWaitsForCallsOnOtherThreads) {
  EventBus bus;
  std::latch begun(1);
  std::latch let_go(1);
  std::atomic<bool> ended = false;
  Subscription token = bus.Subscribe("#", [&](const Message&) {
    begun.count_down();
    let_go.wait();
    ended = true;
    return Status::Ok();
  });
  auto publisher = std::async(std::launch::async, [&] { return bus.Publish(Make()); });
  begun.wait();
  auto cancelling = std::async(std::launch::async, [&] {
    token.Cancel();
    return ended.load();
  });
  EXPECT_EQ(cancelling.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  let_go.count_down();
  EXPECT_TRUE(cancelling.get()) << "it returned while the subscriber was running";
  EXPECT_OK(publisher.get());
}

TEST(EventBus, NoCallRunsAfterCancel) {
  EventBus bus;
  std::atomic<bool> stop = false;
  std::vector<std::future<void>> publishers;
  for (int i = 0; i < 3; ++i) {
    publishers.push_back(std::async(std::launch::async, [&] {
      while (!stop) (void)bus.Publish(Make());
    }));
  }
  std::atomic<int> late = 0;
  for (int i = 0; i < 500; ++i) {
    std::atomic<bool> gone = false;
    Subscription token = bus.Subscribe("#", [&](const Message&) {
      if (gone) ++late;
      return Status::Ok();
    });
    std::this_thread::yield();
    token.Cancel();
    gone = true;
  }
  stop = true;
  publishers.clear();
  EXPECT_EQ(late, 0);
}

TEST(EventBus, SubscribersThatCancelEachOtherDoNotHang) {
  EventBus bus;
  std::latch both(2);
  Subscription first;
  Subscription second;
  first = bus.Subscribe("a.#", [&](const Message&) {
    both.arrive_and_wait();
    second.Cancel();
    return Status::Ok();
  });
  second = bus.Subscribe("b.#", [&](const Message&) {
    both.arrive_and_wait();
    first.Cancel();
    return Status::Ok();
  });
  Message to_first = Make();
  to_first.topic = "a.message.put.v1";
  Message to_second = Make();
  to_second.topic = "b.message.put.v1";
  auto beside = std::async(std::launch::async, [&] { return bus.Publish(to_first); });
  EXPECT_OK(bus.Publish(to_second));
  EXPECT_OK(beside.get());
}

TEST(EventBus, ATokenUnsubscribesWhenItGoes) {
  EventBus bus;
  Subscription kept;
  {
    auto token = bus.Subscribe("#", kGood);
    kept = std::move(token);
    EXPECT_FALSE(token.active());  // NOLINT: moved from on purpose
  }
  EXPECT_OK(bus.Publish(Make()));
  kept.Cancel();
  EXPECT_FALSE(kept.active());
  EXPECT_THAT(bus.Publish(Make()), HasCode(Code::kNotFound));
}

TEST(EventBus, TokensAndSinksMayOutliveTheirBus) {
  auto bus = std::make_unique<EventBus>();
  Subscription token = bus->Subscribe("#", kGood);
  const std::shared_ptr<Sink> sink = bus->AsSink();
  bus.reset();
  std::vector<Message> batch{Make()};
  std::vector<Status> results(1);
  sink->Publish(batch, results, Deadline::After(std::chrono::seconds(30)));
  EXPECT_OK(results[0]);
  token.Cancel();
  sink->Publish(batch, results, Deadline::After(std::chrono::seconds(30)));
  EXPECT_THAT(results[0], HasCode(Code::kNotFound));
}

TEST(EventBus, SubscribersMayComeAndGoInsideASubscriber) {
  EventBus bus;
  int late_calls = 0;
  Subscription late;
  Subscription itself;
  itself = bus.Subscribe("#", [&](const Message&) {
    itself.Cancel();
    late = bus.Subscribe("#", [&](const Message&) {
      ++late_calls;
      return Status::Ok();
    });
    return Status::Ok();
  });
  EXPECT_OK(bus.Publish(Make()));
  EXPECT_EQ(late_calls, 0) << "a message goes to those who were there when it came";
  EXPECT_OK(bus.Publish(Make()));
  EXPECT_EQ(late_calls, 1);
}

TEST(EventBus, ACancelledSubscriberIsNotCalledByAMessageUnderWay) {
  EventBus bus;
  int calls = 0;
  Subscription second;
  const auto first = bus.Subscribe("#", [&](const Message&) {
    second.Cancel();
    return Status::Ok();
  });
  second = bus.Subscribe("#", [&](const Message&) {
    ++calls;
    return Status::Ok();
  });
  EXPECT_OK(bus.Publish(Make()));
  EXPECT_EQ(calls, 0);
}

TEST(EventBus, AsSinkDeliversOneMessageACall) {
  EventBus bus;
  const auto sink = bus.AsSink(3);
  EXPECT_EQ(sink->traits().batch_max, 1u);
  EXPECT_EQ(sink->traits().concurrency, 3u);
  EXPECT_OK(sink->Open(Deadline::After(std::chrono::seconds(30))));
}

TEST(EventBus, ManyThreadsPublishWhileSubscribersComeAndGo) {
  EventBus bus;
  std::atomic<int> calls = 0;
  const auto always = bus.Subscribe("#", [&](const Message&) {
    ++calls;
    return Status::Ok();
  });
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const auto passing = bus.Subscribe(kTopic, kGood);
        EXPECT_OK(bus.Publish(Make()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, kThreads * kRounds);
}

}  // namespace
}  // namespace outbox
