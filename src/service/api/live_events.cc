#include "service/api/live_events.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include "base/json_object.h"

namespace outbox::service {
namespace {

constexpr std::chrono::seconds kTick{1};

}  // namespace

LiveEvents::LiveEvents(const RelayBoard& board) : board_(board), thread_([this] { Run(); }) {}

LiveEvents::~LiveEvents() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::string LiveEvents::Counters() const {
  std::vector<std::string> relays;
  for (const RelaySeen& relay : board_.Relays()) relays.push_back(ToJson(relay));
  return base::JsonObject().AddRaw("relays", base::JsonArray(relays)).Finish();
}

Result<std::shared_ptr<EventStream>> LiveEvents::Listen(std::optional<Timestamp> until,
                                                        StillWelcome still_welcome) {
  OUTBOX_ASSIGN_OR_RETURN(auto stream, hub_.Add());
  if (until) {
    const std::lock_guard lock(mutex_);
    limited_.push_back({*until, std::move(still_welcome), stream});
  }
  stream->Send("counters", Counters());
  return stream;
}

void LiveEvents::Changed(const RelaySeen& relay) {
  if (hub_.listeners() > 0) hub_.Send("relay", ToJson(relay));
}

void LiveEvents::LetGoOfExpired(std::vector<Limited>& all) {
  // A token may be good until a year that nanoseconds do not reach.
  const auto now = std::chrono::floor<Timestamp::duration>(std::chrono::system_clock::now());
  std::erase_if(all, [now](const Limited& limited) {
    const auto stream = limited.stream.lock();
    if (stream != nullptr && !stream->gone() && limited.until >= now &&
        (!limited.still_welcome || limited.still_welcome())) {
      return false;
    }
    if (stream != nullptr) stream->Close();
    return true;
  });
}

void LiveEvents::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kTick, [&] { return stopping_; })) {
    // Without the lock: signatures are checked.
    std::vector<Limited> limited = std::exchange(limited_, {});
    lock.unlock();
    LetGoOfExpired(limited);
    if (hub_.listeners() > 0) hub_.Send("counters", Counters());
    lock.lock();
    std::move(limited.begin(), limited.end(), std::back_inserter(limited_));
  }
}

}  // namespace outbox::service
