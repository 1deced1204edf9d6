// Stream: a connection to a server, in the clear or under TLS, in which every wait has a deadline.
//
// Failures are kSinkDown and name the server as host:port; only the caller knows what was sent
// before one and may therefore be in doubt. After a failure the stream is of no further use.
//
// Threads: one writes while another reads; under TLS one at a time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/authority.h"
#include "sink/net/connect_step.h"
#include "sink/net/socket.h"
#include "sink/net/tls.h"

namespace outbox::sink {

// Whether an address may be connected to. Every one may when it is empty.
using AddressFilter = std::function<bool(const Address& address)>;

class Stream {
 public:
  // Tries every address of the endpoint that is allowed, none longer than its share of the time.
  // Under TLS when `tls` is given.
  static Result<Stream> Connect(const Endpoint& endpoint, const std::optional<TlsOptions>& tls,
                                Deadline deadline, const ConnectObserver& observer = {},
                                const AddressFilter& allows = {});

  // Goes on under TLS. The server has said nothing since the last Read.
  Status Secure(const TlsOptions& options, Deadline deadline);
  // See DescribeTls; empty in the clear.
  std::string tls_description() const { return tls_ ? tls_->Describe() : ""; }

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
  Stream(const Endpoint& endpoint, Socket socket)
      : host_(endpoint.host), peer_(endpoint.ToString()), socket_(std::move(socket)) {}

  Tls::Step TryRead(std::span<char> buffer);
  Tls::Step TryWrite(std::string_view bytes);
  // Repeats `attempt` until it moves bytes. Ok, or why it never will.
  template <typename Attempt>
  Result<std::size_t> Until(std::string_view doing, Deadline deadline, Attempt attempt);

  std::string host_;
  std::string peer_;
  Socket socket_;
  std::optional<Tls> tls_;
};

}  // namespace outbox::sink
