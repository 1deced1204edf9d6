#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "demo/demo.h"

namespace outbox::cli {

void AddDemo(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "demo", "A small shop, a relay, and a sink you can break: nothing is lost");
  auto options = std::make_shared<demo::DemoOptions>();
  // OUTBOX_DB is not read: a demo must not find its way into somebody's database by itself.
  command->add_option(
      "--db", options->database,
      "Play on this database, in tables of its own (default: a temporary SQLite file)");
  command->add_option("--rate", options->orders_per_second, "Orders a second at the start")
      ->capture_default_str();
  command->add_flag("--script", options->script, "Play the script, also on a terminal");
  command->add_flag("--keep", options->keep, "Leave the database behind for a look");
  AddJsonFlag(*command, options->json);
  command->callback([&action, options] { action = [options] { return demo::RunDemo(*options); }; });
}

}  // namespace outbox::cli
