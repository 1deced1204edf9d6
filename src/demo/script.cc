#include "demo/script.h"

#include <cstdio>
#include <functional>
#include <thread>

#include "base/text.h"
#include "demo/terminal.h"

namespace outbox::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTick{20};
constexpr milliseconds kReportEvery{1000};
// Generous: on a loaded machine a step takes longer, and only then.
constexpr seconds kStepTimeout{30};

class Script {
 public:
  Script(Show& show, bool quiet) : show_(show), quiet_(quiet) {}

  std::vector<std::string> Run() {
    Flow();
    Outage();
    Recovery();
    Refusals();
    Restart();
    LastOrders();
    if (QuitRequested()) failures_.emplace_back("interrupted");
    return failures_;
  }

 private:
  using Condition = std::function<bool(const Snapshot&)>;

  void Flow() {
    Step("orders flow");
    Play(seconds(2));
    Expect("nothing was delivered", [](const Snapshot& now) { return now.counts.delivered > 0; });
  }

  void Outage() {
    Step("the sink breaks");
    show_.SetSink(SinkCondition::kDown);
    Expect("the relay did not notice that the sink went down",
           [](const Snapshot& now) { return now.relay.state == RelayState::kWaitingForSink; });
    const Snapshot before = show_.Look();
    Play(seconds(3));
    const Snapshot after = show_.Look();
    if (after.counts.delivered != before.counts.delivered) {
      failures_.emplace_back("messages were delivered while the sink was down");
    }
    if (after.counts.committed == before.counts.committed && !QuitRequested()) {
      failures_.emplace_back("the shop stopped selling while the sink was down");
    }
  }

  void Recovery() {
    Step("the sink is mended");
    show_.SetSink(SinkCondition::kWorking);
    Expect("the backlog was not delivered after the sink was mended", [](const Snapshot& now) {
      return now.relay.state == RelayState::kRunning &&
             (!now.oldest_age || *now.oldest_age < milliseconds(500));
    });
    Play(seconds(1));
  }

  void Refusals() {
    Step("the sink refuses some");
    show_.SetSink(SinkCondition::kRefusing);
    Expect("no message was retried", [](const Snapshot& now) { return now.relay.retried >= 10; });
    Play(seconds(2));
    show_.SetSink(SinkCondition::kWorking);
  }

  void Restart() {
    Step("the relay restarts");
    if (const Status restarted = show_.RestartRelay(); !restarted.ok()) {
      failures_.push_back(restarted.ToString());
    }
    Play(seconds(2));
  }

  void LastOrders() {
    Step("last orders");
    show_.LastOrders();
    const Deadline deadline = Deadline::After(kStepTimeout);
    while (!show_.Drained(kTick * 10)) {
      Report();
      if (!deadline.passed()) continue;
      failures_.emplace_back("the relay had not delivered everything in time");
      break;
    }
    Line();
  }

  void Step(const char* name) {
    step_ = name;
    Line();
  }

  void Play(milliseconds duration) {
    const Deadline end = Deadline::After(duration);
    while (!end.passed() && !QuitRequested()) Pass();
  }

  void Expect(const char* otherwise, const Condition& condition) {
    const Deadline deadline = Deadline::After(kStepTimeout);
    while (!condition(show_.Look())) {
      if (QuitRequested()) return;
      if (deadline.passed()) {
        failures_.emplace_back(otherwise);
        return;
      }
      Pass();
    }
  }

  void Pass() {
    Report();
    std::this_thread::sleep_for(kTick);
  }

  void Report() {
    if (show_.Look().elapsed >= next_report_) Line();
  }

  void Line() {
    const Snapshot now = show_.Look();
    next_report_ = now.elapsed + kReportEvery;
    if (quiet_) return;
    std::printf(
        "%5.1f s  %-22s committed %-6llu delivered %-6llu pending %-6llu retried %-5llu %s\n",
        static_cast<double>(now.elapsed.count()) / 1000, step_,
        static_cast<unsigned long long>(now.counts.committed),
        static_cast<unsigned long long>(now.counts.delivered),
        static_cast<unsigned long long>(now.pending()),
        static_cast<unsigned long long>(now.relay.retried),
        base::InWords(ToString(now.relay.state)).c_str());
    std::fflush(stdout);
  }

  Show& show_;
  const bool quiet_;
  const char* step_ = "";
  milliseconds next_report_{0};
  std::vector<std::string> failures_;
};

}  // namespace

std::vector<std::string> RunScript(Show& show, bool quiet) { return Script(show, quiet).Run(); }

}  // namespace outbox::demo
