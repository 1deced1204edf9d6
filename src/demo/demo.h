// The demo: a small shop writes orders and their events in one transaction, a real relay delivers
// them to a sink that can be broken and mended, and an audit at the end says whether anything was
// lost. On a terminal it is a live view with keys; elsewhere a script of a quarter of a minute.
#pragma once

#include <string>

#include "outbox/status.h"

namespace outbox::demo {

struct DemoOptions {
  // Where the shop lives: as --db. Empty is a SQLite file in a temporary folder of its own.
  std::string database;
  // Runs the script also on a terminal.
  bool script = false;
  // Runs the script and prints only its summary, as one JSON object.
  bool json = false;
  // Leaves the database (or, with `database`, the demo's tables) behind for a look.
  bool keep = false;
  // Orders a second at the start.
  int orders_per_second = 40;
};

// Runs to its end and prints its summary. OK when everything committed was delivered and the outage
// cost no attempts; otherwise the failure says what was wrong. kInvalidArgument: an option makes no
// sense, and nothing was started.
//
// Call from the main thread; handles SIGINT, SIGTERM and SIGHUP while it runs.
Status RunDemo(const DemoOptions& options);

}  // namespace outbox::demo
