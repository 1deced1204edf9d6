#include "service/http/transport.h"

#include <utility>

namespace outbox::service {

Transport::Transport(tcp::socket socket, std::shared_ptr<asio::ssl::context> tls)
    : socket_(std::move(socket)), context_(std::move(tls)), timer_(socket_.get_executor()) {
  if (context_ != nullptr) tls_.emplace(socket_, *context_);
  AsioError ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
}

void Transport::SetDeadline(Clock::time_point deadline) {
  deadline_ = deadline;
  expired_ = false;
  // A timer that is set earlier finds out for itself.
  if (deadline_ != kNever && (!armed_ || deadline_ < timer_.expiry())) Arm();
}

void Transport::Arm() {
  armed_ = true;
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](const AsioError& error) {
    if (error) return;
    self->armed_ = false;
    if (self->deadline_ == kNever || !self->socket_.is_open()) return;
    if (Clock::now() < self->deadline_) return self->Arm();
    self->expired_ = true;
    self->Cancel();
  });
}

Transport::Io Transport::Outcome(const AsioError& error, std::size_t bytes) const {
  return {.bytes = bytes, .ok = !error, .timed_out = error && expired_};
}

asio::awaitable<bool> Transport::Handshake() {
  if (!tls_) co_return true;
  AsioError error;
  co_await tls_->async_handshake(asio::ssl::stream_base::server, Into(error));
  co_return !error;
}

asio::awaitable<Transport::Io> Transport::Read(asio::mutable_buffer into) {
  if (Clock::now() >= deadline_) co_return Io{.timed_out = true};
  AsioError error;
  std::size_t bytes = 0;
  if (tls_) {
    bytes = co_await tls_->async_read_some(into, Into(error));
  } else {
    bytes = co_await socket_.async_read_some(into, Into(error));
  }
  co_return Outcome(error, bytes);
}

asio::awaitable<Transport::Io> Transport::Write(std::array<asio::const_buffer, 2> parts) {
  AsioError error;
  std::size_t bytes = 0;
  if (tls_) {
    bytes = co_await asio::async_write(*tls_, parts, Into(error));
  } else {
    bytes = co_await asio::async_write(socket_, parts, Into(error));
  }
  co_return Outcome(error, bytes);
}

asio::awaitable<void> Transport::Linger(Clock::time_point until, std::size_t bytes_max) {
  SetDeadline(until);
  AsioError error;
  if (tls_) co_await tls_->async_shutdown(Into(error));
  socket_.shutdown(tcp::socket::shutdown_send, error);
  std::array<char, 4096> scratch;
  std::size_t thrown_away = 0;
  while (!error && thrown_away < bytes_max && Clock::now() < deadline_) {
    thrown_away += co_await socket_.async_read_some(asio::buffer(scratch), Into(error));
  }
}

void Transport::BoundUnsent(int bytes) {
  AsioError ignored;
  socket_.set_option(asio::socket_base::send_buffer_size(bytes), ignored);
}

void Transport::Cancel() {
  AsioError ignored;
  socket_.cancel(ignored);
}

void Transport::Close() {
  AsioError ignored;
  timer_.cancel();
  socket_.close(ignored);
}

}  // namespace outbox::service
