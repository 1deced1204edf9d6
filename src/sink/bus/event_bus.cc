#include "outbox/event_bus.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "base/text.h"
#include "message/validate.h"

namespace outbox {
namespace event_bus_detail {

struct Entry {
  Entry(std::uint64_t number, std::string_view pattern,
        std::function<Status(const Message&)> function)
      : id(number), topics(pattern), subscriber(std::move(function)) {}

  const std::uint64_t id;
  const std::string topics;
  const std::function<Status(const Message&)> subscriber;
  std::atomic<bool> cancelled = false;
};

using Entries = std::vector<std::shared_ptr<Entry>>;

}  // namespace event_bus_detail

namespace {

using base::StrCat;
using event_bus_detail::Entries;
using event_bus_detail::Entry;

Status Call(const Entry& entry, const Message& message) {
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
  for (const Status& failure : failures) texts.push_back(failure.ToString());
  return Status(decisive->code(), decisive->disposition(),
                StrCat(failures.size(), " of ", called,
                       " subscribers failed: ", base::Join(texts, "; ")))
      .WithHint(decisive->hint());
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
    std::shared_ptr<const Entries> old;  // its subscribers are destroyed after the lock is gone
    const std::lock_guard lock(mutex);
    auto changed = std::make_shared<Entries>();
    for (const std::shared_ptr<Entry>& entry : *entries) {
      if (entry->id == id) {
        entry->cancelled = true;
      } else {
        changed->push_back(entry);
      }
    }
    old = std::exchange(entries, std::move(changed));
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
      if (entry->cancelled || !message::TopicMatches(entry->topics, message.topic)) continue;
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
