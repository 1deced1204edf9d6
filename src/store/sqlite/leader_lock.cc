#include "store/sqlite/leader_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/text.h"

namespace outbox::store::sqlite {
namespace {

using Clock = std::chrono::steady_clock;

Status FileError(const std::string& path, int error) {
  const bool denied = error == EACCES || error == EPERM || error == EROFS;
  return Status(denied ? Code::kPermission : Code::kUnavailable,
                denied ? Disposition::kPermanent : Disposition::kRetry,
                base::StrCat("leader lock '", path, "': ", std::strerror(error)))
      .WithHint("the relay needs write permission for the folder of the database");
}

// The name as a part of a file's name; different ones stay different.
std::string Escaped(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (c == '/') {
      escaped += "%2F";
    } else if (c == '%') {
      escaped += "%25";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

timespec ToTimespec(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
  const auto whole = std::chrono::floor<std::chrono::seconds>(since);
  return {.tv_sec = whole.count(), .tv_nsec = (since - whole).count()};
}

// The leader whose file this is has not renewed its lead in time.
bool IsOver(const std::string& path) {
  struct stat named;
  if (stat(path.c_str(), &named) != 0) return false;
  const timespec now = ToTimespec(std::chrono::system_clock::now());
  return std::pair(named.st_mtim.tv_sec, named.st_mtim.tv_nsec) <
         std::pair(now.tv_sec, now.tv_nsec);
}

// One process at a time looks at the leader's file and changes it: what somebody has just put
// there, or renewed, is not taken for old. It is a matter of a few system calls.
class Turn {
 public:
  explicit Turn(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0) {
      status_ = FileError(path, errno);
      return;
    }
    for (int tries = 0; flock(file_, LOCK_EX | LOCK_NB) != 0; ++tries) {
      if (tries == kTriesMax) {
        status_ = FileError(path, errno);
        return;
      }
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
  ~Turn() {
    if (file_ >= 0) close(file_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  const Status& status() const noexcept { return status_; }

 private:
  static constexpr int kTriesMax = 200;
  static constexpr std::chrono::milliseconds kBetweenTries{1};

  int file_;
  Status status_;
};

}  // namespace

LeaderLock::LeaderLock(std::string_view database, std::string_view table)
    : path_(base::StrCat(database, "-", Escaped(table), ".leader")) {}

Result<Leadership> LeaderLock::TryAcquire(std::chrono::milliseconds lease) {
  if (ends_ && Clock::now() < renew_at_ && StillInPlace()) return ends_;
  const Turn turn(path_ + "-turn");
  OUTBOX_RETURN_IF_ERROR(turn.status());
  if (file_ >= 0 && StillInPlace()) return Renew(lease);
  Release();
  OUTBOX_ASSIGN_OR_RETURN(bool locked, Lock());
  if (!locked && IsOver(path_)) {
    // Its leader stands still, and finds out when it wakes up that this is no longer its file.
    if (unlink(path_.c_str()) != 0) return FileError(path_, errno);
    OUTBOX_ASSIGN_OR_RETURN(locked, Lock());
  }
  if (!locked) return Leadership();
  return Renew(lease);
}

Result<bool> LeaderLock::Lock() {
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) return FileError(path_, errno);
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    Release();
    if (error == EWOULDBLOCK || error == EINTR) return false;
    return FileError(path_, error);
  }
  if (StillInPlace()) return true;
  Release();
  return false;
}

Result<Leadership> LeaderLock::Renew(std::chrono::milliseconds lease) {
  const Clock::time_point asked = Clock::now();
  const timespec end = ToTimespec(std::chrono::system_clock::now() + lease);
  const timespec times[2] = {end, end};
  if (futimens(file_, times) != 0) return FileError(path_, errno);
  renew_at_ = asked + lease / 3;
  ends_ = asked + lease;
  return ends_;
}

void LeaderLock::Release() noexcept {
  if (file_ >= 0) close(file_);
  file_ = -1;
  ends_.reset();
}

bool LeaderLock::StillInPlace() const noexcept {
  struct stat held;
  struct stat named;
  return fstat(file_, &held) == 0 && stat(path_.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace outbox::store::sqlite
