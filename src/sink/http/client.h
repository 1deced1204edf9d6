// Client: the requests of all calls of a sink. Each call waits for its own answer, and connections
// are shared by all.
//
// A server that asks to be left alone for a while (429 or 503 with Retry-After) gets no request of
// any call before the time is over.
//
// Threads: all methods may be called from any thread.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/http/event_loop.h"
#include "sink/http/options.h"
#include "sink/http/request.h"

namespace outbox::sink {

class Client {
 public:
  explicit Client(std::shared_ptr<const HttpOptions> options);
  // Closes.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // What became of `request`. One that was not sent is kSinkDown with Code::kNotAttempted.
  Status Send(HttpRequest request, Deadline deadline);

  // Ends the connections and gives up what is in flight. Send opens new ones.
  void Close(Deadline deadline) noexcept;

 private:
  struct Running {
    std::shared_ptr<EventLoop> loop;
    std::thread thread;
  };

  // Why nothing may be sent now; OK otherwise.
  Status Held();
  void Hold(const Answer& answer);
  // A loop that takes requests; another one than `refused`, which does not.
  Result<std::shared_ptr<EventLoop>> Current(const std::shared_ptr<EventLoop>& refused);

  const std::shared_ptr<const HttpOptions> options_;

  std::mutex mutex_;  // guards everything below
  // The last takes requests; those before it answer what they have.
  std::list<Running> loops_;
  std::chrono::steady_clock::time_point held_until_{};
  Status held_by_;
};

}  // namespace outbox::sink
