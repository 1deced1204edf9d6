// WorkWatch: tells when somebody has committed to the database, by looking at its data version.
//
// The look is a few instructions on shared memory and takes no lock that a writer waits for. It
// also sees the relay's own commits, and those to other tables: callbacks may be spurious.
//
// Threads: the callback comes from the watch's own thread; the destructor waits for it to return.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/relay_store.h"
#include "store/sqlite/connection_slot.h"

namespace outbox::store::sqlite {

class WorkWatch final : public Watch {
 public:
  // Every commit after it has returned is told of.
  static Result<std::unique_ptr<Watch>> Start(const std::string& path,
                                              std::function<void()> on_work, Deadline deadline);
  ~WorkWatch() override;

 private:
  WorkWatch(ConnectionSlot connection, std::int64_t version, std::function<void()> on_work);

  void Run();
  // False when the watch ends.
  bool Sleep(std::chrono::milliseconds duration);

  ConnectionSlot connection_;
  // No value when commits may have been missed.
  std::optional<std::int64_t> version_;
  std::function<void()> on_work_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace outbox::store::sqlite
