#include "sink/nats/stream_outage.h"

#include <algorithm>

namespace outbox::sink {
namespace {

using std::chrono::milliseconds;

// What got through longer ago says nothing of now.
constexpr std::chrono::minutes kStoredLately{10};
// Streams that are away again after so long are away anew.
constexpr std::chrono::minutes kSpellGap{10};
constexpr milliseconds kWaitMin{1000};
constexpr milliseconds kWaitMax{60'000};

}  // namespace

std::optional<milliseconds> StreamOutage::Note(const Answers& answers, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (spell_ && now - spell_->latest > kSpellGap) spell_.reset();
  if (!spell_) {
    if (!answers.first_away) return std::nullopt;
    spell_ = {.call = answers.call, .index = *answers.first_away, .since = now, .latest = now};
  }
  const bool later = answers.call > spell_->call ||
                     (answers.call == spell_->call && answers.last_stored > spell_->index);
  if (answers.last_stored && later) spell_->stored = now;
  if (!answers.first_away) return std::nullopt;
  spell_->latest = now;
  if (!spell_->stored || now - *spell_->stored > kStoredLately) return std::nullopt;
  return std::clamp(std::chrono::ceil<milliseconds>(now - spell_->since), kWaitMin, kWaitMax);
}

}  // namespace outbox::sink
