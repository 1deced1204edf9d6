#include "relay/splitter.h"

#include <algorithm>
#include <utility>

namespace outbox::relay {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kCallTimeout{30};
constexpr std::chrono::minutes kCompleteEvery{1};
constexpr std::size_t kCompleteBatch = 1000;

}  // namespace

Splitter::Splitter(std::unique_ptr<store::SplitStore> store, message::Routes routes,
                   SplitterOptions options, std::function<void()> on_split,
                   std::shared_ptr<RelayObserver> observer)
    : store_(std::move(store)),
      routes_(std::move(routes)),
      options_(std::move(options)),
      on_split_(std::move(on_split)),
      observer_(observer != nullptr ? std::move(observer) : std::make_shared<RelayObserver>()),
      random_(base::RandomBits()),
      poll_delay_(options_.poll_min) {}

std::unique_ptr<Splitter> Splitter::Start(std::unique_ptr<store::SplitStore> store,
                                          message::Routes routes, SplitterOptions options,
                                          std::function<void()> on_split,
                                          std::shared_ptr<RelayObserver> observer) {
  std::unique_ptr<Splitter> splitter(new Splitter(std::move(store), std::move(routes),
                                                  std::move(options), std::move(on_split),
                                                  std::move(observer)));
  splitter->WatchForWork();
  splitter->thread_ = std::thread([self = splitter.get()] { self->Run(); });
  return splitter;
}

Splitter::~Splitter() { Stop(); }

void Splitter::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  watch_.reset();
}

void Splitter::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

void Splitter::WatchForWork() {
  if (!options_.listen && !store_->watch_is_free()) return;
  auto watch = store_->WatchForWork([this] { Wake(); }, Deadline::After(kCallTimeout));
  if (watch.ok()) {
    watch_ = *std::move(watch);
  } else {
    observer_->OnNotice(options_.table, watch.error().message());
  }
}

void Splitter::Run() {
  Duration wait{0};
  while (Wait(wait)) {
    if (SteadyClock::now() >= complete_at_) CompleteLeftOver();
    wait = SplitOnce();
  }
}

Splitter::Duration Splitter::SplitOnce() {
  const auto started = SteadyClock::now();
  const auto report = store_->Split(routes_, options_.batch_size, Deadline::After(kCallTimeout));
  if (!report.ok()) {
    const Duration wait = store_backoff_.Next(random_);
    observer_->OnStoreError(options_.table, "split", report.error(), wait);
    return wait;
  }
  store_backoff_.Reset();
  if (report->messages == 0) {
    const Duration wait = poll_delay_;
    poll_delay_ = std::min<Duration>(poll_delay_ * 2, options_.poll_max);
    return wait / 2 + std::chrono::duration_cast<Duration>(wait / 2 * random_.Unit());
  }
  observer_->OnSplit(options_.table, report->messages, report->deliveries, report->unrouted,
                     SteadyClock::now() - started);
  if (report->deliveries > 0 && on_split_) on_split_();
  poll_delay_ = options_.poll_min;
  return report->messages >= options_.batch_size ? Duration{0} : poll_delay_;
}

void Splitter::CompleteLeftOver() {
  complete_at_ = SteadyClock::now() + kCompleteEvery;
  while (true) {
    const auto done = store_->CompleteLeftOver(kCompleteBatch, Deadline::After(kCallTimeout));
    if (!done.ok()) {
      observer_->OnStoreError(options_.table, "complete", done.error(), kCompleteEvery);
      return;
    }
    if (*done < kCompleteBatch) return;
  }
}

bool Splitter::Wait(Duration wait) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, wait, [&] { return stopping_ || woken_; });
  woken_ = false;
  return !stopping_;
}

}  // namespace outbox::relay
