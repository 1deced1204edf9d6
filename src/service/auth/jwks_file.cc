#include "service/auth/jwks_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "service/auth/jwks.h"
#include "service/auth/read_file.h"

namespace outbox::service {
namespace {

constexpr std::chrono::seconds kLookEvery{1};

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

Result<std::unique_ptr<JwksFile>> JwksFile::Open(std::string path, const Notice& notice) {
  std::unique_ptr<JwksFile> file(new JwksFile(std::move(path), notice));
  OUTBOX_RETURN_IF_ERROR(file->LoadIfChanged());
  return file;
}

std::shared_ptr<const KeySet> JwksFile::Keys() {
  const std::lock_guard lock(mutex_);
  if (Clock::now() - looked_at_ >= kLookEvery) {
    const Status status = LoadIfChanged();
    failure_.Set(status.ok() ? "" : base::StrCat(status.message(), "; the old keys stay in use"));
  }
  return keys_;
}

void JwksFile::Refresh(std::chrono::milliseconds) {
  const std::lock_guard lock(mutex_);
  looked_at_ = {};
}

Status JwksFile::LoadIfChanged() {
  looked_at_ = Clock::now();
  struct stat now {};
  if (stat(path_.c_str(), &now) != 0) {
    const int code = errno;
    seen_ = {};
    return Status::Permanent(code == ENOENT ? Code::kNotFound : Code::kPermission,
                             base::StrCat("can not read ", path_, ": ", std::strerror(code)));
  }
  if (keys_ != nullptr && SameFile(now, seen_)) return Status::Ok();
  OUTBOX_RETURN_IF_ERROR(Load());
  seen_ = now;
  return Status::Ok();
}

Status JwksFile::Load() {
  OUTBOX_ASSIGN_OR_RETURN(const std::string text, ReadKeyFile(path_, kJwksBytesMax));
  auto jwks = ParseJwks(text, JwksOrigin::kLocal);
  if (!jwks.ok()) return Status::Invalid(base::StrCat(path_, " ", jwks.error().message()));
  if (jwks->keys.empty()) {
    return Status::Invalid(base::StrCat(path_, " has no key that can be used here",
                                        jwks->skipped.empty() ? "" : ": ",
                                        base::Join(jwks->skipped, "; ")));
  }
  skipped_.Set(jwks->skipped.empty()
                   ? ""
                   : base::StrCat(path_, ": left out ", base::Join(jwks->skipped, "; ")));
  keys_ = std::make_shared<const KeySet>(std::move(jwks->keys));
  return Status::Ok();
}

}  // namespace outbox::service
