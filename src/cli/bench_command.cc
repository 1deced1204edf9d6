#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.h"
#include "bench/bench.h"
#include "cli/commands.h"

namespace outbox::cli {

void AddBench(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Measure this machine, database and build");
  auto options = std::make_shared<bench::BenchOptions>();
  command->add_option("--db", options->db,
                      "PostgreSQL server for a scratch database (default: a private server)");
  command->add_flag("--quick", options->quick, "Fewer messages, one round: under three minutes");
  command
      ->add_option("--only", options->only,
                   base::StrCat("Only these: ", base::Join(bench::ScenarioNames(), ", ")))
      ->delimiter(',');
  // Limits, so that a slip of the hand does not fill the disk.
  command->add_option("--messages", options->messages, "Messages waiting (default 200000)")
      ->check(CLI::Range(std::size_t{100}, std::size_t{10'000'000}));
  command
      ->add_option("--history-rows", options->history_rows,
                   "Delivered rows of the history run (default 10000000)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}));
  command->add_option("--rounds", options->rounds, "Rounds, of which the median counts (default 3)")
      ->check(CLI::Range(1, 100));
  command->add_option("--clients", options->clients, "Producers of the enqueue run")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--peers", options->peers, "Folder with the rivals' programs (bench/peers)");
  command->add_option("--sink", options->sinks,
                      "Compare the relay and a raw client at this sink's address; 'http' and "
                      "'kafka' start stand-ins. Can be repeated");
  command->add_option("--build-seconds", options->build_seconds,
                      "What a build from nothing took, for the report");
  command->add_option("--json", options->json_path, "Write the report as JSON to this file");
  command->add_option("--svg", options->svg_path, "Write a plot to this file");
  command->add_flag("--check", options->check, "Fail when a bar is missed");
  command->callback(
      [&action, options] { action = [options] { return bench::RunBench(*options); }; });
}

}  // namespace outbox::cli
