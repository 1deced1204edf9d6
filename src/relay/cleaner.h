// Cleaner: deletes what has been kept long enough, in small batches that yield to traffic.
//
// Threads: one of its own. Start and Stop may be called from any thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "outbox/observer.h"
#include "outbox/options.h"
#include "store/clean_store.h"

namespace outbox::relay {

class Cleaner {
 public:
  // `table` is the name told to the observer, which may be null.
  static std::unique_ptr<Cleaner> Start(std::unique_ptr<store::CleanStore> store,
                                        CleanerOptions options, std::string table,
                                        std::shared_ptr<RelayObserver> observer);
  // Stops.
  ~Cleaner();

  // Returns when the delete statement under way, if any, has ended.
  void Stop();

 private:
  Cleaner(std::unique_ptr<store::CleanStore> store, CleanerOptions options, std::string table,
          std::shared_ptr<RelayObserver> observer);

  void Run();
  // One pass over everything that is due.
  void Clean();
  // An installation without what it needs is told of once; the rest is cleaned all the same.
  Result<std::size_t> PurgeAudit();
  template <typename Purge>
  Result<std::size_t> PurgeAll(Purge purge);
  // False when asked to stop.
  bool Sleep(std::chrono::steady_clock::duration wait);

  const std::unique_ptr<store::CleanStore> store_;
  const CleanerOptions options_;
  const std::string table_;
  const std::shared_ptr<RelayObserver> observer_;
  bool audit_missing_ = false;  // has been told; the cleaner's thread only
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace outbox::relay
