// Splitter: leases the messages of a table with routes for the relays of their destinations, or
// turns them into deliveries, as they come.
//
// Messages that go to one destination are leased in their own rows while the relay of that asks for
// them on the board. One that takes no more at the moment is waited for a little, less when others
// may have to wait with it; then its messages become deliveries, and hold up nobody.
//
// From the start on and again a minute after the last round it also completes messages whose
// completion was cut off: page by page, for a small part of its time, however many wait.
//
// Threads: one of its own. Start, Stop and Wake may be called from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/random.h"
#include "message/routes.h"
#include "outbox/observer.h"
#include "outbox/options.h"
#include "relay/courtesy.h"
#include "relay/lane_board.h"
#include "relay/reconnect.h"
#include "store/split_store.h"

namespace outbox::relay {

struct SplitterOptions {
  std::string table;  // the name told to the observer
  std::size_t batch_size = 500;
  // As RelayOptions'.
  std::chrono::milliseconds poll_min{10};
  std::chrono::milliseconds poll_max{100};
  std::chrono::milliseconds reconnect_max{std::chrono::seconds(1)};
  std::chrono::milliseconds lease{std::chrono::seconds(8)};
  bool listen = false;
};

class Splitter {
 public:
  // `on_split` is called after deliveries were added, to wake the relays that wait for them. The
  // board has the lanes that the store was opened for; null: every message becomes deliveries. The
  // observer may be null.
  static std::unique_ptr<Splitter> Start(std::unique_ptr<store::SplitStore> store,
                                         message::Routes routes, SplitterOptions options,
                                         std::function<void()> on_split,
                                         std::shared_ptr<RelayObserver> observer,
                                         std::shared_ptr<LaneBoard> board = nullptr);
  // Stops.
  ~Splitter();

  // Returns when the transaction under way, if any, has ended, and what was left on the board has
  // been given back.
  void Stop();
  // Messages may have been committed: look at once.
  void Wake();

 private:
  using Duration = std::chrono::steady_clock::duration;

  Splitter(std::unique_ptr<store::SplitStore> store, message::Routes routes,
           SplitterOptions options, std::function<void()> on_split,
           std::shared_ptr<RelayObserver> observer, std::shared_ptr<LaneBoard> board);

  void Run();
  // Returns how long to wait before the next look.
  Duration SplitOnce();
  store::SplitRequest MakeRequest();
  Result<store::SplitReport> Split(const store::SplitRequest& request);
  void NoteStarving(const store::SplitRequest& request, const store::SplitReport& report);
  void GiveBack(const std::vector<std::unique_ptr<store::Claim>>& claims, Deadline deadline);
  // A page of it.
  void CompleteLeftOver();
  void WatchForWork();
  // False when asked to stop.
  bool Wait(Duration wait);

  const std::unique_ptr<store::SplitStore> store_;
  const message::Routes routes_;
  const SplitterOptions options_;
  const std::function<void()> on_split_;
  const std::shared_ptr<RelayObserver> observer_;
  const std::shared_ptr<LaneBoard> board_;
  base::SeededRandom random_;
  Reconnect store_backoff_;
  Courtesy courtesy_;
  Duration poll_delay_;
  std::chrono::steady_clock::time_point complete_at_{};
  std::int64_t complete_after_ = 0;
  std::size_t limit_;  // batch_size, or less while such rounds do not end in time
  // The last batch was full: somebody's messages may wait behind those that were left alone.
  bool crowded_ = false;
  // Since when a lane that takes messages has got none in crowded rounds. After a while those in
  // the way become deliveries, until there is no crowd any more.
  std::optional<std::chrono::steady_clock::time_point> starved_since_;
  // The last messages found were all for lanes.
  bool lanes_only_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;     // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::unique_ptr<store::Watch> watch_;
  std::thread thread_;
};

}  // namespace outbox::relay
