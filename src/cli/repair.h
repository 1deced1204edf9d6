// What `retry` and `delete` share: they name their rows, show what will change and how many rows,
// ask, and refuse a database on another machine unless told otherwise.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/status.h"
#include "store/inspect_store.h"

namespace outbox::cli {

struct RepairOptions {
  std::string database;
  std::string table;
  std::vector<std::string> ids;
  bool all_dead = false;
  bool all_failed = false;
  std::string topic;
  std::string since;
  std::string until;
  std::string error;
  bool yes = false;
  bool dry_run = false;
  bool allow_remote = false;
  bool json = false;
};

// One of InspectStore::Retry and InspectStore::Delete.
using RepairCall = Result<std::size_t> (store::InspectStore::*)(const store::Scope&,
                                                                const store::RepairTarget&, bool,
                                                                std::size_t, Deadline);

struct Repair {
  std::string_view imperative;  // "retry"
  std::string_view done;        // "set to pending"
  RepairCall call;
};

void AddRepairFlags(CLI::App& command, RepairOptions& options);

Status RunRepair(const Repair& repair, const RepairOptions& options);

}  // namespace outbox::cli
