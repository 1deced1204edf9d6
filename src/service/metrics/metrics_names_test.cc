// Rules, dashboard and reference page against a real exposition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "service/metrics/every_event.h"
#include "service/metrics/metric_names.h"
#include "service/metrics/scrape.h"

namespace outbox::service {
namespace {

using ::testing::ContainerEq;
using testing::DashboardQueries;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::NamesInQuery;
using testing::ReadText;
using testing::Scrape;
using ::testing::UnorderedElementsAre;
using testing::YamlValues;

const std::string kRules = OUTBOX_SOURCE "/deploy/prometheus/rules.yml";
const std::string kRulesTest = OUTBOX_SOURCE "/deploy/prometheus/rules_test.yml";
const std::string kDashboard = OUTBOX_SOURCE "/deploy/grafana/outboxd.json";
const std::string kPage = OUTBOX_SOURCE "/docs/reference/metrics.md";
const std::string kAlertsPage = OUTBOX_SOURCE "/docs/operating/alerts.md";

// The metrics and labels of `queries` that neither we nor Prometheus nor `rules` have.
std::set<std::string> Unknown(const std::vector<std::string>& queries, const std::string& rules) {
  const Scrape scrape(testing::ExpositionOfEveryEvent());
  std::set<std::string> known;
  for (const auto& [name, type] : scrape.types()) known.insert(name);
  for (const std::string& recorded : YamlValues(rules, "record")) known.insert(recorded);
  std::set<std::string> labels = scrape.label_names();
  labels.insert({"instance", "job", "le"});
  std::set<std::string> unknown;
  for (const std::string& query : queries) {
    const auto names = NamesInQuery(query);
    for (const std::string& metric : names.metrics) {
      if (!known.contains(scrape.FamilyOf(metric))) unknown.insert(metric);
    }
    for (const std::string& label : names.labels) {
      if (!labels.contains(label)) unknown.insert(label);
    }
  }
  return unknown;
}

TEST(MetricNames, OfAQuery) {
  const auto names = NamesInQuery(
      R"(histogram_quantile(0.95, sum by (table, le) (rate(a_seconds_bucket{result=~"x|not_me"}[5m])))
         unless on (sink) (0 * count(b_total offset 5m) > 1e3) or a:b:c)");
  EXPECT_THAT(names.metrics, UnorderedElementsAre("a_seconds_bucket", "b_total", "a:b:c"));
  EXPECT_THAT(names.labels, UnorderedElementsAre("table", "le", "result", "sink"));
  EXPECT_THAT(NamesInQuery("label_values(up, table)").metrics, ElementsAre("up"));
}

TEST(MetricNames, OfTheRulesExist) {
  const std::string rules = ReadText(kRules);
  const auto queries = YamlValues(rules, "expr");
  ASSERT_EQ(queries.size(), YamlValues(rules, "record").size() + YamlValues(rules, "alert").size());
  ASSERT_GE(queries.size(), 10U);
  EXPECT_THAT(Unknown(queries, rules), IsEmpty());
}

TEST(MetricNames, OfTheDashboardExist) {
  const auto queries = DashboardQueries(ReadText(kDashboard));
  ASSERT_GE(queries.size(), 30U);
  EXPECT_THAT(Unknown(queries, ReadText(kRules)), IsEmpty());
}

TEST(MetricNames, TheDashboardShowsEveryMetricOfTheRelay) {
  std::string all;
  for (const std::string& query : DashboardQueries(ReadText(kDashboard))) all += query + "\n";
  const Scrape scrape(testing::ExpositionOfEveryEvent());
  for (const auto& [name, type] : scrape.types()) {
    if (name.rfind("outbox_", 0) != 0 || name == "outbox_sample_age_seconds") continue;
    EXPECT_NE(all.find(name), std::string::npos) << name;
  }
}

// The negative control: each mistake is noticed.
TEST(MetricNames, WrongOnesAreFound) {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::string rules = ReadText(kRules);
  const std::string dashboard = ReadText(kDashboard);
  const auto in_rules = [&](const std::string& from, const std::string& to) {
    const std::string text = replaced(rules, from, to);
    return Unknown(YamlValues(text, "expr"), text);
  };
  EXPECT_THAT(in_rules("(outbox_pending)", "(outbox_pendign)"), ElementsAre("outbox_pendign"));
  EXPECT_THAT(in_rules("(outbox_pending)", "(pending)"), ElementsAre("pending"));
  EXPECT_THAT(in_rules("outbox_dispatch_total{result", "outbox_dispatch_total{reslut"),
              ElementsAre("reslut"));
  EXPECT_THAT(in_rules("record: outbox:failure_rate", "record: outbox:failed"),
              ElementsAre("outbox:failure_rate"));
  // A gauge has no buckets.
  EXPECT_THAT(in_rules("(outbox_pending)", "(outbox_pending_bucket)"),
              ElementsAre("outbox_pending_bucket"));
  EXPECT_THAT(Unknown(DashboardQueries(replaced(dashboard, "(outbox_due{", "(outbox_dew{")), rules),
              ElementsAre("outbox_dew"));
}

// --- the reference page ---

struct PageMetric {
  std::string type;
  std::set<std::string> labels;
  bool operator==(const PageMetric&) const = default;
};

std::ostream& operator<<(std::ostream& out, const PageMetric& metric) {
  out << metric.type;
  for (const std::string& label : metric.labels) out << " " << label;
  return out;
}

// Rows "| `name` | type | `label` `label` | meaning |" of a page.
std::map<std::string, PageMetric> PageMetrics(const std::string& page) {
  std::map<std::string, PageMetric> metrics;
  std::istringstream lines(page);
  const std::regex word("[a-z_]+");
  for (std::string line; std::getline(lines, line);) {
    const auto cells = base::Split(line, '|');
    if (cells.size() != 6 || base::Trim(cells[1]).rfind("`", 0) != 0) continue;
    const std::string name(base::Trim(cells[1]));
    PageMetric metric{.type = std::string(base::Trim(cells[2]))};
    for (std::sregex_iterator label(cells[3].begin(), cells[3].end(), word), end; label != end;
         ++label) {
      metric.labels.insert(label->str());
    }
    metrics[name.substr(1, name.size() - 2)] = metric;
  }
  return metrics;
}

std::map<std::string, PageMetric> RealMetrics() {
  const Scrape scrape(testing::ExpositionOfEveryEvent());
  std::map<std::string, PageMetric> metrics;
  for (const auto& [name, labels] : scrape.family_labels()) {
    metrics[name] = {.type = scrape.types().at(name), .labels = labels};
  }
  return metrics;
}

TEST(MetricsPage, ListsExactlyTheMetricsThereAre) {
  EXPECT_THAT(PageMetrics(ReadText(kPage)), ContainerEq(RealMetrics()));
}

TEST(MetricsPage, ADifferenceEitherWayIsFound) {
  const std::string page = ReadText(kPage);
  EXPECT_NE(PageMetrics(page + "| `outbox_extra_total` | counter | `table` | x |\n"),
            RealMetrics());
  EXPECT_NE(PageMetrics(std::regex_replace(page, std::regex("`outbox_due`"), "outbox_due")),
            RealMetrics());
  EXPECT_NE(PageMetrics(std::regex_replace(page, std::regex(R"(`outbox_due` \| gauge)"),
                                           "`outbox_due` | counter")),
            RealMetrics());
}

// --- the alerts ---

std::set<std::string> AlertNames() {
  const auto names = YamlValues(ReadText(kRules), "alert");
  return {names.begin(), names.end()};
}

TEST(Alerts, EachHasItsSectionOnThePage) {
  std::set<std::string> sections;
  std::istringstream lines(ReadText(kAlertsPage));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("## Outbox", 0) == 0) sections.insert(line.substr(3));
  }
  EXPECT_THAT(sections, ContainerEq(AlertNames()));
}

TEST(Alerts, EachIsTestedToFireAndNotToFire) {
  const std::string tests = ReadText(kRulesTest);
  std::set<std::string> silent;
  const std::regex quiet(R"(alertname: (\w+), exp_alerts: \[\])");
  for (std::sregex_iterator found(tests.begin(), tests.end(), quiet), end; found != end; ++found) {
    silent.insert((*found)[1]);
  }
  std::set<std::string> firing;
  const std::regex fires(R"(alertname: (\w+)\n\s+exp_alerts:\n\s+- exp_labels)");
  for (std::sregex_iterator found(tests.begin(), tests.end(), fires), end; found != end; ++found) {
    firing.insert((*found)[1]);
  }
  EXPECT_THAT(firing, ContainerEq(AlertNames()));
  EXPECT_THAT(silent, ContainerEq(AlertNames()));
}

}  // namespace
}  // namespace outbox::service
