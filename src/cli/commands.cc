#include "cli/commands.h"

#include <array>

namespace outbox::cli {
namespace {

constexpr std::array<Command, 12> kCommands{{
    {"serve", "Deliver", AddServe},
    {"relay", "Deliver", AddRelay},
    {"enqueue", "Deliver", AddEnqueue},
    {"stats", "Look", AddStats},
    {"list", "Look", AddList},
    {"show", "Look", AddShow},
    {"retry", "Repair", AddRetry},
    {"delete", "Repair", AddDelete},
    {"migrate", "Set up", AddMigrate},
    {"config", "Set up", AddConfig},
    {"demo", "Try", AddDemo},
    {"version", "Set up", AddVersion},
}};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace outbox::cli
