#include "store/memory/memory_control.h"

#include <algorithm>
#include <utility>

namespace outbox::store {
namespace {

constexpr std::chrono::hours kKept{24};

}  // namespace

class MemoryControlStore final : public ControlStore {
 public:
  explicit MemoryControlStore(MemoryControl& control) : control_(control) {}

  Result<std::vector<RelayPause>> Beat(const ProcessInfo& process,
                                       std::span<const RelayBeat> relays,
                                       std::chrono::milliseconds interval, Deadline) override {
    const std::lock_guard lock(control_.mutex_);
    ++control_.beats_;
    OUTBOX_RETURN_IF_ERROR(control_.failure_);
    const Timestamp now = control_.clock_();
    for (const RelayBeat& relay : relays) {
      auto& row = control_.relays_[{process.id, relay.table, relay.sink}];
      if (row.listed.started_at == Timestamp{}) row.listed.started_at = now;
      row.listed.process = process;
      row.listed.relay = relay;
      row.listed.beat_at = now;
      row.interval = interval;
    }
    std::erase_if(control_.relays_,
                  [&](const auto& row) { return row.second.listed.beat_at < now - kKept; });
    std::vector<RelayPause> pauses;
    for (const auto& paused : control_.pauses_) {
      const std::string& table = paused.first.first;
      const bool ours = std::any_of(relays.begin(), relays.end(),
                                    [&](const RelayBeat& relay) { return relay.table == table; });
      if (ours) pauses.push_back(paused.second);
    }
    return pauses;
  }

  Status Leave(const ProcessInfo& process, Deadline) override {
    const std::lock_guard lock(control_.mutex_);
    std::erase_if(control_.relays_,
                  [&](const auto& row) { return std::get<0>(row.first) == process.id; });
    return Status::Ok();
  }

  Result<std::vector<ListedRelay>> Relays(Deadline) override {
    const std::lock_guard lock(control_.mutex_);
    const Timestamp now = control_.clock_();
    std::vector<ListedRelay> relays;
    for (const auto& [key, row] : control_.relays_) {
      ListedRelay listed = row.listed;
      listed.beat_age = std::chrono::duration_cast<std::chrono::milliseconds>(now - listed.beat_at);
      listed.gone = listed.beat_age > 3 * row.interval;
      relays.push_back(std::move(listed));
    }
    std::stable_sort(relays.begin(), relays.end(),
                     [](const auto& a, const auto& b) { return a.gone < b.gone; });
    return relays;
  }

  Result<std::vector<RelayPause>> Pauses(Deadline) override {
    const std::lock_guard lock(control_.mutex_);
    std::vector<RelayPause> pauses;
    for (const auto& [key, pause] : control_.pauses_) pauses.push_back(pause);
    return pauses;
  }

  Result<std::size_t> Pause(const RelayPause& pause, const Audit& audit, Deadline) override {
    {
      const std::lock_guard lock(control_.mutex_);
      OUTBOX_RETURN_IF_ERROR(control_.pause_failure_);
      RelayPause kept = pause;
      kept.since = control_.clock_();
      if (!control_.pauses_.try_emplace({pause.table, pause.sink}, kept).second) {
        return std::size_t{0};
      }
    }
    RecordTurn("pause", pause.table, 1, audit);
    return std::size_t{1};
  }

  Result<std::size_t> Resume(const std::string& table, const std::string& sink, const Audit& audit,
                             Deadline) override {
    std::size_t changed = 0;
    {
      const std::lock_guard lock(control_.mutex_);
      if (!sink.empty() && control_.pauses_.contains({table, ""})) return WholeTableIsPaused(table);
      changed = std::erase_if(control_.pauses_, [&](const auto& pause) {
        return pause.first.first == table && (sink.empty() || pause.first.second == sink);
      });
    }
    if (changed > 0) RecordTurn("resume", table, changed, audit);
    return changed;
  }

  Result<AuditPage> ListAudit(const AuditFilter& filter, Deadline) override {
    OUTBOX_ASSIGN_OR_RETURN(const auto place, ReadAuditPlace(filter));
    const std::lock_guard lock(control_.mutex_);
    std::vector<AuditRecord> records;
    std::for_each(control_.audit_.rbegin(), control_.audit_.rend(), [&](const auto& record) {
      if (place && record.number >= *place) return;
      if (!filter.table.empty() && record.table != filter.table) return;
      if (records.size() <= filter.limit) records.push_back(record);
    });
    return MakeAuditPage(std::move(records), filter.limit);
  }

 private:
  void RecordTurn(const char* action, const std::string& table, std::size_t changed, Audit audit) {
    audit.matched = changed;
    control_.Record(
        {.action = action, .table = table, .changed = changed, .audit = std::move(audit)});
  }

  MemoryControl& control_;
};

std::unique_ptr<ControlStore> MemoryControl::Open() {
  return std::make_unique<MemoryControlStore>(*this);
}

void MemoryControl::FailBeats(Status error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

void MemoryControl::FailPauses(Status error) {
  const std::lock_guard lock(mutex_);
  pause_failure_ = std::move(error);
}

std::size_t MemoryControl::beats() const {
  const std::lock_guard lock(mutex_);
  return beats_;
}

void MemoryControl::Record(AuditRecord record) {
  const std::lock_guard lock(mutex_);
  record.number = static_cast<std::int64_t>(audit_.size()) + 1;
  record.at = clock_();
  audit_.push_back(std::move(record));
}

}  // namespace outbox::store
