// `outboxd bench`, on so few messages that the figures mean nothing: it measures, compares, reports
// and cleans up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/postgres.h"
#include "tests/support/process.h"

namespace outbox::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class BenchTest : public ::testing::Test {
 protected:
  BenchTest() { std::filesystem::create_directories(folder_); }
  ~BenchTest() override { std::filesystem::remove_all(folder_); }

  Finished Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {OUTBOXD_PATH, "bench"});
    return Process::Run(arguments, {.environment = {{"TMPDIR", folder_}}});
  }

  const std::string folder_ =
      ::testing::TempDir() + "outbox-bench-test." + std::to_string(getpid());
  const std::string json_ = folder_ + ".json";
  const std::string svg_ = folder_ + ".svg";
};

TEST_F(BenchTest, DrainsBothStoresAndLeavesNothingBehind) {
  OUTBOX_REQUIRE_POSTGRES();
  const Finished bench = Run({"--db", SharedPostgresUrl(), "--quick", "--only", "drain",
                              "--messages", "500", "--json", json_, "--svg", svg_});
  ASSERT_EQ(bench.exit_code, 0) << bench.standard_output << bench.standard_error;
  EXPECT_THAT(bench.standard_output, HasSubstr("drain rate, PostgreSQL"));

  const auto report = nlohmann::json::parse(std::ifstream(json_));
  EXPECT_EQ(report.at("figures").size(),
            16);  // two stores, two modes, kept or not, two batch sizes
  for (const auto& figure : report.at("figures")) {
    EXPECT_GT(figure.at("value").at("median").get<double>(), 0) << figure;
    EXPECT_TRUE(figure.contains("ratio")) << figure;
  }
  EXPECT_GT(std::filesystem::file_size(svg_), 1000);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(BenchTest, ComparesSinksWithRawClientsOnStandIns) {
  OUTBOX_REQUIRE_POSTGRES();
  const Finished bench =
      Run({"--db", SharedPostgresUrl(), "--quick", "--only", "sinks", "--messages", "4000",
           "--sink", "http", "--sink", "kafka", "--json", json_});
  ASSERT_EQ(bench.exit_code, 0) << bench.standard_output << bench.standard_error;
  const auto report = nlohmann::json::parse(std::ifstream(json_));
  // Each sink alone, and a relay with it, draining in two ways and compared in three ways.
  ASSERT_EQ(report.at("figures").size(), 14);
  for (const auto& figure : report.at("figures")) {
    EXPECT_GT(figure.at("value").at("median").get<double>(), 0) << figure;
    EXPECT_GT(figure.at("ratio").at("median").get<double>(), 0) << figure;
  }
}

TEST_F(BenchTest, MeasuresEventsOnTheirWayBesidePgq) {
  OUTBOX_REQUIRE_POSTGRES();
  const Finished bench =
      Run({"--db", SharedPostgresUrl(), "--quick", "--only", "flow", "--json", json_});
  ASSERT_EQ(bench.exit_code, 0) << bench.standard_output << bench.standard_error;
  const auto report = nlohmann::json::parse(std::ifstream(json_));
  int compared = 0;
  for (const auto& figure : report.at("figures")) {
    const bool disk = figure.at("unit") == "bytes/event";
    EXPECT_GE(figure.at("value").at("median").get<double>(), disk ? 0 : 1e-9) << figure;
    compared += figure.contains("ratio") ? 1 : 0;
  }
  // PgQ, and outboxd in four ways: rate, two percentiles, two sides' processor, WAL and disk.
  EXPECT_EQ(report.at("figures").size(), 35) << bench.standard_output;
  EXPECT_EQ(compared, 28);
}

// A rival whose set-up costs a second of a processor and megabytes of WAL, and whose events cost
// nothing.
TEST_F(BenchTest, WhatASideSpendsBeforeItMeasuresIsNotInItsFigures) {
  OUTBOX_REQUIRE_POSTGRES();
  const std::string peers = folder_ + ".peers";
  std::filesystem::create_directories(peers);
  const auto rival = [&](const char* says) {
    std::ofstream(peers + "/run") << R"(
for ((i = 0; i < 300000; ++i)); do :; done
psql -q "$1" -c 'DROP TABLE IF EXISTS filler' \
  -c 'CREATE TABLE filler AS SELECT generate_series(1, 300000)'
)" << says;
    // A server of its own, where nobody else writes WAL.
    return Run({"--quick", "--only", "flow", "--peers", peers, "--json", json_});
  };
  const Finished bench = rival(R"(
echo measuring
echo measured
echo '{"events": 10, "rate": 10, "p50": 1, "p99": 1, "processor": 0.001}'
)");
  ASSERT_EQ(bench.exit_code, 0) << bench.standard_output << bench.standard_error;
  int seen = 0;
  const nlohmann::json report = nlohmann::json::parse(std::ifstream(json_));
  for (const auto& figure : report.at("figures")) {
    const std::string what = figure.at("what");
    const double value = figure.at("value").at("median").get<double>();
    if (what == "graphile-worker, local queue, clients' processor") {
      EXPECT_DOUBLE_EQ(value, 100);
      ++seen;
    }
    if (what == "graphile-worker, local queue, WAL") {
      EXPECT_LT(value, 100'000);  // the table is a megabyte for each of the ten events
      ++seen;
    }
  }
  EXPECT_EQ(seen, 2) << bench.standard_output;

  const Finished mute = rival(R"(echo '{"events": 10, "rate": 10, "p50": 1, "p99": 1}')");
  EXPECT_NE(mute.exit_code, 0);
  EXPECT_THAT(mute.standard_error, HasSubstr("graphile-worker"));
  std::filesystem::remove_all(peers);
}

TEST_F(BenchTest, ASinkThatCanNotBeComparedOrReachedIsNamed) {
  OUTBOX_REQUIRE_POSTGRES();
  const std::vector<std::string> sinks{"--db",  SharedPostgresUrl(), "--quick", "--only", "sinks",
                                       "--sink"};
  const auto with = [&](const std::string& sink) {
    std::vector<std::string> arguments = sinks;
    arguments.push_back(sink);
    return Run(arguments);
  };
  const Finished file = with("file:/tmp/x");
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_THAT(file.standard_error, HasSubstr("amqp:, http:, kafka:, nats: or redis:"));
  const Finished away = with("redis://:canary@127.0.0.1:1?stream=s");
  EXPECT_NE(away.exit_code, 0);
  EXPECT_THAT(away.standard_error, HasSubstr("raw redis: connecting"));
  EXPECT_THAT(away.standard_error + away.standard_output, Not(HasSubstr("canary")));
}

TEST_F(BenchTest, NumbersThatWouldHangOrFillTheDiskAreRefused) {
  for (const char* option : {"--messages", "--history-rows", "--rounds", "--clients"}) {
    for (const char* value : {"0", "-3", "99999999999", "many"}) {
      const Finished bench = Run({"--only", "drain", option, value});
      EXPECT_EQ(bench.exit_code, 2) << option << " " << value;
      EXPECT_THAT(bench.standard_error, HasSubstr(option)) << value;
    }
  }
}

TEST_F(BenchTest, UnknownScenarioIsNamedWithThoseThatExist) {
  const Finished bench = Run({"--only", "drian"});
  EXPECT_EQ(bench.exit_code, 2);
  EXPECT_THAT(bench.standard_error, HasSubstr("'drian'"));
  EXPECT_THAT(bench.standard_error, HasSubstr("drain"));
}

TEST_F(BenchTest, ServerThatIsAwayIsAFailureWithAHint) {
  const Finished bench =
      Run({"--db", "postgres://postgres@127.0.0.1:1/postgres", "--only", "idle"});
  EXPECT_EQ(bench.exit_code, 1);
  EXPECT_THAT(bench.standard_error, HasSubstr("hint:"));
}

}  // namespace
}  // namespace outbox::testing
