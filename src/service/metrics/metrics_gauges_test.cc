// The gauges: relays' states, tables' counts, the process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "service/metrics/labels.h"
#include "service/metrics/options.h"
#include "service/metrics/process_collector.h"
#include "service/metrics/relay_states.h"
#include "service/metrics/scrape.h"
#include "service/metrics/table_gauges.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace outbox::service {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Labels;
using ::testing::Optional;
using testing::Scrape;

Scrape ScrapeSource(const prometheus::Collectable& source) {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, source.Collect());
  return Scrape(out.str());
}

const Labels kTable{{"table", "t"}};
const Labels kOnly{{"table", "t"}, {"sink", "default"}};

TEST(RelayStates, OneStateIsOneAndTheOthersAreZero) {
  RelayStates states;
  states.StateChanged("t/rabbit", RelayState::kRunning);
  states.StateChanged("t/rabbit", RelayState::kWaitingForSink);
  const auto samples = ScrapeSource(states).All("outbox_relay_state");
  EXPECT_EQ(samples.size(), 7U);
  for (const auto& [labels, value] : samples) {
    EXPECT_EQ(labels.at("sink"), "rabbit");
    EXPECT_EQ(value, labels.at("state") == "waiting_for_sink" ? 1 : 0) << labels.at("state");
  }
}

TEST(RelayStates, ASinkIsUpUnlessTheRelayWaitsForIt) {
  RelayStates states;
  const auto up = [&] { return ScrapeSource(states).Find("outbox_sink_up", kOnly); };
  states.StateChanged("t", RelayState::kRunning);
  EXPECT_THAT(up(), Optional(1));
  states.StateChanged("t", RelayState::kWaitingForSink);
  EXPECT_THAT(up(), Optional(0));
  states.StateChanged("t", RelayState::kDraining);
  EXPECT_THAT(up(), Optional(0));
  states.StateChanged("t", RelayState::kStandby);
  EXPECT_EQ(up(), std::nullopt);
  states.StateChanged("t", RelayState::kRunning);
  states.StateChanged("t", RelayState::kStopped);
  EXPECT_EQ(up(), std::nullopt);
}

TEST(RelayStates, LeadershipIsToldOfSingleActiveTablesOnly) {
  RelayStates states;
  const auto leader = [&] { return ScrapeSource(states).Find("outbox_relay_leader", kTable); };
  states.StateChanged("t", RelayState::kRunning);
  EXPECT_EQ(leader(), std::nullopt);
  states.StateChanged("t", RelayState::kStandby);
  EXPECT_THAT(leader(), Optional(0));
  states.LeaderChanged("t", true);
  states.StateChanged("t", RelayState::kRunning);
  EXPECT_THAT(leader(), Optional(1));
  states.StateChanged("t", RelayState::kStopped);
  EXPECT_THAT(leader(), Optional(0));
}

TEST(RelayStates, OneOfATablesRelaysIsEnoughToLead) {
  RelayStates states;
  states.StateChanged("t/a", RelayState::kStandby);
  states.StateChanged("t/b", RelayState::kStandby);
  EXPECT_THAT(ScrapeSource(states).Find("outbox_relay_leader", kTable), Optional(0));
  states.LeaderChanged("t/b", true);
  EXPECT_THAT(ScrapeSource(states).Find("outbox_relay_leader", kTable), Optional(1));
}

TEST(TableGauges, OldCountsDisappearAndTheirAgeStays) {
  std::chrono::steady_clock::time_point now{1h};
  TableGauges gauges(10s, [&] { return now; });
  EXPECT_THAT(gauges.Collect(), IsEmpty());
  gauges.Set("t", {.pending = 12,
                   .due = 5,
                   .retrying = 2,
                   .processing = 4,
                   .stale = 1,
                   .dead = 3,
                   .oldest_age = 2500ms});
  now += 30s;
  const Scrape fresh = ScrapeSource(gauges);
  EXPECT_THAT(fresh.Find("outbox_pending", kTable), Optional(12));
  EXPECT_THAT(fresh.Find("outbox_due", kTable), Optional(5));
  EXPECT_THAT(fresh.Find("outbox_retrying", kTable), Optional(2));
  EXPECT_THAT(fresh.Find("outbox_locked", kTable), Optional(4));
  EXPECT_THAT(fresh.Find("outbox_stale_locks", kTable), Optional(1));
  EXPECT_THAT(fresh.Find("outbox_dead_messages", kTable), Optional(3));
  EXPECT_THAT(fresh.Find("outbox_oldest_age_seconds", kTable), Optional(2.5));
  EXPECT_THAT(fresh.Find("outbox_sample_age_seconds", kTable), Optional(30));
  now += 1s;
  const Scrape old = ScrapeSource(gauges);
  EXPECT_EQ(old.Find("outbox_pending", kTable), std::nullopt);
  EXPECT_THAT(old.Find("outbox_sample_age_seconds", kTable), Optional(31));
  gauges.Set("t", {});
  EXPECT_THAT(ScrapeSource(gauges).Find("outbox_pending", kTable), Optional(0));
  EXPECT_THAT(ScrapeSource(gauges).Find("outbox_oldest_age_seconds", kTable), Optional(0));
}

TEST(ProcessCollector, ReadsThisProcess) {
  // A second's worth of something to count.
  const std::clock_t until = std::clock() + CLOCKS_PER_SEC / 20;
  while (std::clock() < until) {
  }
  const Scrape scrape = ScrapeSource(ProcessCollector());
  const auto value = [&](const std::string& name) { return scrape.Find(name).value_or(-1); };
  EXPECT_GE(value("process_cpu_seconds_total"), 0.03);
  EXPECT_LT(value("process_cpu_seconds_total"), 1000);
  EXPECT_GT(value("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GE(value("process_open_fds"), 3);
  EXPECT_GE(value("process_max_fds"), value("process_open_fds"));
  const auto now = static_cast<double>(std::time(nullptr));
  EXPECT_NEAR(value("process_start_time_seconds"), now, 600);
  EXPECT_EQ(scrape.types().at("process_cpu_seconds_total"), "counter");
}

TEST(ProcessCollector, CountsDescriptorsAsTheyAreOpened) {
  const auto open = [] {
    return ScrapeSource(ProcessCollector()).Find("process_open_fds").value_or(0);
  };
  const double before = open();
  const std::ifstream one("/dev/null");
  const std::ifstream two("/dev/null");
  EXPECT_EQ(open(), before + 2);
}

TEST(ProcessCollector, UnderstandsNamesThatHoldParenthesesAndSpaces) {
  const outbox::testing::TempFolder proc;
  std::filesystem::create_directories(proc.File("self/fd"));
  std::ofstream(proc.File("self/stat"))
      << "42 (a) 1 ) b) S 1 1 1 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 7 0 1000 4096000 10 0 0\n";
  std::ofstream(proc.File("stat")) << "cpu 1 2 3\nintr 5 6\nbtime 1700000000\nprocesses 9\n";
  const Scrape scrape = ScrapeSource(ProcessCollector(proc.path()));
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_THAT(scrape.Find("process_cpu_seconds_total"), Optional(300 / ticks));
  EXPECT_THAT(scrape.Find("process_virtual_memory_bytes"), Optional(4096000));
  EXPECT_THAT(scrape.Find("process_resident_memory_bytes"),
              Optional(10 * static_cast<double>(sysconf(_SC_PAGESIZE))));
  EXPECT_THAT(scrape.Find("process_start_time_seconds"), Optional(1700000000 + 1000 / ticks));
}

TEST(ProcessCollector, LeavesOutWhatItCanNotRead) {
  const outbox::testing::TempFolder empty;
  EXPECT_THAT(ProcessCollector(empty.path()).Collect(), IsEmpty());
}

TEST(MetricsLabels, ARelaysNameIsATableAndPerhapsASink) {
  EXPECT_EQ(LabelsOfRelay("public.orders_outbox").table, "public.orders_outbox");
  EXPECT_EQ(LabelsOfRelay("public.orders_outbox").sink, "default");
  EXPECT_EQ(LabelsOfRelay("public.orders_outbox/rabbit").table, "public.orders_outbox");
  EXPECT_EQ(LabelsOfRelay("public.orders_outbox/rabbit").sink, "rabbit");
}

TEST(MetricsOptions, DefaultsAreValidAndMistakesAreNamed) {
  EXPECT_OK(MetricsOptions().Validate());
  EXPECT_OK(MetricsOptions{.path = "/debug/prometheus"}.Validate());
  for (const std::string path :
       {"", "/", "metrics", "/metrics/", "//x", "/a b", "/a?b", "/{id}", "/a\n"}) {
    const Status status = MetricsOptions{.path = path}.Validate();
    EXPECT_THAT(status, HasCode(Code::kInvalidArgument)) << path;
    EXPECT_THAT(status.message(), HasSubstr("metrics path"));
    EXPECT_THAT(status.hint(), HasSubstr("/metrics"));
  }
  EXPECT_THAT(MetricsOptions{.path = "/" + std::string(200, 'x')}.Validate(),
              HasCode(Code::kInvalidArgument));
  EXPECT_OK(MetricsOptions{.topics_max = 0}.Validate());
  EXPECT_THAT(MetricsOptions{.topics_max = 10'001}.Validate().message(), HasSubstr("topics_max"));
  EXPECT_THAT(MetricsOptions{.sample_interval = 999ms}.Validate().message(),
              HasSubstr("sample_interval"));
  EXPECT_THAT(MetricsOptions{.sample_interval = 61min}.Validate().hint(), HasSubstr("1h"));
}

}  // namespace
}  // namespace outbox::service
