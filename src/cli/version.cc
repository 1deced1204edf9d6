#include "outbox/version.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/json_object.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/flags.h"

namespace outbox::cli {

void AddVersion(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  auto json = std::make_shared<bool>(false);
  AddJsonFlag(*command, *json);
  command->callback([&action, json] {
    action = [json] {
      std::cout << (*json
                        ? base::HarmlessJson(base::JsonObject().Add("version", Version()).Finish())
                        : base::StrCat("outboxd ", Version()))
                << '\n';
      return Status::Ok();
    };
  });
}

}  // namespace outbox::cli
