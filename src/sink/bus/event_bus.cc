#include "outbox/event_bus.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "base/text.h"
#include "message/validate.h"

namespace outbox {
namespace event_bus_detail {

class Entry {
 public:
  Entry(std::uint64_t number, std::string_view pattern,
        std::function<Status(const Message&)> function)
      : id(number), topics(pattern), subscriber(std::move(function)) {}

  const std::uint64_t id;
  const std::string topics;
  const std::function<Status(const Message&)> subscriber;

  // False after Cancel. A call that begins is to End.
  bool Begin() {
    if ((state_.fetch_add(kOneCall) & kCancelled) == 0) return true;
    End();
    return false;
  }
  void End() {
    if (state_.fetch_sub(kOneCall) == kCancelled + kOneCall) state_.notify_all();
  }
  void Cancel() { state_.fetch_or(kCancelled); }
  // After Cancel.
  void WaitForCalls() const {
    for (std::uint32_t now = state_; now != kCancelled; now = state_) state_.wait(now);
  }

 private:
  static constexpr std::uint32_t kCancelled = 1;
  static constexpr std::uint32_t kOneCall = 2;

  std::atomic<std::uint32_t> state_ = 0;  // calls that run, and whether more may
};

using Entries = std::vector<std::shared_ptr<Entry>>;

}  // namespace event_bus_detail

namespace {

using base::StrCat;
using event_bus_detail::Entries;
using event_bus_detail::Entry;

// Of any bus, on this thread.
thread_local int calls_around_us = 0;

// Between Entry::Begin and its end.
class RunningCall {
 public:
  explicit RunningCall(Entry& entry) : entry_(entry) { ++calls_around_us; }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;
  ~RunningCall() {
    --calls_around_us;
    entry_.End();
  }

 private:
  Entry& entry_;
};

Status Call(Entry& entry, const Message& message) {
  const RunningCall running(entry);
  try {
    return entry.subscriber(message);
  } catch (const std::exception& exception) {
    return Status::Retry(Code::kInternal, StrCat("a subscriber threw: ", exception.what()));
  } catch (...) {
    return Status::Retry(Code::kInternal, "a subscriber threw something unknown");
  }
}

// Which of several failures decides: what may succeed later outweighs what can not.
int Weight(Disposition disposition) {
  switch (disposition) {
    case Disposition::kRetry: return 4;
    case Disposition::kInDoubt: return 3;
    case Disposition::kSinkDown: return 2;
    case Disposition::kPermanent: return 1;
    case Disposition::kNone: return 0;
  }
  return 0;
}

Status JoinFailures(const std::vector<Status>& failures, std::size_t called) {
  if (failures.empty()) return Status::Ok();
  if (failures.size() == 1) return failures[0];
  const auto decisive =
      std::max_element(failures.begin(), failures.end(), [](const Status& a, const Status& b) {
        return Weight(a.disposition()) < Weight(b.disposition());
      });
  std::vector<std::string> texts;
  texts.reserve(failures.size());
  std::optional<std::chrono::milliseconds> retry_after;
  for (const Status& failure : failures) {
    texts.push_back(failure.ToString());
    retry_after = std::max(retry_after, failure.retry_after());
  }
  Status joined = Status(decisive->code(), decisive->disposition(),
                         StrCat(failures.size(), " of ", called,
                                " subscribers failed: ", base::Join(texts, "; ")))
                      .WithHint(decisive->hint());
  if (decisive->wants_pause()) (void)std::move(joined).WithPause();
  return retry_after ? std::move(joined).WithRetryAfter(*retry_after) : joined;
}

}  // namespace

// Publish works on the list as it was when it began; whoever changes it puts a new one in its
// place. So nothing is locked while subscribers run.
struct Subscription::Bus {
  std::uint64_t Add(std::string_view topics, std::function<Status(const Message&)> subscriber) {
    const std::lock_guard lock(mutex);
    auto changed = std::make_shared<Entries>(*entries);
    changed->push_back(std::make_shared<Entry>(++last_id, topics, std::move(subscriber)));
    entries = std::move(changed);
    return last_id;
  }

  void Remove(std::uint64_t id) {
    const std::shared_ptr<Entry> removed = TakeOut(id);
    if (removed == nullptr) return;
    removed->Cancel();
    // Two subscribers that wait for each other would do so for ever.
    if (calls_around_us == 0) removed->WaitForCalls();
  }

  std::shared_ptr<Entry> TakeOut(std::uint64_t id) {
    std::shared_ptr<Entry> removed;
    const std::lock_guard lock(mutex);
    auto changed = std::make_shared<Entries>();
    for (const std::shared_ptr<Entry>& entry : *entries) {
      if (entry->id == id) {
        removed = entry;
      } else {
        changed->push_back(entry);
      }
    }
    entries = std::move(changed);
    return removed;
  }

  std::shared_ptr<const Entries> Snapshot() const {
    const std::lock_guard lock(mutex);
    return entries;
  }

  Status Publish(const Message& message) const {
    const std::shared_ptr<const Entries> current = Snapshot();
    std::vector<Status> failures;
    std::size_t called = 0;
    for (const std::shared_ptr<Entry>& entry : *current) {
      if (!message::TopicMatches(entry->topics, message.topic) || !entry->Begin()) continue;
      ++called;
      if (Status status = Call(*entry, message); !status.ok()) {
        failures.push_back(std::move(status));
      }
    }
    if (called > 0) return JoinFailures(failures, called);
    return Status::Retry(Code::kNotFound, StrCat("no subscriber for topic ", message.topic))
        .WithHint("subscribe before the relay starts, or do not route this topic to the bus");
  }

  mutable std::mutex mutex;
  std::shared_ptr<const Entries> entries = std::make_shared<const Entries>();
  std::uint64_t last_id = 0;
};

Subscription::Subscription(Subscription&& other) noexcept
    : bus_(std::move(other.bus_)), id_(std::exchange(other.id_, 0)) {}

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    Cancel();
    bus_ = std::move(other.bus_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

Subscription::~Subscription() { Cancel(); }

void Subscription::Cancel() noexcept {
  const std::uint64_t id = std::exchange(id_, 0);
  if (id == 0) return;
  if (const std::shared_ptr<Bus> bus = bus_.lock()) bus->Remove(id);
}

EventBus::EventBus() : bus_(std::make_shared<Subscription::Bus>()) {}

Subscription EventBus::Add(std::string_view topics, Subscriber subscriber) {
  return {bus_, bus_->Add(topics, std::move(subscriber))};
}

Status EventBus::NotDecoded(const Message& message, std::string_view why) {
  return Status::Permanent(Code::kInvalidArgument,
                           StrCat("decoding a message of ", message.topic, ": ", why));
}

Status EventBus::Publish(const Message& message) const { return bus_->Publish(message); }

std::shared_ptr<Sink> EventBus::AsSink(std::size_t concurrency) const {
  return MakeCallbackSink(
      [bus = bus_](const Message& message, Deadline) { return bus->Publish(message); },
      concurrency);
}

}  // namespace outbox
