#include "sink/http/event_loop.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sink/sent_observer.h"

namespace outbox::sink {
namespace {

using std::chrono::milliseconds;

// curl has timers of its own, and callers wake the loop: these are only the longest naps.
constexpr milliseconds kNapInFlight{1000};
constexpr milliseconds kNapIdle{60'000};
// The loop ends a request at its deadline. A caller that has to end it itself waits this much
// longer.
constexpr milliseconds kGrace{150};

Deadline Later(Deadline deadline) {
  const auto latest = Deadline::Clock::time_point::max() - kGrace;
  return Deadline(std::min(deadline.at(), latest) + kGrace);
}

Status NotSent(const HttpOptions& options, std::string_view why) {
  return {Code::kNotAttempted, Disposition::kSinkDown,
          base::StrCat(options.endpoint.ToString(), ": not sent: ", why)};
}

}  // namespace

EventLoop::EventLoop(std::shared_ptr<const HttpOptions> options)
    : options_(std::move(options)), multi_(curl_multi_init()) {
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(options_->concurrency));
  curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
}

EventLoop::~EventLoop() = default;

// --- callers ---

std::optional<Answer> EventLoop::Send(HttpRequest& request, Deadline deadline) {
  const auto pending = std::make_shared<Pending>(deadline);
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (!accepting_) return std::nullopt;
    pending->request = std::move(request);
    incoming_.push_back(pending);
    wake = std::exchange(napping_, false);
  }
  if (wake) curl_multi_wakeup(multi_.get());
  {
    std::unique_lock lock(pending->mutex);
    if (options_->observer) {
      pending->answered.wait_until(lock, Later(deadline).at(),
                                   [&] { return pending->sent || pending->answer.has_value(); });
      if (pending->sent) {
        lock.unlock();
        SentObserver::Tell();
        lock.lock();
      }
    }
    if (pending->answered.wait_until(lock, Later(deadline).at(),
                                     [&] { return pending->answer.has_value(); })) {
      return std::move(*pending->answer);
    }
  }
  const std::lock_guard lock(mutex_);
  if (!pending->started) {
    std::erase(incoming_, pending);
    return Answer{NotSent(*options_, "no time was left for it")};
  }
  return Answer{Status::InDoubt(
      Code::kDeadline, base::StrCat(options_->endpoint.ToString(), " did not answer in time"))};
}

void EventLoop::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    accepting_ = false;
  }
  curl_multi_wakeup(multi_.get());
}

bool EventLoop::WaitEnded(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return ended_changed_.wait_until(lock, deadline.at(), [&] { return ended_; });
}

bool EventLoop::ended() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

// --- the loop ---

void EventLoop::Run() {
  while (TakeIncoming()) {
    for (PendingPtr& pending : taken_) Start(std::move(pending));
    taken_.clear();
    int running = 0;
    if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) break;
    if (!Collect()) Nap();
  }
  GiveUp(CURLE_ABORTED_BY_CALLBACK);
  idle_.clear();
  const std::lock_guard lock(mutex_);
  ended_ = true;
  ended_changed_.notify_all();
}

bool EventLoop::TakeIncoming() {
  const std::lock_guard lock(mutex_);
  napping_ = false;
  if (stopping_ || multi_ == nullptr) return false;
  taken_.swap(incoming_);
  for (const PendingPtr& pending : taken_) pending->started = true;
  return accepting_ || !taken_.empty() || !in_flight_.empty();
}

void EventLoop::Start(PendingPtr pending) {
  if (idle_.empty()) {
    idle_.emplace_front(*options_);
    Flight& made = idle_.front();
    made.self = idle_.begin();
    curl_easy_setopt(made.transfer.handle(), CURLOPT_PRIVATE, &made);
  }
  Flight& flight = idle_.front();
  std::function<void()> sent;
  if (options_->observer) sent = [pending] { TellSent(*pending); };
  flight.transfer.Prepare(std::move(pending->request),
                          std::min(options_->timeout, pending->deadline.remaining()),
                          std::move(sent));
  flight.pending = std::move(pending);
  in_flight_.splice(in_flight_.end(), idle_, flight.self);
  if (curl_multi_add_handle(multi_.get(), flight.transfer.handle()) != CURLM_OK) {
    Tell(Land(flight, CURLE_FAILED_INIT));
  }
}

bool EventLoop::Collect() {
  bool any = false;
  int queued = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &queued)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    if (code == CURLE_OPERATION_TIMEDOUT && options_->multiplexed()) {
      const std::lock_guard lock(mutex_);
      accepting_ = false;
    }
    Flight* flight = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &flight);
    Tell(Land(*flight, code));
    any = true;
  }
  return any;
}

EventLoop::Landed EventLoop::Land(Flight& flight, CURLcode code) {
  std::vector<std::string_view> in_flight;
  if (options_->excerpt > 0) {
    for (const Flight& other : in_flight_) in_flight.push_back(other.transfer.body());
  }
  Landed landed{std::move(flight.pending), flight.transfer.Finish(code, in_flight)};
  curl_multi_remove_handle(multi_.get(), flight.transfer.handle());
  idle_.splice(idle_.begin(), in_flight_, flight.self);
  return landed;
}

void EventLoop::Tell(Landed landed) {
  {
    const std::lock_guard lock(landed.pending->mutex);
    landed.pending->answer = std::move(landed.answer);
  }
  landed.pending->answered.notify_one();
}

void EventLoop::TellSent(Pending& pending) {
  {
    const std::lock_guard lock(pending.mutex);
    pending.sent = true;
  }
  pending.answered.notify_one();
}

void EventLoop::GiveUp(CURLcode code) {
  while (!in_flight_.empty()) Tell(Land(in_flight_.front(), code));
  {
    const std::lock_guard lock(mutex_);
    accepting_ = false;
    taken_.swap(incoming_);
  }
  for (PendingPtr& pending : taken_) {
    Tell({std::move(pending), Answer{NotSent(*options_, "the sink was closed")}});
  }
  taken_.clear();
}

void EventLoop::Nap() {
  {
    const std::lock_guard lock(mutex_);
    if (!incoming_.empty() || stopping_) return;
    if (!accepting_ && in_flight_.empty()) return;
    napping_ = true;
  }
  const milliseconds nap = in_flight_.empty() ? kNapIdle : kNapInFlight;
  curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(nap.count()), nullptr);
}

}  // namespace outbox::sink
