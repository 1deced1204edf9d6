// Transport: the bytes of one TCP connection, plain or through TLS, with one deadline for whatever
// is going on.
//
// Lives on its connection's strand: all calls come from there. Nothing throws.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "outbox/deadline.h"
#include "service/http/asio.h"
#include "service/http/limits.h"

namespace outbox::service {

class Transport : public std::enable_shared_from_this<Transport> {
 public:
  using Clock = Deadline::Clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  struct Io {
    std::size_t bytes = 0;
    bool ok = false;
    bool timed_out = false;
  };

  // `tls` is null for plain connections.
  Transport(tcp::socket socket, std::shared_ptr<asio::ssl::context> tls);

  // Of everything from now on, until it is set again.
  void SetDeadline(Clock::time_point deadline);
  Clock::time_point deadline() const noexcept { return deadline_; }

  asio::awaitable<bool> Handshake();
  asio::awaitable<Io> Read(asio::mutable_buffer into);
  asio::awaitable<Io> Write(std::array<asio::const_buffer, 2> parts);

  // Says goodbye, and throws away what still comes in until the other side has closed, but no
  // longer and no more than that.
  asio::awaitable<void> Linger(Clock::time_point until, std::size_t bytes_max);

  // How much may wait in the kernel for the other side to take it.
  void BoundUnsent(int bytes);

  // Ends reads and writes that are under way; they fail.
  void Cancel();
  void Close();

  bool tls() const noexcept { return tls_.has_value(); }
  asio::any_io_executor executor() { return socket_.get_executor(); }

 private:
  void Arm();
  Io Outcome(const AsioError& error, std::size_t bytes) const;

  tcp::socket socket_;
  const std::shared_ptr<asio::ssl::context> context_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;
  asio::steady_timer timer_;
  Clock::time_point deadline_ = kNever;
  bool armed_ = false;
  bool expired_ = false;
};

}  // namespace outbox::service
