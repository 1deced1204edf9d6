// Summary: what the demo found when it compared what was committed with what arrived.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "demo/ledger.h"
#include "demo/monitor.h"
#include "outbox/status.h"

namespace outbox::demo {

struct Summary {
  std::string database;
  std::chrono::milliseconds elapsed{0};
  LedgerCounts counts;
  RelayView relay;
  Audit audit;
  std::uint64_t probes = 0;
  // What else went wrong: a step of the script, the shop, the drain.
  std::vector<std::string> failures;

  // Every reason why this run is not good; empty when committed = delivered (or dead, if that was
  // asked for), nothing was lost or made up, and no outage cost an attempt.
  std::vector<std::string> Problems() const;
  // For people, several lines.
  std::string ToText() const;
  // One JSON object and a line feed.
  std::string ToJson() const;
};

}  // namespace outbox::demo
