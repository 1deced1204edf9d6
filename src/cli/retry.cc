#include "cli/commands.h"
#include "cli/repair.h"

namespace outbox::cli {

void AddRetry(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("retry", "Set dead or failed messages to pending, to be tried anew");
  auto options = std::make_shared<RepairOptions>();
  AddRepairFlags(*command, *options);
  command->callback([&action, options] {
    action = [options] {
      return RunRepair({"retry", "set to pending", &store::InspectStore::Retry}, *options);
    };
  });
}

}  // namespace outbox::cli
