// JwksFile: the keys of a file, read again when the file changes.
//
// It is looked at once a second at most, by whoever asks, and at once for an unknown kid. When the
// new content can not be used the old keys stay, and a notice says so.
//
// Threads: any number at once.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "outbox/status.h"
#include "service/auth/key_set.h"
#include "service/auth/notices.h"

namespace outbox::service {

class JwksFile final : public KeySource {
 public:
  // Fails when the file can not be read or is no key set.
  static Result<std::unique_ptr<JwksFile>> Open(std::string path, const Notice& notice);

  std::shared_ptr<const KeySet> Keys() override;
  void Refresh(std::chrono::milliseconds patience) override;

 private:
  using Clock = std::chrono::steady_clock;

  JwksFile(std::string path, const Notice& notice)
      : path_(std::move(path)), failure_(notice), skipped_(notice) {}
  // Both: REQUIRES mutex_, except in Open.
  Status LoadIfChanged();
  Status Load();

  const std::string path_;

  std::mutex mutex_;
  ChangingNotice failure_;
  ChangingNotice skipped_;
  std::shared_ptr<const KeySet> keys_;
  struct stat seen_ {};
  Clock::time_point looked_at_{};
};

}  // namespace outbox::service
