#include "relay/splitter.h"

#include <algorithm>
#include <utility>

#include "relay/lane_store.h"

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kCallTimeout{30};
constexpr std::chrono::minutes kCompleteEvery{1};
constexpr std::size_t kCompletePage = 1000;
// Pages are so many times as far apart as one of them takes.
constexpr int kCompletePause = 20;
// How long a lane that was active is waited for: while its messages may be in the others' way, and
// while they are not.
constexpr milliseconds kPatienceCrowded{100};
constexpr milliseconds kPatience{1000};
// How long a lane may go without, while those of others fill every round.
constexpr milliseconds kStarvedMax{500};
// While messages are left alone.
constexpr milliseconds kLookAgain{50};
constexpr std::chrono::seconds kGiveBackTimeout{5};

// Lanes are about to ask, and none does.
bool AllWait(const std::vector<store::LaneRequest>& lanes) {
  return !lanes.empty() && std::ranges::all_of(lanes, [](const store::LaneRequest& lane) {
    return lane.claim.limit == 0;
  });
}

}  // namespace

Splitter::Splitter(std::unique_ptr<store::SplitStore> store, message::Routes routes,
                   SplitterOptions options, std::function<void()> on_split,
                   std::shared_ptr<RelayObserver> observer, std::shared_ptr<LaneBoard> board)
    : store_(std::move(store)),
      routes_(std::move(routes)),
      options_(std::move(options)),
      on_split_(std::move(on_split)),
      observer_(observer != nullptr ? std::move(observer) : std::make_shared<RelayObserver>()),
      board_(board != nullptr
                 ? std::move(board)
                 : std::make_shared<LaneBoard>(std::vector<std::string>(), SteadyClock::now())),
      random_(base::RandomBits()),
      store_backoff_(options_.reconnect_max),
      courtesy_(options_.lease),
      poll_delay_(options_.poll_min),
      limit_(options_.batch_size) {}

std::unique_ptr<Splitter> Splitter::Start(std::unique_ptr<store::SplitStore> store,
                                          message::Routes routes, SplitterOptions options,
                                          std::function<void()> on_split,
                                          std::shared_ptr<RelayObserver> observer,
                                          std::shared_ptr<LaneBoard> board) {
  std::unique_ptr<Splitter> splitter(new Splitter(std::move(store), std::move(routes),
                                                  std::move(options), std::move(on_split),
                                                  std::move(observer), std::move(board)));
  splitter->WatchForWork();
  splitter->board_->OnAsked([self = splitter.get()] { self->Wake(); });
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
  board_->OnAsked(nullptr);
  GiveBack(board_->Close(), Deadline::After(kGiveBackTimeout));
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
    GiveBack(board_->TakeBack(SteadyClock::now()), Deadline::After(kGiveBackTimeout));
    wait = SplitOnce();
    const auto take_back = board_->next_take_back();
    if (take_back < SteadyClock::now() + wait) {
      wait = std::max<Duration>(take_back - SteadyClock::now(), Duration{0});
    }
  }
}

store::SplitRequest Splitter::MakeRequest() {
  const bool in_the_way = crowded_ && board_->lanes() > 1;
  store::SplitRequest request{
      .limit = limit_,
      .lanes = board_->BeginRound(SteadyClock::now(), in_the_way ? kPatienceCrowded : kPatience)};
  // No more than what they take, unless messages of one that waits may be in the others' way.
  std::size_t room = 0;
  bool all_take = true;
  for (const store::LaneRequest& lane : request.lanes) {
    room += lane.claim.limit;
    all_take = all_take && lane.claim.limit > 0;
  }
  request.spare_expired = courtesy_.Due(SteadyClock::now(), store_backoff_.since());
  if (lanes_only_ && all_take && room > 0) request.limit = std::min(request.limit, room);
  if (starved_since_ && SteadyClock::now() - *starved_since_ >= kStarvedMax) {
    for (store::LaneRequest& lane : request.lanes) lane.spills = true;
  }
  return request;
}

Result<store::SplitReport> Splitter::Split(const store::SplitRequest& request) {
  const auto started = SteadyClock::now();
  auto report = store_->Split(routes_, request, Deadline::After(kCallTimeout));
  if (!report.ok()) {
    board_->EndRound(false);
    return report;
  }
  const auto now = SteadyClock::now();
  for (store::LaneClaim& left : report->claims) {
    board_->Leave(left.destination, std::move(left.claim), started, now);
  }
  board_->EndRound(report->deliveries > 0);
  if (report->messages > 0) {
    observer_->OnSplit(options_.table, report->messages, report->deliveries, report->unrouted,
                       now - started);
  }
  if (report->deliveries > 0 && on_split_) on_split_();
  return report;
}

Splitter::Duration Splitter::SplitOnce() {
  const store::SplitRequest request = MakeRequest();
  if (lanes_only_ && AllWait(request.lanes)) {
    board_->EndRound(false);
    return kLookAgain;
  }
  const auto started = SteadyClock::now();
  const auto report = Split(request);
  if (!report.ok()) {
    if (report.error().code() == Code::kDeadline) limit_ = std::max<std::size_t>(limit_ / 2, 1);
    const Duration wait = store_backoff_.Next(SteadyClock::now(), random_);
    observer_->OnStoreError(options_.table, "split", report.error(), wait);
    return wait;
  }
  courtesy_.OnReached(SteadyClock::now(), store_backoff_.since());
  store_backoff_.Reset();
  crowded_ = report->found >= request.limit;
  if (crowded_ && SteadyClock::now() - started < kCallTimeout / 4) {
    limit_ = std::min(limit_ * 2, options_.batch_size);
  }
  NoteStarving(request, *report);
  if (report->found > 0) lanes_only_ = report->messages == 0;
  if (report->messages == 0 && report->claims.empty()) {
    const Duration wait = poll_delay_;
    poll_delay_ = std::min<Duration>(poll_delay_ * 2, options_.poll_max);
    if (report->left_alone > 0) return std::min<Duration>(wait, kLookAgain);
    return wait / 2 + std::chrono::duration_cast<Duration>(wait / 2 * random_.Unit());
  }
  poll_delay_ = options_.poll_min;
  return crowded_ && report->left_alone == 0 ? Duration{0} : poll_delay_;
}

// A lane that takes messages got none, since those that another has no room for fill the round.
void Splitter::NoteStarving(const store::SplitRequest& request, const store::SplitReport& report) {
  const bool spilled =
      std::ranges::any_of(request.lanes, [](const auto& lane) { return lane.spills; });
  const bool starving =
      report.left_alone > 0 &&
      std::ranges::any_of(request.lanes, [&](const store::LaneRequest& lane) {
        return lane.claim.limit > 0 &&
               std::ranges::none_of(report.claims, [&](const store::LaneClaim& left) {
                 return left.destination == lane.destination;
               });
      });
  if (!crowded_ || !(spilled || starving)) {
    starved_since_.reset();
  } else if (!starved_since_) {
    starved_since_ = SteadyClock::now();
  }
}

void Splitter::GiveBack(const std::vector<std::unique_ptr<store::Claim>>& claims,
                        Deadline deadline) {
  for (const auto& claim : claims) {
    const Status given_back = relay::GiveBack(*claim, deadline);
    if (!given_back.ok()) {
      observer_->OnStoreError(options_.table, "release", given_back, Duration::zero());
    }
    for (const Message& message : claim->exhausted()) {
      observer_->OnDead(message, Status::Permanent(Code::kInternal, "attempts used up in crashes"));
    }
  }
}

void Splitter::CompleteLeftOver() {
  const auto started = SteadyClock::now();
  const auto done =
      store_->CompleteLeftOver(complete_after_, kCompletePage, Deadline::After(kCallTimeout));
  const auto now = SteadyClock::now();
  complete_at_ = now + kCompleteEvery;
  if (!done.ok()) {
    observer_->OnStoreError(options_.table, "complete", done.error(), kCompleteEvery);
  } else if (done->looked_at < kCompletePage) {
    complete_after_ = 0;
  } else {
    complete_after_ = done->last_seq;
    complete_at_ = now + kCompletePause * (now - started);
  }
}

bool Splitter::Wait(Duration wait) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, wait, [&] { return stopping_ || woken_; });
  woken_ = false;
  return !stopping_;
}

}  // namespace outbox::relay
