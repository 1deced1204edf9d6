// What Prometheus' own tool says to the exposition, the rules and the dashboard's queries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

#include "service/metrics/every_event.h"
#include "service/metrics/metric_names.h"
#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_folder.h"

namespace outbox::service {
namespace {

using namespace std::chrono_literals;
using outbox::testing::Finished;
using outbox::testing::Process;
using outbox::testing::TempFolder;
using ::testing::HasSubstr;
using testing::ReadText;

const std::string kDeploy = OUTBOX_SOURCE "/deploy";

Finished CheckMetrics(const std::string& exposition) {
  return Process::Run({"promtool", "check", "metrics"}, {.standard_input = exposition});
}

Finished TestRules(const std::string& rules, const std::string& tests) {
  const TempFolder folder;
  std::ofstream(folder.File("rules.yml")) << rules;
  std::ofstream(folder.File("rules_test.yml")) << tests;
  return Process::Run({"promtool", "test", "rules", folder.File("rules_test.yml")});
}

std::string Replaced(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return std::string(text).replace(at, from.size(), to);
}

TEST(Promtool, FindsNothingToSayAboutTheExposition) {
  OUTBOX_REQUIRE_PROGRAM("promtool");
  MetricsObserver metrics;
  testing::TellEveryEvent(metrics);
  for (const std::string topic :
       {"quote\"s", "back\\slash", "two\nlines", "bad\xff", "caf\xc3\xa9"}) {
    metrics.OnPublished(testing::MessageOf("t", topic), Status::Ok(), 1ms);
  }
  const Finished checked = CheckMetrics(metrics.Exposition());
  EXPECT_EQ(checked.exit_code, 0) << checked.standard_output << checked.standard_error;
  EXPECT_EQ(checked.standard_error, "");
}

TEST(Promtool, WouldFindAMistakeInTheExposition) {
  OUTBOX_REQUIRE_PROGRAM("promtool");
  const std::string exposition = testing::ExpositionOfEveryEvent();
  EXPECT_NE(CheckMetrics(exposition + "outbox_pending{table=\"bad\xff\"} 1\n").exit_code, 0);
  EXPECT_NE(CheckMetrics(exposition + "# TYPE outbox_extra counter\noutbox_extra 1\n").exit_code,
            0);
}

TEST(Promtool, PassesTheRulesAndTheirTests) {
  OUTBOX_REQUIRE_PROGRAM("promtool");
  const std::string rules = kDeploy + "/prometheus/rules.yml";
  const Finished checked = Process::Run({"promtool", "check", "rules", rules});
  EXPECT_EQ(checked.exit_code, 0) << checked.standard_output << checked.standard_error;
  const Finished tested =
      Process::Run({"promtool", "test", "rules", kDeploy + "/prometheus/rules_test.yml"});
  EXPECT_EQ(tested.exit_code, 0) << tested.standard_output << tested.standard_error;
}

// The negative control: each rule, made a little wrong, fails its test.
TEST(Promtool, WouldFindWrongRules) {
  OUTBOX_REQUIRE_PROGRAM("promtool");
  struct Mistake {
    std::string alert;
    std::string right;
    std::string wrong;
  };
  const std::vector<Mistake> mistakes{
      {"OutboxPendingHigh", "(outbox_pending) > 1000", "(outbox_pending) > 1001"},
      {"OutboxFailureRateHigh", "outbox:failure_rate > 0.01", "outbox:failure_rate > 0.03"},
      {"OutboxRetryRateHigh", "outbox:retry_rate > 0.05", "outbox:retry_rate > 0.04"},
      {"OutboxDeadMessages", "(outbox_dead_messages) > 0", "(outbox_dead_messages) > 1"},
      {"OutboxProcessingStale", "(outbox_stale_locks) > 0", "(outbox_stale_locks) > 3"},
      {"OutboxSlow", "outbox:processing_time_p95 > 30", "outbox:processing_time_p95 > 20"},
      {"OutboxStalled", "unless on (table)", "and on (table)"},
      {"OutboxOverdue", "(outbox_oldest_age_seconds) > 900", "(outbox_oldest_age_seconds) > 1800"},
      {"OutboxSinkDown", "max by (table, sink) (outbox_sink_up)",
       "min by (table, sink) (outbox_sink_up)"},
      {"OutboxNoLeader", "sum by (table) (outbox_relay_leader)",
       "min by (table) (outbox_relay_leader)"},
      {"OutboxDatabaseErrors", "(outbox_store_errors_total[5m])",
       "(outbox_store_errors_total[1h])"},
      {"OutboxCountsOld", "min by (table) (outbox_sample", "max by (table) (outbox_sample"},
      {"OutboxDown", "absent(outbox_build_info)", "absent(outbox_relay_state)"},
  };
  std::string rules = ReadText(kDeploy + "/prometheus/rules.yml");
  for (const Mistake& mistake : mistakes) rules = Replaced(rules, mistake.right, mistake.wrong);
  const Finished tested = TestRules(rules, ReadText(kDeploy + "/prometheus/rules_test.yml"));
  EXPECT_NE(tested.exit_code, 0);
  for (const Mistake& mistake : mistakes) {
    EXPECT_THAT(tested.standard_output + tested.standard_error,
                HasSubstr("alertname: " + mistake.alert + ","));
  }
  // Not everything fails whatever the rules say.
  EXPECT_THAT(tested.standard_output + tested.standard_error,
              ::testing::Not(HasSubstr("outbox:processing_time_p95")));
}

TEST(Promtool, WouldFindWrongFigures) {
  OUTBOX_REQUIRE_PROGRAM("promtool");
  const std::string rules = ReadText(kDeploy + "/prometheus/rules.yml");
  const std::string tests = ReadText(kDeploy + "/prometheus/rules_test.yml");
  const std::map<std::string, std::pair<std::string, std::string>> mistakes{
      {"outbox_pending_count",
       {"max by (table) (outbox_pending)", "sum by (table) (outbox_pending)"}},
      {"outbox_process_latency_bucket",
       {"outbox_publish_delay_seconds_bucket", "outbox_dispatch_latency_seconds_bucket"}},
      {"outbox_process_latency_sum",
       {"outbox_publish_delay_seconds_sum", "outbox_publish_delay_seconds_count"}},
      {"outbox_process_latency_count",
       {"outbox_publish_delay_seconds_count", "outbox_publish_delay_seconds_sum"}},
      {"outbox_failure_count", {"{reason=~\"retry|rejected\"}", ""}},
      {"outbox:pending_count",
       {"max by (table) (outbox_pending)", "min by (table) (outbox_pending)"}},
      {"outbox:dead_count", {"outbox_dead_messages", "outbox_pending"}},
      {"outbox:stale_locked_count", {"outbox_stale_locks", "outbox_pending"}}};
  for (const auto& [figure, change] : mistakes) {
    const std::string record = "record: " + figure + "\n        expr: ";
    const std::size_t at = rules.find(record);
    ASSERT_NE(at, std::string::npos) << figure;
    const std::size_t end = rules.find('\n', at + record.size());
    const std::string wrong = Replaced(rules.substr(at, end - at), change.first, change.second);
    const Finished tested = TestRules(std::string(rules).replace(at, end - at, wrong), tests);
    EXPECT_NE(tested.exit_code, 0) << figure;
    EXPECT_THAT(tested.standard_output + tested.standard_error, HasSubstr(figure));
  }
}

TEST(Promtool, UnderstandsTheDashboardsQueries) {
  OUTBOX_REQUIRE_PROGRAM("promtool");
  const auto checked = [](const std::vector<std::string>& queries) {
    nlohmann::json rules = nlohmann::json::array();
    for (std::string query : queries) {
      if (query.rfind("label_values(", 0) == 0) continue;
      query = std::regex_replace(query, std::regex(R"(\$__rate_interval)"), "5m");
      rules.push_back({{"record", "query:" + std::to_string(rules.size())}, {"expr", query}});
    }
    const nlohmann::json file = {{"groups", {{{"name", "dashboard"}, {"rules", rules}}}}};
    const TempFolder folder;
    std::ofstream(folder.File("rules.yml")) << file.dump();
    return Process::Run({"promtool", "check", "rules", folder.File("rules.yml")});
  };
  auto queries = testing::DashboardQueries(ReadText(kDeploy + "/grafana/outboxd.json"));
  const Finished right = checked(queries);
  EXPECT_EQ(right.exit_code, 0) << right.standard_output << right.standard_error;
  queries.push_back("sum by (table (outbox_pending)");
  EXPECT_NE(checked(queries).exit_code, 0);
}

}  // namespace
}  // namespace outbox::service
