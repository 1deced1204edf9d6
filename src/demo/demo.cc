#include "demo/demo.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "demo/live.h"
#include "demo/script.h"
#include "demo/shop.h"
#include "demo/show.h"
#include "demo/summary.h"
#include "demo/terminal.h"

namespace outbox::demo {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int Fail(const Status& status, int exit_code) {
  std::fprintf(stderr, "outboxd: %s\n", status.ToString().c_str());
  if (!status.hint().empty()) std::fprintf(stderr, "hint: %s\n", status.hint().c_str());
  return exit_code;
}

bool OnTerminal() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

Result<std::vector<std::string>> Play(Show& show, const DemoOptions& options) {
  if (options.script || options.json || !OnTerminal()) return RunScript(show, options.json);
  OUTBOX_ASSIGN_OR_RETURN(const auto terminal, Terminal::Open());
  return RunLive(show, *terminal);
}

}  // namespace

int RunDemo(const DemoOptions& options) {
  if (options.orders_per_second < Shop::kRateMin || options.orders_per_second > Shop::kRateMax) {
    return Fail(Status::Invalid("demo: --rate must be from 1 to 1000 orders a second"), kUsage);
  }
  const QuitSignals signals;
  const auto show = Show::Start(options.database, options.orders_per_second);
  if (!show.ok()) return Fail(show.error(), kFailed);

  auto failures = Play(**show, options);
  if (!failures.ok()) return Fail(failures.error(), kFailed);
  const Summary summary = (*show)->Finish(std::move(*failures));
  if (options.json) {
    std::fputs(summary.ToJson().c_str(), stdout);
  } else {
    std::printf("\n%s", summary.ToText().c_str());
  }
  if (options.keep) std::fprintf(stderr, "%s\n", (*show)->Keep().c_str());
  return summary.Problems().empty() ? 0 : kFailed;
}

}  // namespace outbox::demo
