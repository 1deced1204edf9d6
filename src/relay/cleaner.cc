#include "relay/cleaner.h"

#include <utility>

#include "base/text.h"

namespace outbox::relay {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPurgeTimeout{30};

bool IsForever(std::chrono::milliseconds retention) { return retention >= kDurationMax; }

}  // namespace

Cleaner::Cleaner(std::unique_ptr<store::CleanStore> store, CleanerOptions options,
                 std::string table, std::shared_ptr<RelayObserver> observer)
    : store_(std::move(store)),
      options_(std::move(options)),
      table_(std::move(table)),
      observer_(observer != nullptr ? std::move(observer) : std::make_shared<RelayObserver>()) {}

std::unique_ptr<Cleaner> Cleaner::Start(std::unique_ptr<store::CleanStore> store,
                                        CleanerOptions options, std::string table,
                                        std::shared_ptr<RelayObserver> observer) {
  std::unique_ptr<Cleaner> cleaner(
      new Cleaner(std::move(store), std::move(options), std::move(table), std::move(observer)));
  cleaner->thread_ = std::thread([self = cleaner.get()] { self->Run(); });
  return cleaner;
}

Cleaner::~Cleaner() { Stop(); }

void Cleaner::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Cleaner::Run() {
  do {
    Clean();
  } while (Sleep(options_.interval));
}

void Cleaner::Clean() {
  const auto started = SteadyClock::now();
  const auto delivered =
      IsForever(options_.retention) ? Result<std::size_t>(0) : PurgeAll([&](Deadline deadline) {
        return store_->PurgeDelivered(options_.retention, options_.batch_size, deadline);
      });
  const auto dead =
      options_.dead_retention.count() == 0 || IsForever(options_.dead_retention)
          ? Result<std::size_t>(0)
          : PurgeAll([&](Deadline deadline) {
              return store_->PurgeDead(options_.dead_retention, options_.batch_size, deadline);
            });
  const auto attempts = PurgeAll(
      [&](Deadline deadline) { return store_->PurgeAttempts(options_.batch_size, deadline); });
  const auto audit = PurgeAudit();
  for (const auto* result : {&delivered, &dead, &attempts, &audit}) {
    if (!result->ok()) {
      observer_->OnStoreError(table_, "clean", result->error(), options_.interval);
    }
  }
  const PurgeCounts counts{.delivered = delivered.ok() ? *delivered : 0,
                           .dead = dead.ok() ? *dead : 0,
                           .audit = audit.ok() ? *audit : 0};
  if (counts.Sum() > 0) observer_->OnPurged(table_, counts, SteadyClock::now() - started);
}

Result<std::size_t> Cleaner::PurgeAudit() {
  if (options_.audit_retention.count() == 0 || IsForever(options_.audit_retention)) {
    return std::size_t{0};
  }
  auto purged = PurgeAll([&](Deadline deadline) {
    return store_->PurgeAudit(options_.audit_retention, options_.batch_size, deadline);
  });
  const bool missing = purged.error().code() == Code::kSchema;
  if (missing && !std::exchange(audit_missing_, true)) {
    observer_->OnNotice(table_, base::StrCat("the audit is not cleaned: ", purged.error().message(),
                                             " (", purged.error().hint(), ")"));
  }
  return missing ? Result<std::size_t>(0) : purged;
}

template <typename Purge>
Result<std::size_t> Cleaner::PurgeAll(Purge purge) {
  std::size_t total = 0;
  for (;;) {
    const auto started = SteadyClock::now();
    OUTBOX_ASSIGN_OR_RETURN(const std::size_t count, purge(Deadline::After(kPurgeTimeout)));
    total += count;
    if (count < options_.batch_size) return total;
    // As long a pause as the delete took: cleaning never takes more than half the database's time.
    if (!Sleep(SteadyClock::now() - started)) return total;
  }
}

bool Cleaner::Sleep(SteadyClock::duration wait) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, wait, [&] { return stopping_; });
}

}  // namespace outbox::relay
