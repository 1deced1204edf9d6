// Server: HTTP/1.1 at one or several addresses.
//
// A few I/O threads serve all connections as coroutines; handlers run on a bounded pool of workers.
// No client, however slow or hostile, costs more than its limits (limits.h), and none delays
// another. TLS is ours or a proxy's; X-Forwarded-For and its like are not believed.
//
//   auto router = std::make_shared<Router>();
//   router->Add(Method::kGet, "/healthz", Health, {.quick = true});
//   auto server = Server::Start({}, {{.address = {.port = 8080}, .router = router}}, observer);
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "service/http/options.h"
#include "service/http/request_observer.h"
#include "service/http/router.h"

namespace outbox::service {

struct ServerCounts {
  std::size_t connections = 0;  // open now
  std::size_t displaced = 0;    // since the start, to make room for others
  std::size_t refused = 0;      // since the start, for want of room
  std::size_t queued = 0;       // requests waiting for a worker
};

class Server {
 public:
  // Serves when it returns. `observer` may be null. Fails when an option is out of bounds, an
  // address can not be listened at, or a TLS file can not be used; then nothing is served.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options,
                                               const std::vector<ListenerOptions>& listeners,
                                               std::shared_ptr<RequestObserver> observer = nullptr);

  // Closes what is open and waits for handlers that are running.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Where it listens, in the order of the listeners, with the ports that were chosen.
  std::vector<ListenAddress> addresses() const;

  ServerCounts counts() const;

  // Reads the TLS files again, for connections to come. When they can not be used it goes on with
  // what it has. Any thread.
  Status ReloadTls();

  // No new connections; requests under way are finished, streams ended, connections closed.
  // kDeadline when that took too long: what was left has been cut off, and a handler may still be
  // running. Any thread, once; afterwards only the destructor is of use.
  Status Stop(Deadline deadline);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace outbox::service
