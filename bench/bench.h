// `outboxd bench`: measures this machine, this database and this build, and compares.
//
// Absolute rates say little: they move with the machine. So each figure that has a bar is a ratio
// of two sides measured alternately in one run, or a limit that any machine should keep.
//
// Threads: RunBench is called once, from the main thread; it blocks until the report is written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "outbox/status.h"

namespace outbox::bench {

struct BenchOptions {
  // A PostgreSQL server on which a scratch database may be created and dropped. Empty: a private
  // server is started for the run.
  std::string db;
  // Fewer messages, one round: a few minutes altogether, for a first impression.
  bool quick = false;
  // Names of scenarios; empty runs all of them.
  std::vector<std::string> only;
  // What the defaults below are replaced by; no value: 200,000, 10 million, 3 (50,000, 300,000 and
  // 1 when quick).
  std::optional<std::size_t> messages;
  std::optional<std::size_t> history_rows;
  std::optional<int> rounds;
  int clients = 16;
  // The folder of the rivals' programs (bench/peers, after npm install); empty: not compared.
  std::string peers;
  // Addresses of sinks to measure; "http" and "kafka" stand for stand-ins of the bench's own.
  std::vector<std::string> sinks;
  // How long `make build` took from nothing, when the caller measured it.
  std::optional<double> build_seconds;
  // Where to write the report besides standard output; empty: nowhere.
  std::string json_path;
  std::string svg_path;
  // Fail when a bar is missed, for use in scripts.
  bool check = false;
};

// The names that `only` takes, in the order they run.
std::vector<std::string> ScenarioNames();

// Runs the scenarios, prints progress on standard error and the report on standard output.
// kInvalidArgument for an unknown scenario, before anything is done; any other failure when a
// scenario failed (the others were run and reported all the same) or, with `check`, a bar was
// missed.
Status RunBench(const BenchOptions& options);

}  // namespace outbox::bench
