// LeaderLock: at most one leader per table of a database file, by a lock on a file beside it.
//
// flock(2): the kernel releases it when the process dies, however it dies. The file itself stays;
// it is empty and may be deleted when no relay runs.
//
// Threads: used by one thread at a time.
#pragma once

#include <string>
#include <string_view>

#include "outbox/status.h"

namespace outbox::store::sqlite {

class LeaderLock {
 public:
  // The lock file is "<database>-<table>.leader"; a slash in `table`, which may have the name of a
  // sink in it, becomes %2F.
  LeaderLock(std::string_view database, std::string_view table);
  ~LeaderLock() { Release(); }
  LeaderLock(const LeaderLock&) = delete;
  LeaderLock& operator=(const LeaderLock&) = delete;

  // Acquires the lock or confirms that it is held; false when another leader has it.
  Result<bool> TryAcquire();
  void Release() noexcept;

 private:
  // False when the file was deleted or replaced under us: somebody else may hold its successor.
  bool StillInPlace() const noexcept;

  std::string path_;
  int file_ = -1;
};

}  // namespace outbox::store::sqlite
