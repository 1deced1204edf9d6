#include "cli/commands.h"
#include "cli/repair.h"

namespace outbox::cli {

void AddDelete(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("delete", "Delete pending or dead messages; they are never delivered");
  auto options = std::make_shared<RepairOptions>();
  AddRepairFlags(*command, *options);
  command->callback([&action, options] {
    action = [options] {
      return RunRepair({"delete", "deleted", &store::InspectStore::Delete}, *options);
    };
  });
}

}  // namespace outbox::cli
