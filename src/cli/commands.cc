#include "cli/commands.h"

namespace outbox::cli {
namespace {

constexpr Command kCommands[] = {
    {"serve", "Deliver", AddServe},     {"relay", "Deliver", AddRelay},
    {"enqueue", "Deliver", AddEnqueue}, {"stats", "Look", AddStats},
    {"list", "Look", AddList},          {"show", "Look", AddShow},
    {"relays", "Look", AddRelays},      {"retry", "Repair", AddRetry},
    {"delete", "Repair", AddDelete},    {"pause", "Repair", AddPause},
    {"resume", "Repair", AddResume},    {"migrate", "Set up", AddMigrate},
    {"config", "Set up", AddConfig},    {"sink", "Set up", AddSink},
    {"token", "Set up", AddToken},      {"demo", "Try", AddDemo},
#if OUTBOX_WITH_POSTGRES && OUTBOX_WITH_SQLITE
    {"bench", "Try", AddBench},
#endif
    {"version", "Set up", AddVersion},  {"help", "Set up", AddHelp},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace outbox::cli
