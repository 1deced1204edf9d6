#include "store/sqlite/work_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sql/sqlite.h"

namespace outbox::store::sqlite {
namespace {

using std::chrono::milliseconds;

// Between two looks: short while commits come in, longer while nothing happens.
constexpr milliseconds kWaitMin{2};
constexpr milliseconds kWaitMax{10};
constexpr milliseconds kWaitAfterError{200};
constexpr std::chrono::seconds kLookTimeout{1};

Result<std::int64_t> ReadDataVersion(Connection& connection) {
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql::sqlite::kDataVersion));
  OUTBOX_RETURN_IF_ERROR(query.Step().error());
  return query.Int(0);
}

}  // namespace

WorkWatch::WorkWatch(std::string path, std::function<void()> on_work)
    : connection_(std::move(path)), on_work_(std::move(on_work)), thread_([this] { Run(); }) {}

WorkWatch::~WorkWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void WorkWatch::Run() {
  std::optional<std::int64_t> last;
  milliseconds wait = kWaitMin;
  do {
    const auto version = connection_.Use(Deadline::After(kLookTimeout), ReadDataVersion);
    if (!version.ok()) {
      // Another connection counts anew, and what was committed meanwhile is unknown.
      last.reset();
      wait = kWaitAfterError;
    } else if (last == *version) {
      wait = std::min(wait + milliseconds(1), kWaitMax);
    } else {
      last = *version;
      wait = kWaitMin;
      on_work_();
    }
  } while (Sleep(wait));
}

bool WorkWatch::Sleep(milliseconds duration) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, duration, [this] { return stop_; });
}

}  // namespace outbox::store::sqlite
