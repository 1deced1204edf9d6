// The sink conformance suite: what every sink must do, whatever is at its far end.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "outbox/sink.h"
#include "sink/metadata.h"
#include "sink/registry.h"
#include "sink/sent_observer.h"
#include "tests/conformance/sink_harness.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::testing {

class SinkSuite : public ::testing::TestWithParam<SinkParam> {
 protected:
  void SetUp() override {
    harness_ = GetParam().make();
    if (IsSkipped()) return;  // the server is not installed
    ASSERT_NE(harness_, nullptr);
    sink_ = Made(harness_->uri());
    ASSERT_NE(sink_, nullptr);
    ASSERT_OK(sink_->Open(Soon()));
  }
  void TearDown() override {
    if (sink_ != nullptr) sink_->Close(Soon());
  }

  static std::shared_ptr<Sink> Made(const std::string& uri) {
    auto sink = sink::OpenSink(uri);
    EXPECT_OK(sink);
    return sink.ok() ? *sink : nullptr;
  }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

  static Message Make(std::string payload = "{}") {
    static std::int64_t seq = 0;
    Message message;
    message.id = Uuid::NewV7();
    message.seq = ++seq;
    message.table = "public.orders_outbox";
    message.topic = "orders.order.created.v1";
    message.key = base::StrCat("key-", seq);
    message.payload = std::move(payload);
    message.attempt = 1;
    message.created_at =
        std::chrono::time_point_cast<Timestamp::duration>(std::chrono::system_clock::now());
    return message;
  }
  static std::vector<Message> MakeMany(std::size_t count) {
    std::vector<Message> messages;
    for (std::size_t i = 0; i < count; ++i) messages.push_back(Make());
    return messages;
  }

  // In calls as large as the sink takes, as the relay does it.
  std::vector<Status> Publish(const std::vector<Message>& messages, Deadline deadline = Soon()) {
    const Status not_attempted = Status::NotAttempted();
    std::vector<Status> results(messages.size(), not_attempted);
    const std::size_t step = std::max<std::size_t>(1, sink_->traits().batch_max);
    for (std::size_t at = 0; at < messages.size(); at += step) {
      const std::size_t count = std::min(step, messages.size() - at);
      sink_->Publish(std::span(messages).subspan(at, count), std::span(results).subspan(at, count),
                     deadline);
    }
    return results;
  }
  static std::size_t CountOk(const std::vector<Status>& results) {
    return static_cast<std::size_t>(
        std::count_if(results.begin(), results.end(), [](const Status& s) { return s.ok(); }));
  }
  // Publishes until the destination has it: opens again after a failure, as the relay does.
  bool PublishAtLast(const Message& message) {
    return WaitFor([&] {
      if (CountOk(Publish({message})) == 1) return true;
      (void)sink_->Open(Soon());
      return false;
    });
  }
  std::vector<std::string> ArrivedIds(std::size_t count) {
    std::vector<std::string> ids;
    for (const Arrived& arrived : harness_->Receive(count)) {
      const auto id = arrived.headers.find(std::string(sink::kIdHeader));
      ids.push_back(id == arrived.headers.end() ? "" : id->second);
    }
    return ids;
  }

  std::unique_ptr<SinkHarness> harness_;
  std::shared_ptr<Sink> sink_;
};

TEST_P(SinkSuite, DeliversABatchAndConfirmsEachMessage) {
  const std::vector<Message> messages = MakeMany(250);
  for (const Status& result : Publish(messages)) ASSERT_OK(result);
  std::vector<std::string> sent;
  for (const Message& message : messages) sent.push_back(message.id.ToString());
  EXPECT_THAT(ArrivedIds(messages.size()), ::testing::UnorderedElementsAreArray(sent));
}

TEST_P(SinkSuite, TellsWhenTheMessagesHaveLeft) {
  if (sink_->name() == "http") GTEST_SKIP() << "a request and its answer are one";
  int told = 0;
  const sink::SentObserver observer([&] { ++told; });
  ASSERT_OK(Publish({Make()})[0]);
  EXPECT_EQ(told, 1);
}

TEST_P(SinkSuite, AnEmptyBatchIsNothing) {
  EXPECT_THAT(Publish({}), ::testing::IsEmpty());
  ASSERT_OK(Publish({Make()})[0]);
  EXPECT_EQ(harness_->Receive(1).size(), 1u);
}

TEST_P(SinkSuite, PayloadsArriveByteForByte) {
  const std::vector<std::string> payloads{R"({ "spaces" : [ 1.0 , 1e3 ] })",
                                          R"("")",
                                          "null",
                                          "[]",
                                          "{\"unicode\":\"Grüße, 世界 🎉 \\u0000 \\\"quoted\\\"\"}",
                                          "\"" + std::string(1'000'000, 'x') + "\""};
  std::map<std::string, std::string> sent;
  std::vector<Message> messages;
  for (const std::string& payload : payloads) {
    messages.push_back(Make(payload));
    sent[messages.back().id.ToString()] = payload;
  }
  for (const Status& result : Publish(messages)) ASSERT_OK(result);
  const auto all = harness_->Receive(messages.size());
  ASSERT_EQ(all.size(), messages.size());
  for (const Arrived& arrived : all) {
    EXPECT_TRUE(arrived.body == sent.at(arrived.headers.at("outbox-id")))
        << arrived.body.substr(0, 200);
  }
}

TEST_P(SinkSuite, HeadersCarryIdentityDeliveryStateAndTheProducersOwn) {
  Message message = Make();
  message.tenant_id = Uuid::NewV7();
  message.event_type = "OrderCreated";
  message.aggregate_id = "42";
  message.attempt = 3;
  message.headers = {{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
                     {"tracestate", "vendor=value,other=1"},
                     {"x-shop", "north"}};
  ASSERT_OK(Publish({message})[0]);
  const auto arrived = harness_->Receive(1);
  ASSERT_EQ(arrived.size(), 1u);
  const auto& headers = arrived[0].headers;
  using ::testing::Contains;
  using ::testing::Pair;
  EXPECT_THAT(headers, Contains(Pair("outbox-id", message.id.ToString())));
  EXPECT_THAT(headers, Contains(Pair("outbox-tenant-id", message.tenant_id->ToString())));
  EXPECT_THAT(headers, Contains(Pair("outbox-topic", message.topic)));
  EXPECT_THAT(headers, Contains(Pair("outbox-seq", std::to_string(message.seq))));
  EXPECT_THAT(headers, Contains(Pair("outbox-attempt", "3")));
  EXPECT_THAT(headers, Contains(Pair("outbox-event-type", "OrderCreated")));
  EXPECT_THAT(headers, Contains(Pair("outbox-aggregate-id", "42")));
  EXPECT_THAT(headers,
              Contains(Pair("outbox-created-at", base::FormatTimestamp(message.created_at))));
  for (const auto& [name, value] : message.headers) {
    EXPECT_THAT(headers, Contains(Pair(name, value)));
  }
}

TEST_P(SinkSuite, OneRefusedMessageFailsAlone) {
  std::vector<Message> messages = MakeMany(21);
  if (!harness_->MakeRefused(messages[10])) GTEST_SKIP() << "nothing is refused by this sink";
  const std::vector<Status> results = Publish(messages);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i == 10) continue;
    EXPECT_TRUE(results[i].ok()) << "message " << i << ": " << results[i].ToString();
  }
  EXPECT_THAT(results[10].disposition(),
              ::testing::AnyOf(Disposition::kRetry, Disposition::kPermanent))
      << results[10].ToString();
  EXPECT_EQ(ArrivedIds(20).size(), 20u);
}

TEST_P(SinkSuite, NothingIsConfirmedWhileTheDestinationIsAway) {
  ASSERT_OK(Publish({Make()})[0]);
  harness_->Break();
  const std::vector<Message> messages = MakeMany(5);
  for (int round = 0; round < 3; ++round) {
    const auto results = Publish(messages, Deadline::After(std::chrono::seconds(5)));
    EXPECT_EQ(CountOk(results), 0u);
    for (const Status& result : results) {
      EXPECT_NE(result.disposition(), Disposition::kPermanent) << result.ToString();
    }
  }
  const auto results = Publish(messages, Deadline::After(std::chrono::seconds(5)));
  EXPECT_EQ(results[0].disposition(), Disposition::kSinkDown)
      << "an outage costs no attempts: " << results[0].ToString();
  harness_->Mend();
  for (const Message& message : messages) EXPECT_TRUE(PublishAtLast(message));
}

TEST_P(SinkSuite, OpenSaysThatTheDestinationIsAway) {
  harness_->Break();
  const auto sink = Made(harness_->uri());
  const Status status = sink->Open(Deadline::After(std::chrono::seconds(5)));
  const std::vector<Message> messages{Make()};
  std::vector<Status> results(1, Status::NotAttempted());
  sink->Publish(messages, results, Deadline::After(std::chrono::seconds(5)));
  sink->Close(Soon());
  // A sink without connections learns of it only when it publishes.
  EXPECT_TRUE(status.disposition() == Disposition::kSinkDown ||
              results[0].disposition() == Disposition::kSinkDown)
      << status.ToString() << "; " << results[0].ToString();
  harness_->Mend();
}

TEST_P(SinkSuite, ACallReturnsByItsDeadlineWhenTheDestinationHangs) {
  ASSERT_OK(Publish({Make()})[0]);
  if (!harness_->Freeze()) GTEST_SKIP() << "this destination can not be frozen";
  const Message message = Make();
  auto call = std::async(std::launch::async, [&] {
    return Publish({message}, Deadline::After(std::chrono::seconds(2)));
  });
  // Nothing but its deadline ends it before the destination is back.
  const bool ended = call.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  harness_->Thaw();
  const auto results = call.get();
  EXPECT_TRUE(ended);
  EXPECT_EQ(CountOk(results), 0u);
  EXPECT_NE(results[0].disposition(), Disposition::kPermanent) << results[0].ToString();
  EXPECT_TRUE(PublishAtLast(Make()));
}

TEST_P(SinkSuite, AWrongPasswordIsNamedAndNotShown) {
  const std::string uri = harness_->uri_with_wrong_password();
  if (uri.empty()) GTEST_SKIP() << "this destination has no passwords";
  const auto sink = Made(uri);
  Status status = sink->Open(Soon());
  if (status.ok()) {
    const std::vector<Message> messages{Make()};
    std::vector<Status> results(1);
    sink->Publish(messages, results, Soon());
    status = results[0];
  }
  sink->Close(Soon());
  EXPECT_EQ(status.code(), Code::kPermission) << status.ToString();
  EXPECT_THAT(status.ToString() + status.hint(), ::testing::Not(::testing::HasSubstr("hunter2")));
}

TEST_P(SinkSuite, CanBeClosedAndOpenedAgain) {
  ASSERT_OK(Publish({Make()})[0]);
  sink_->Close(Soon());
  ASSERT_OK(sink_->Open(Soon()));
  ASSERT_OK(Publish({Make()})[0]);
  EXPECT_EQ(harness_->Receive(2).size(), 2u);
}

}  // namespace outbox::testing
