#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "demo/breakable_sink.h"
#include "demo/ledger.h"
#include "demo/line.h"
#include "demo/rate_sampler.h"
#include "demo/summary.h"
#include "demo/view.h"

namespace outbox::demo {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Message Make(int attempt = 1) {
  Message message;
  message.id = Uuid::NewV7();
  message.attempt = attempt;
  return message;
}

TEST(Ledger, FindsTheCommittedEventThatNeverArrived) {
  Ledger ledger;
  const Message arrived = Make();
  ledger.OnCommitted(arrived.id);
  ledger.OnDelivered(arrived);
  EXPECT_EQ(ledger.Compare({arrived.id}).lost, 0u);
  EXPECT_EQ(ledger.Compare({arrived.id, Uuid::NewV7()}).lost, 1u);
}

TEST(Ledger, FindsTheEventOfARolledBackOrder) {
  Ledger ledger;
  ledger.OnDelivered(Make());
  EXPECT_EQ(ledger.Compare({}).phantoms, 1u);
}

TEST(Ledger, CountsEveryFurtherDeliveryAsADuplicate) {
  Ledger ledger;
  const Message message = Make();
  for (int i = 0; i < 3; ++i) ledger.OnDelivered(message);
  EXPECT_EQ(ledger.counts().delivered, 1u);
  EXPECT_EQ(ledger.counts().duplicates, 2u);
}

TEST(Ledger, FindsAttemptsTheSinkNeverJudged) {
  Ledger ledger;
  Message refused = Make(1);
  ledger.OnFailed(refused, "refused");
  refused.attempt = 2;
  ledger.OnDelivered(refused);
  EXPECT_EQ(ledger.Compare({refused.id}).attempts_wasted, 0u);

  const Message wasted = Make(4);
  ledger.OnDelivered(wasted);
  EXPECT_EQ(ledger.Compare({refused.id, wasted.id}).attempts_wasted, 3u);
}

TEST(Ledger, DeliveryMayOvertakeTheNewsOfTheCommit) {
  Ledger ledger;
  const Message message = Make();
  ledger.OnDelivered(message);
  ledger.OnCommitted(message.id);
  EXPECT_FALSE(ledger.OldestAge().has_value());
}

Status PublishOne(BreakableSink& sink, const Message& message) {
  Status result;
  sink.Publish({&message, 1}, {&result, 1}, Deadline::After(std::chrono::seconds(1)));
  return result;
}

TEST(BreakableSink, IsDownWithoutJudgingTheMessage) {
  Ledger ledger;
  BreakableSink sink(ledger);
  sink.SetCondition(SinkCondition::kDown);
  EXPECT_EQ(PublishOne(sink, Make()).disposition(), Disposition::kSinkDown);
  EXPECT_EQ(sink.probes(), 1u);
  EXPECT_EQ(ledger.counts().delivered + ledger.counts().refused, 0u);
}

TEST(BreakableSink, RefusesTheNextNewMessageForGoodWhenPoisoned) {
  Ledger ledger;
  BreakableSink sink(ledger);
  sink.PoisonNext();
  EXPECT_EQ(PublishOne(sink, Make()).disposition(), Disposition::kPermanent);
  EXPECT_TRUE(PublishOne(sink, Make()).ok());
}

Summary GoodSummary() {
  Summary summary;
  summary.audit.committed = 3;
  summary.counts.delivered = 2;
  summary.counts.dead = 1;
  return summary;
}

TEST(Summary, IsGoodWhenEverythingCommittedArrivedOrIsDead) {
  EXPECT_THAT(GoodSummary().Problems(), IsEmpty());
  EXPECT_THAT(GoodSummary().ToJson(), HasSubstr(R"("ok":true)"));
}

TEST(Summary, NamesEveryProblem) {
  Summary summary = GoodSummary();
  summary.counts.delivered = 1;
  summary.audit = {.committed = 3, .lost = 1, .phantoms = 2, .attempts_wasted = 4};
  EXPECT_EQ(summary.Problems().size(), 4u);
  EXPECT_THAT(summary.ToText(), HasSubstr("FAILED: 1 committed events were lost"));
  EXPECT_THAT(summary.ToJson(), HasSubstr(R"("ok":false)"));
}

TEST(Line, CutsAtItsWidthBetweenCharacters) {
  Line line(3);
  line.Add("▁▂").Add("▃▄", Style::kGood);
  EXPECT_EQ(line.text(), "▁▂\x1b[32m▃\x1b[0m");
}

TEST(View, FillsTheScreenExactlyAtEverySize) {
  Snapshot now;
  now.arrivals.resize(Ledger::kArrivalsKept);
  now.incidents.resize(Monitor::kIncidentsKept);
  for (const ScreenSize size : {ScreenSize{80, 24}, {100, 30}, {200, 60}, {40, 10}, {1, 1}}) {
    EXPECT_EQ(Render(now, size).size(), size.rows);
  }
}

TEST(View, SaysWhyTheRelayWaits) {
  Snapshot now;
  now.relay = {.state = RelayState::kWaitingForSink, .why = "the sink does not answer"};
  std::string screen;
  for (const std::string& line : Render(now, kScreenMin)) screen += line + "\n";
  EXPECT_THAT(screen, HasSubstr("● waiting\x1B[0m ──▶ sink "));
  EXPECT_THAT(screen, HasSubstr("waiting for the sink: the sink does not answer"));
  now.relay.state = RelayState::kRunning;
  EXPECT_THAT(Render(now, kScreenMin), Not(testing::Contains(HasSubstr("waiting for the sink:"))));
}

TEST(Sparkline, ScalesToTheLargestAndKeepsTheNewest) {
  EXPECT_EQ(Sparkline({99, 0, 4, 16}, 3), " ▄█");
  EXPECT_EQ(Sparkline({}, 3), "");
}

TEST(RateSampler, TakesOneSampleAPeriod) {
  RateSampler sampler;
  sampler.Update(milliseconds(100), 5);
  sampler.Update(milliseconds(500), 20);
  sampler.Update(milliseconds(1000), 30);
  EXPECT_THAT(sampler.rates(), ElementsAre(40.0, 20.0));
}

}  // namespace
}  // namespace outbox::demo
