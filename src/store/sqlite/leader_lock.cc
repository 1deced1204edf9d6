#include "store/sqlite/leader_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace outbox::store::sqlite {
namespace {

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

}  // namespace

LeaderLock::LeaderLock(std::string_view database, std::string_view table)
    : path_(base::StrCat(database, "-", Escaped(table), ".leader")) {}

Result<bool> LeaderLock::TryAcquire() {
  if (file_ >= 0 && StillInPlace()) return true;
  Release();
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

void LeaderLock::Release() noexcept {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

bool LeaderLock::StillInPlace() const noexcept {
  struct stat held;
  struct stat named;
  return fstat(file_, &held) == 0 && stat(path_.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace outbox::store::sqlite
