// LeaderLock: at most one leader per table of a database file, by a lock on a file beside it.
//
// flock(2): the kernel releases it when the process dies, however it dies. The file itself stays;
// it is empty and may be deleted when no relay runs.
//
// A leader that stands still keeps its lock, but its lead has an end, by the machine's clock: the
// time of the file's last change, which it sets ahead again and again. When that has passed another
// puts a file of its own in the place; the former leader finds that out when it wakes up. A second
// file, "…-turn", is locked for the moment that such a look and change take.
//
// Threads: used by one thread at a time.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "outbox/status.h"
#include "store/relay_store.h"

namespace outbox::store::sqlite {

class LeaderLock {
 public:
  // The lock file is "<database>-<table>.leader"; a slash in `table`, which may have the name of a
  // sink in it, becomes %2F.
  LeaderLock(std::string_view database, std::string_view table);
  ~LeaderLock() { Release(); }
  LeaderLock(const LeaderLock&) = delete;
  LeaderLock& operator=(const LeaderLock&) = delete;

  // Acquires the lock for `lease` from now, or confirms that it is held and renews it in good time.
  // None: another leader has it.
  Result<Leadership> TryAcquire(std::chrono::milliseconds lease);
  void Release() noexcept;

 private:
  // False when the file was deleted or replaced under us: somebody else may hold its successor.
  bool StillInPlace() const noexcept;
  // Opens and locks the file; false when somebody else has it.
  Result<bool> Lock();
  Result<Leadership> Renew(std::chrono::milliseconds lease);

  std::string path_;
  int file_ = -1;
  Leadership ends_;
  std::chrono::steady_clock::time_point renew_at_{};
};

}  // namespace outbox::store::sqlite
