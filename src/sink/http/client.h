// Client: many requests in flight on kept-alive connections, driven by the thread that calls it.
//
// Threads: used by one at a time.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/handle.h"
#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/http/options.h"
#include "sink/http/request.h"
#include "sink/http/transfer.h"

namespace outbox::sink {

class Client {
 public:
  // At most `slots` requests are in flight. `options` outlives it.
  Client(const HttpOptions& options, std::size_t slots);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends make(0), make(1), …, one for each of `results`, and writes what became of them. When the
  // destination turns out to be down, or the deadline comes, no more are started and those not
  // started are kSinkDown; if none was, `results` is left as it is.
  void Send(const std::function<HttpRequest(std::size_t)>& make, std::span<Status> results,
            Deadline deadline);

  // False after a failure of curl itself: to be thrown away.
  bool usable() const { return usable_; }

 private:
  // Forgets all connections. Nothing is in flight.
  void Reconnect();
  bool Start(std::size_t index, HttpRequest request, Deadline deadline);
  // Settles the requests that are done. False when there was none.
  bool Collect(std::span<Status> results);
  void Settle(Transfer& transfer, CURLcode code, std::span<Status> results);
  void GiveUp(std::span<Status> results);

  const HttpOptions& options_;
  const std::size_t slots_;
  base::UniqueHandle<CURLM, curl_multi_cleanup> multi_;
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::vector<std::unique_ptr<Transfer>> in_flight_;
  std::optional<Status> down_;
  bool usable_ = true;
  // A request has timed out, and its connection may be one that others share and that has stopped
  // answering: curl ends the request and keeps the connection. No more are started on it.
  bool suspect_ = false;
};

}  // namespace outbox::sink
