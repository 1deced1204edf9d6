// JwksUrl: the keys behind a URL, fetched by a thread of its own.
//
// They are fetched at the start, at an interval, and when a token asks for an unknown kid; one
// fetch at a time, and never two within the floor. When a fetch fails the old keys stay, a notice
// says so, and the next is tried sooner, after the floor, then after twice that, and so on.
//
// Threads: any number at once. The destructor ends a fetch under way.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "outbox/status.h"
#include "service/auth/jwks_fetch.h"
#include "service/auth/key_set.h"
#include "service/auth/notices.h"

namespace outbox::service {

struct JwksUrlOptions {
  std::string url;
  std::string ca = {};
  std::chrono::milliseconds interval{std::chrono::minutes(5)};
  std::chrono::milliseconds floor{std::chrono::seconds(10)};  // from start to start
  std::chrono::milliseconds timeout{std::chrono::seconds(5)};
  // Callers of Refresh that may wait at a time; the others go on with what is known. Tokens with
  // made-up kids must not take all threads of a server.
  std::size_t waiters_max = 2;
};

class JwksUrl final : public KeySource {
 public:
  // Returns once the first fetch has ended, or after `patience`.
  JwksUrl(JwksUrlOptions options, const Notice& notice, std::chrono::milliseconds patience);
  ~JwksUrl() override;

  std::shared_ptr<const KeySet> Keys() override;
  // Asks for a fetch. Waits for it only when it can start now or is under way.
  void Refresh(std::chrono::milliseconds patience) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  void Run();
  // REQUIRES mutex_.
  Clock::time_point NextFetch() const;
  void WaitForFetch(Lock& lock, std::chrono::milliseconds patience);
  // Only by the thread of its own, without the mutex.
  Result<KeySet> Fetch();

  const JwksUrlOptions options_;
  JwksFetch fetch_;
  ChangingNotice failure_;
  ChangingNotice skipped_;

  std::mutex mutex_;
  std::condition_variable changed_;  // something for the thread to look at
  std::condition_variable fetched_;
  std::shared_ptr<const KeySet> keys_;
  bool stopping_ = false;
  bool wanted_ = false;
  bool fetching_ = false;
  std::uint64_t fetches_ = 0;   // ended
  std::uint32_t failures_ = 0;  // in a row
  std::size_t waiters_ = 0;
  Clock::time_point started_at_{};  // the last fetch

  std::thread thread_;
};

}  // namespace outbox::service
