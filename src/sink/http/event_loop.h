// EventLoop: one thread that drives one curl multi handle, and with it the requests of all callers.
//
// Callers wait for their own answer only. Connections are kept and shared: with HTTP/1.1 a request
// takes an idle one or opens another, with HTTP/2 requests share one.
//
// A request that times out on a shared connection makes that connection suspect: it may have
// stopped answering, and curl ends the request but keeps the connection. From then on the loop
// takes no more requests; those in flight may still be answered, and the last of them ends the
// loop.
//
// Threads: Run by one of its own, the rest by any.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/handle.h"
#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/http/options.h"
#include "sink/http/request.h"
#include "sink/http/transfer.h"

namespace outbox::sink {

class EventLoop {
 public:
  explicit EventLoop(std::shared_ptr<const HttpOptions> options);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Serves callers until Stop, a failure of curl, or the last answer after a suspicion.
  void Run();

  // Sends `request` and waits for its answer until `deadline`. Empty when the loop takes no more
  // requests; `request` is then as it was.
  std::optional<Answer> Send(HttpRequest& request, Deadline deadline);

  // Gives up what is in flight. Its callers get an answer at once.
  void Stop();
  // False when Run has not ended by `deadline`.
  bool WaitEnded(Deadline deadline);
  bool ended();

 private:
  // A request, shared by its caller and the loop: either may let go of it first. A lock of its own,
  // since every caller that is woken takes it.
  struct Pending {
    explicit Pending(Deadline until) : deadline(until) {}

    const Deadline deadline;
    HttpRequest request;
    bool started = false;  // guarded by the loop's mutex
    std::mutex mutex;
    std::condition_variable answered;
    bool sent = false;             // guarded by `mutex`; told only where an observer wants it
    std::optional<Answer> answer;  // guarded by `mutex`
  };
  using PendingPtr = std::shared_ptr<Pending>;
  // A transfer of curl's and the request it carries.
  struct Flight {
    explicit Flight(const HttpOptions& options) : transfer(options) {}

    Transfer transfer;
    PendingPtr pending;
    std::list<Flight>::iterator self;
  };
  struct Landed {
    PendingPtr pending;
    Answer answer;
  };

  // Waits for something to do; takes over what callers have left. False at the end.
  bool TakeIncoming();
  void Start(PendingPtr pending);
  // Answers the requests that are done. False when there was none.
  bool Collect();
  Landed Land(Flight& flight, CURLcode code);
  void Tell(Landed landed);
  static void TellSent(Pending& pending);
  void GiveUp(CURLcode code);
  void Nap();

  const std::shared_ptr<const HttpOptions> options_;
  const base::UniqueHandle<CURLM, curl_multi_cleanup> multi_;

  // Used by Run alone.
  std::list<Flight> idle_;
  std::list<Flight> in_flight_;
  std::vector<PendingPtr> taken_;

  std::mutex mutex_;  // guards everything below
  std::condition_variable ended_changed_;
  std::vector<PendingPtr> incoming_;
  bool accepting_ = true;
  bool stopping_ = false;
  bool napping_ = false;  // to be woken
  bool ended_ = false;
};

}  // namespace outbox::sink
