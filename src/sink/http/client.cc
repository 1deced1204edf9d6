#include "sink/http/client.h"

#include <system_error>
#include <utility>

#include "base/detached_thread.h"
#include "base/text.h"

namespace outbox::sink {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kCloseTimeout{5};
// A request that is started with less time than this can not be answered in it.
constexpr milliseconds kTimeToSend{10};
// Loops asked one after the other, each made for this call.
constexpr int kLoopsMax = 3;

Status TooLarge(std::size_t header_bytes) {
  return Status::Invalid(base::StrCat("headers: take ", header_bytes,
                                      " bytes as they are sent, over the limit of ",
                                      kHeaderBytesMax))
      .WithHint(
          "enqueue it with fewer or shorter headers; other characters than ASCII take three "
          "bytes for each of theirs");
}

}  // namespace

Client::Client(std::shared_ptr<const HttpOptions> options) : options_(std::move(options)) {}

Client::~Client() { Close(Deadline::After(kCloseTimeout)); }

Status Client::Send(HttpRequest request, Deadline deadline) {
  if (const std::size_t bytes = HeaderBytes(request); bytes > kHeaderBytesMax) {
    return TooLarge(bytes);
  }
  if (deadline.remaining() < kTimeToSend) {
    return {Code::kNotAttempted, Disposition::kSinkDown, "not sent: no time was left for it"};
  }
  OUTBOX_RETURN_IF_ERROR(Held());
  std::shared_ptr<EventLoop> loop;
  for (int i = 0; i < kLoopsMax; ++i) {
    OUTBOX_ASSIGN_OR_RETURN(loop, Current(loop));
    const auto answer = loop->Send(request, deadline);
    if (!answer) continue;
    if (answer->hold) Hold(*answer);
    return answer->status;
  }
  return {Code::kNotAttempted, Disposition::kSinkDown,
          base::StrCat(options_->endpoint.ToString(), ": not sent: the client does not work")};
}

Result<std::shared_ptr<EventLoop>> Client::Current(const std::shared_ptr<EventLoop>& refused) {
  const std::lock_guard lock(mutex_);
  if (!loops_.empty() && loops_.back().loop != refused) return loops_.back().loop;
  loops_.remove_if([](Running& running) {
    if (!running.loop->ended()) return false;
    running.thread.join();
    return true;
  });
  try {
    auto loop = std::make_shared<EventLoop>(options_);
    loops_.push_back({loop, std::thread([loop] { loop->Run(); })});
    return loop;
  } catch (const std::system_error& error) {
    return Status::SinkDown(base::StrCat("can not start a thread for ",
                                         options_->endpoint.ToString(), ": ", error.what()));
  }
}

Status Client::Held() {
  const std::lock_guard lock(mutex_);
  const auto left = std::chrono::ceil<milliseconds>(held_until_ - steady_clock::now());
  if (left <= milliseconds::zero()) return Status::Ok();
  return Status(Code::kNotAttempted, Disposition::kSinkDown, held_by_.message())
      .WithNative(held_by_.native())
      .WithRetryAfter(left);
}

void Client::Hold(const Answer& answer) {
  const std::lock_guard lock(mutex_);
  const auto until = steady_clock::now() + *answer.hold;
  if (until <= held_until_) return;
  held_until_ = until;
  held_by_ = answer.for_others;
}

void Client::Close(Deadline deadline) noexcept {
  std::list<Running> loops;
  {
    const std::lock_guard lock(mutex_);
    loops.swap(loops_);
  }
  for (const Running& running : loops) running.loop->Stop();
  for (Running& running : loops) {
    // One that does not end is left behind; it keeps alive what it uses.
    if (running.loop->WaitEnded(deadline)) {
      running.thread.join();
      continue;
    }
    running.thread.detach();
    base::DetachedThreads::Add();  // for good: nobody hears of its end
  }
}

}  // namespace outbox::sink
