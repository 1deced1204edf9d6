#include "cli/await_database.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "cli/database.h"
#include "relay/reconnect.h"

namespace outbox::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kSignalLook{50};
constexpr std::chrono::seconds kAnswerTimeout{15};
constexpr std::chrono::seconds kRemindAfter{30};

// Nothing runs yet but perhaps an attempt to connect, for which it need not wait.
[[noreturn]] void EndWaiting(const log::Logger& logger) {
  logger.Write(log::Level::kInfo, "ended", {{"waited_for", "database"}});
  _exit(EXIT_SUCCESS);
}

Status Ask(const std::string& address, const StopSignals& signals, const log::Logger& logger) {
  std::future<Status> answer = std::async(std::launch::async, [&address]() -> Status {
    OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(address));
    return backend->OpenSession(Deadline::After(kAnswerTimeout)).error();
  });
  while (answer.wait_for(milliseconds(0)) != std::future_status::ready) {
    if (signals.Wait(kSignalLook)) EndWaiting(logger);
  }
  return answer.get();
}

// Tells of the same failure once in a while only.
class Complaint {
 public:
  explicit Complaint(const log::Logger& logger) : logger_(logger) {}

  void Tell(const Status& failure, const Deadline& deadline) {
    std::string text = failure.ToString();
    const Clock::time_point now = Clock::now();
    if (text == told_ && now < next_) return;
    logger_.Write(log::Level::kWarn, "waiting for the database",
                  {{"error", text},
                   {"hint", failure.hint()},
                   {"gives_up_in_ms", deadline.remaining().count()}});
    told_ = std::move(text);
    next_ = now + kRemindAfter;
  }
  bool told() const { return !told_.empty(); }

 private:
  const log::Logger& logger_;
  std::string told_;
  Clock::time_point next_{};
};

Status GivenUp(const Status& failure, milliseconds wait) {
  if (wait.count() == 0) return failure;
  const std::string waited =
      base::StrCat("it was waited for ", base::FormatDuration(wait), " (database_wait)");
  return Status(failure.code(), failure.disposition(), failure.message())
      .WithHint(base::StrCat(failure.hint(), failure.hint().empty() ? "" : "; ", waited))
      .WithNative(failure.native());
}

}  // namespace

Status AwaitDatabase(const std::string& address, milliseconds wait, milliseconds reconnect_max,
                     const StopSignals& signals, const log::Logger& logger) {
  const Deadline deadline = Deadline::After(wait);
  base::SeededRandom random(base::RandomBits());
  relay::Reconnect reconnect(reconnect_max);
  Complaint complaint(logger);
  while (true) {
    const Status answer = Ask(address, signals, logger);
    if (answer.ok()) {
      if (complaint.told()) logger.Write(log::Level::kInfo, "the database answers", {});
      return answer;
    }
    if (answer.disposition() == Disposition::kPermanent) return answer;
    if (deadline.passed()) return GivenUp(answer, wait);
    complaint.Tell(answer, deadline);
    const auto pause = std::chrono::ceil<milliseconds>(reconnect.Next(Clock::now(), random));
    if (signals.Wait(std::min(pause, deadline.remaining()))) EndWaiting(logger);
  }
}

}  // namespace outbox::cli
