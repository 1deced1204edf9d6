#include "demo/demo.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "demo/live.h"
#include "demo/script.h"
#include "demo/shop.h"
#include "demo/show.h"
#include "demo/summary.h"
#include "demo/terminal.h"

namespace outbox::demo {
namespace {

bool OnTerminal() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

Result<std::vector<std::string>> Play(Show& show, const DemoOptions& options) {
  if (options.script || options.json || !OnTerminal()) return RunScript(show, options.json);
  OUTBOX_ASSIGN_OR_RETURN(const auto terminal, Terminal::Open());
  return RunLive(show, *terminal);
}

}  // namespace

Status RunDemo(const DemoOptions& options) {
  if (options.orders_per_second < Shop::kRateMin || options.orders_per_second > Shop::kRateMax) {
    return Status::Invalid(base::StrCat("demo: ", options.orders_per_second,
                                        " orders a second are not possible"))
        .WithHint(base::StrCat("give --rate from ", Shop::kRateMin, " to ", Shop::kRateMax));
  }
  const QuitSignals signals;
  OUTBOX_ASSIGN_OR_RETURN(const auto show,
                          Show::Start(options.database, options.orders_per_second));
  OUTBOX_ASSIGN_OR_RETURN(auto failures, Play(*show, options));
  const Summary summary = show->Finish(std::move(failures));
  if (options.json) {
    std::fputs(base::HarmlessJson(summary.ToJson()).c_str(), stdout);
  } else {
    std::printf("\n%s", base::Harmless(summary.ToText(), "\n").c_str());
  }
  std::fflush(stdout);
  if (options.keep) std::fprintf(stderr, "%s\n", base::Harmless(show->Keep()).c_str());
  const auto problems = summary.Problems();
  if (problems.empty()) return Status::Ok();
  return Status::Permanent(Code::kInternal, base::StrCat("demo: ", base::Join(problems, "; ")));
}

}  // namespace outbox::demo
