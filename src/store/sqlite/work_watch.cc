#include "store/sqlite/work_watch.h"

#include <algorithm>
#include <utility>

#include "sql/sqlite.h"

namespace outbox::store::sqlite {
namespace {

using std::chrono::milliseconds;

// Between two looks: short while commits come in, longer while nothing happens.
constexpr milliseconds kWaitMin{2};
constexpr milliseconds kWaitMax{20};
constexpr milliseconds kWaitAfterError{200};
constexpr std::chrono::seconds kLookTimeout{1};

Result<std::int64_t> ReadDataVersion(Connection& connection) {
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql::sqlite::kDataVersion));
  OUTBOX_RETURN_IF_ERROR(query.Step().error());
  return query.Int(0);
}

}  // namespace

Result<std::unique_ptr<Watch>> WorkWatch::Start(const std::string& path,
                                                std::function<void()> on_work, Deadline deadline) {
  ConnectionSlot connection(path);
  OUTBOX_ASSIGN_OR_RETURN(const std::int64_t version, connection.Use(deadline, ReadDataVersion));
  return std::unique_ptr<Watch>(new WorkWatch(std::move(connection), version, std::move(on_work)));
}

WorkWatch::WorkWatch(ConnectionSlot connection, std::int64_t version, std::function<void()> on_work)
    : connection_(std::move(connection)),
      version_(version),
      on_work_(std::move(on_work)),
      thread_([this] { Run(); }) {}

WorkWatch::~WorkWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void WorkWatch::Run() {
  milliseconds wait = kWaitMin;
  while (Sleep(wait)) {
    const auto version = connection_.Use(Deadline::After(kLookTimeout), ReadDataVersion);
    if (!version.ok()) {
      // The next connection counts anew.
      version_.reset();
      wait = kWaitAfterError;
    } else if (version_ == *version) {
      wait = std::min(wait + milliseconds(1), kWaitMax);
    } else {
      version_ = *version;
      wait = kWaitMin;
      on_work_();
    }
  }
}

bool WorkWatch::Sleep(milliseconds duration) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, duration, [this] { return stop_; });
}

}  // namespace outbox::store::sqlite
