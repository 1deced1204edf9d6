#include "demo/live.h"

#include "demo/rate_sampler.h"

namespace outbox::demo {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFrame{100};
constexpr std::chrono::seconds kDrainTimeout{30};
constexpr double kRateStep = 1.5;

class Live {
 public:
  Live(Show& show, Terminal& terminal) : show_(show), terminal_(terminal) {}

  std::vector<std::string> Run() {
    while (!quit_ && !QuitRequested()) {
      Draw();
      if (const auto key = terminal_.ReadKey(kFrame)) Obey(*key);
    }
    show_.LastOrders();
    const Deadline deadline = Deadline::After(kDrainTimeout);
    while (!show_.Drained(kFrame)) {
      Draw();
      if (deadline.passed()) {
        failures_.emplace_back("the relay had not delivered everything in time");
        break;
      }
    }
    return failures_;
  }

 private:
  void Draw() {
    Snapshot now = show_.Look();
    sampler_.Update(now.elapsed, now.counts.delivered);
    now.rates = sampler_.rates();
    const ScreenSize size = terminal_.Size();
    terminal_.Draw(Render(now, size), size);
  }

  void Obey(char key) {
    switch (key) {
      case 'b': show_.SetSink(SinkCondition::kDown); break;
      case 'm': show_.SetSink(SinkCondition::kWorking); break;
      case 'f': show_.SetSink(SinkCondition::kRefusing); break;
      case 'l': show_.SetSink(SinkCondition::kForgetful); break;
      case 'p': show_.PoisonNext(); break;
      case 'r':
        if (const Status restarted = show_.RestartRelay(); !restarted.ok()) {
          failures_.push_back(restarted.ToString());
          quit_ = true;
        }
        break;
      case '+':
      case '=': show_.ChangeRate(kRateStep); break;
      case '-': show_.ChangeRate(1 / kRateStep); break;
      case 'q': quit_ = true; break;
      default: break;
    }
  }

  Show& show_;
  Terminal& terminal_;
  RateSampler sampler_;
  bool quit_ = false;
  std::vector<std::string> failures_;
};

}  // namespace

std::vector<std::string> RunLive(Show& show, Terminal& terminal) {
  return Live(show, terminal).Run();
}

}  // namespace outbox::demo
