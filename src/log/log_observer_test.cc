#include "log/log_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "log/captured_log.h"

namespace outbox::log {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

class LogObserverTest : public ::testing::Test {
 protected:
  LogObserver Observer(Level level) {
    return LogObserver(
        std::make_shared<Logger>(LogOptions{.level = level, .format = Format::kJson}, log_.fd()));
  }
  std::vector<nlohmann::json> Lines() const {
    std::vector<nlohmann::json> lines;
    for (const std::string& line : base::Split(log_.text(), '\n')) {
      if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }
  static Message Sample() {
    Message message;
    message.id = *Uuid::Parse("01890a5d-ac96-774b-bcce-b302099a8057");
    message.tenant_id = message.id;
    message.seq = 12;
    message.table = "public.orders_outbox";
    message.topic = "orders.order.created.v1";
    message.payload = R"({"card":"canary-payload"})";
    message.headers = {{"authorization", "canary-header"}};
    message.attempt = 3;
    return message;
  }

  CapturedLog log_;
};

TEST_F(LogObserverTest, NamesTheMessageWhoseDispatchFailed) {
  Observer(Level::kInfo)
      .OnPublished(Sample(), Status::Retry(Code::kRejected, "no"), milliseconds(7));
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].at("level"), "warn");
  EXPECT_EQ(lines[0].at("table"), "public.orders_outbox");
  EXPECT_EQ(lines[0].at("topic"), "orders.order.created.v1");
  EXPECT_EQ(lines[0].at("event_id"), "01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_EQ(lines[0].at("tenant_id"), "01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_EQ(lines[0].at("seq"), 12);
  EXPECT_EQ(lines[0].at("attempts"), 3);
  EXPECT_EQ(lines[0].at("took_ms"), 7);
}

TEST_F(LogObserverTest, NamesTableAndSinkOfARelayWithRoutes) {
  LogObserver observer = Observer(Level::kDebug);
  Message message = Sample();
  message.destination = "partner";
  const std::string_view relay = "public.orders_outbox/partner";
  observer.OnDead(message, Status::Permanent(Code::kRejected, "no"));
  observer.OnPublished(message, Status::Retry(Code::kRejected, "no"), milliseconds(1));
  observer.OnLeaseLost(message);
  observer.OnStateChanged(relay, RelayState::kRunning, "");
  observer.OnLeaderChanged(relay, true);
  observer.OnClaimed(relay, 5, milliseconds(1));
  observer.OnSettled(relay, {.delivered = 5}, milliseconds(1));
  observer.OnStoreError(relay, "claim", Status::Retry(Code::kUnavailable, "x"), milliseconds(1));
  observer.OnNotice(relay, "falling back to polling");
  EXPECT_EQ(Lines().size(), 9u);
  for (const auto& line : Lines()) {
    EXPECT_EQ(line.at("table"), "public.orders_outbox") << line;
    EXPECT_EQ(line.at("sink"), "partner") << line;
  }
}

TEST_F(LogObserverTest, HasNoSinkWithoutRoutes) {
  LogObserver observer = Observer(Level::kDebug);
  observer.OnDead(Sample(), Status::Permanent(Code::kRejected, "no"));
  observer.OnStateChanged("public.orders_outbox", RelayState::kRunning, "");
  for (const auto& line : Lines()) EXPECT_FALSE(line.contains("sink")) << line;
}

TEST_F(LogObserverTest, GivesEachEventItsLevel) {
  LogObserver observer = Observer(Level::kDebug);
  observer.OnDead(Sample(), Status::Permanent(Code::kRejected, "no"));
  observer.OnLeaseLost(Sample());
  observer.OnStateChanged("t", RelayState::kWaitingForSink, "sink is down");
  observer.OnStateChanged("t", RelayState::kRunning, "");
  observer.OnLeaderChanged("t", true);
  observer.OnNotice("t", "falling back to polling");
  observer.OnPurged("t", {.delivered = 5}, milliseconds(1));
  observer.OnClaimed("t", 5, milliseconds(1));
  observer.OnSettled("t", {.delivered = 5}, milliseconds(1));
  observer.OnPublished(Sample(), Status::Ok(), milliseconds(1));
  observer.OnPublished(Sample(), Status::SinkDown("away"), milliseconds(1));
  std::vector<std::string> levels;
  for (const auto& line : Lines()) levels.push_back(line.at("level"));
  EXPECT_EQ(levels, (std::vector<std::string>{"error", "warn", "warn", "info", "info", "info",
                                              "info", "debug", "debug", "debug", "debug"}));
}

TEST_F(LogObserverTest, SaysNothingOfEmptyPollsAndPurges) {
  LogObserver observer = Observer(Level::kDebug);
  observer.OnClaimed("t", 0, milliseconds(1));
  observer.OnPurged("t", {}, milliseconds(1));
  EXPECT_TRUE(Lines().empty());
}

TEST_F(LogObserverTest, WritesARepeatedDatabaseErrorOnce) {
  LogObserver observer = Observer(Level::kInfo);
  const Status away = Status::Retry(Code::kUnavailable, "connection refused");
  for (int i = 0; i < 100; ++i) observer.OnStoreError("t", "claim", away, milliseconds(10));
  EXPECT_EQ(Lines().size(), 1u);
  observer.OnStoreError("t", "settle", away, milliseconds(10));
  observer.OnStoreError("t", "claim", Status::Retry(Code::kUnavailable, "other"), milliseconds(10));
  EXPECT_EQ(Lines().size(), 3u);
}

TEST_F(LogObserverTest, NeverWritesPayloadsHeadersOrSecrets) {
  LogObserver observer = Observer(Level::kDebug);
  const Status leaky = Status::Retry(
      Code::kRejected, "POST https://user:canary-password@host failed, token=canary-token\x1b[31m");
  observer.OnPublished(Sample(), leaky, milliseconds(1));
  observer.OnPublished(Sample(), Status::Ok(), milliseconds(1));
  observer.OnDead(Sample(), leaky);
  observer.OnLeaseLost(Sample());
  observer.OnStoreError("t", "claim", leaky, milliseconds(1));
  observer.OnStateChanged("t", RelayState::kWaitingForSink, leaky.message());
  observer.OnNotice("t", leaky.message());
  EXPECT_EQ(Lines().size(), 7u);
  EXPECT_THAT(log_.text(), HasSubstr("POST https://user:***@host failed"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("canary")));
}

TEST_F(LogObserverTest, CutsLongErrors) {
  Observer(Level::kInfo)
      .OnDead(Sample(), Status::Permanent(Code::kRejected, std::string(100'000, 'x')));
  const std::string error = Lines().at(0).at("error");
  EXPECT_LE(error.size(), LogObserver::kErrorBytesMax);
}

}  // namespace
}  // namespace outbox::log
