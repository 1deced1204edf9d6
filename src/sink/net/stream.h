// Stream: a connection to a server, in the clear or under TLS, in which every wait has a deadline.
//
// Failures are kSinkDown and name the server as host:port; only the caller knows what was sent
// before one and may therefore be in doubt. After a failure the stream is of no further use.
//
// Threads: one writes while another reads; under TLS one at a time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/authority.h"
#include "sink/net/socket.h"
#include "sink/net/tls.h"

namespace outbox::sink {

// A step of connecting that has ended, well or not.
struct ConnectStep {
  std::string_view name;  // "resolve", "connect", "tls"
  std::string detail;     // "2 addresses", "192.0.2.1", "TLSv1.3", or the error
  bool ok = true;
  std::chrono::nanoseconds took{};
};
using ConnectObserver = std::function<void(const ConnectStep& step)>;

class Stream {
 public:
  // Tries every address of the endpoint, none longer than its share of the time. Under TLS when
  // `tls` is given.
  static Result<Stream> Connect(const Endpoint& endpoint, const std::optional<TlsOptions>& tls,
                                Deadline deadline, const ConnectObserver& observer = {});

  struct Written {
    std::size_t bytes = 0;  // that may have reached the server
    Status status;          // why not all of them
  };
  Written Write(std::string_view bytes, Deadline deadline);

  // Waits for at least one byte. The end of the stream is a failure.
  Result<std::size_t> Read(std::span<char> buffer, Deadline deadline);

  // The server has let go: what is written now would be lost.
  bool HungUp() const { return socket_.HungUp(); }
  const std::string& peer() const noexcept { return peer_; }  // "host:port"

 private:
  Stream(std::string peer, Socket socket) : peer_(std::move(peer)), socket_(std::move(socket)) {}

  Status StartTls(const TlsOptions& options, const std::string& host, Deadline deadline);
  Tls::Step TryRead(std::span<char> buffer);
  Tls::Step TryWrite(std::string_view bytes);
  // Repeats `attempt` until it moves bytes. Ok, or why it never will.
  template <typename Attempt>
  Result<std::size_t> Until(std::string_view doing, Deadline deadline, Attempt attempt);

  std::string peer_;
  Socket socket_;
  std::optional<Tls> tls_;
};

}  // namespace outbox::sink
