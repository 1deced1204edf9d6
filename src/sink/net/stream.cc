#include "sink/net/stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "base/text.h"
#include "sink/net/resolve.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using Clock = Deadline::Clock;

// Tells the observer how long a step took and how it ended.
class StepTimer {
 public:
  StepTimer(const ConnectObserver& observer, std::string_view name)
      : observer_(observer), name_(name) {}

  void Tell(const Status& status, const std::string& detail) const {
    if (!observer_) return;
    observer_({.name = name_,
               .detail = status.ok() ? detail : status.message(),
               .ok = status.ok(),
               .took = Clock::now() - start_});
  }

 private:
  const ConnectObserver& observer_;
  const std::string_view name_;
  const Clock::time_point start_ = Clock::now();
};

Deadline ShareOf(Deadline deadline, std::size_t shares) {
  return Deadline(Clock::now() + deadline.remaining() / static_cast<long>(shares));
}

Result<Socket> ConnectToAny(const std::vector<Address>& addresses, Deadline deadline,
                            const ConnectObserver& observer) {
  Status last;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const StepTimer timer(observer, "connect");
    auto socket = Socket::Connect(addresses[i], ShareOf(deadline, addresses.size() - i));
    timer.Tell(socket.error(), addresses[i].ToString());
    if (socket.ok()) return socket;
    last = socket.error();
  }
  return last;
}

Status Named(std::string_view doing, const std::string& peer, const Status& status) {
  return Status(status.code(), status.disposition(),
                StrCat(doing, " ", peer, ": ", status.message()))
      .WithHint(status.hint());
}

Tls::Step FromSystem(ssize_t result, short wait) {
  if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
  if (result == 0) return {.closed = true};
  if (errno == EAGAIN || errno == EINTR) return {.wait = wait};
  return {.error = std::generic_category().message(errno)};
}

}  // namespace

Result<Stream> Stream::Connect(const Endpoint& endpoint, const std::optional<TlsOptions>& tls,
                               Deadline deadline, const ConnectObserver& observer) {
  const std::string peer = endpoint.ToString();
  const StepTimer resolving(observer, "resolve");
  const auto addresses = Resolve(endpoint, deadline);
  resolving.Tell(addresses.error(), addresses.ok() ? StrCat(addresses->size(), " addresses") : "");
  if (!addresses.ok()) return Named("connecting to", peer, addresses.error());

  auto socket = ConnectToAny(*addresses, deadline, observer);
  if (!socket.ok()) return Named("connecting to", peer, socket.error());
  Stream stream(peer, *std::move(socket));
  if (!tls) return stream;

  const StepTimer securing(observer, "tls");
  const Status secured = stream.StartTls(*tls, endpoint.host, deadline);
  securing.Tell(secured, secured.ok() ? std::string(stream.tls_->version()) : "");
  if (!secured.ok()) return secured;
  return stream;
}

Status Stream::StartTls(const TlsOptions& options, const std::string& host, Deadline deadline) {
  auto made = Tls::Make(options, host, socket_.fd());
  if (!made.ok()) return Named("connecting to", peer_, made.error());
  tls_ = *std::move(made);
  const auto done = Until("TLS with", deadline, [&] { return tls_->Handshake(); });
  if (done.ok()) return Status::Ok();
  return done.error().WithHint(
      options.verify ? "name the server's certificate authority with tls_ca=FILE, and the server "
                       "as its certificate does"
                     : "");
}

template <typename Attempt>
Result<std::size_t> Stream::Until(std::string_view doing, Deadline deadline, Attempt attempt) {
  while (true) {
    const Tls::Step step = attempt();
    if (step.closed) return Status::SinkDown(StrCat(peer_, " has closed the connection"));
    if (!step.error.empty()) return Status::SinkDown(StrCat(doing, " ", peer_, ": ", step.error));
    if (step.wait == 0) return step.bytes;
    if (!socket_.Wait(step.wait, deadline)) {
      return Status(Code::kDeadline, Disposition::kSinkDown,
                    StrCat(doing, " ", peer_, ": no answer in time"));
    }
  }
}

Tls::Step Stream::TryRead(std::span<char> buffer) {
  if (tls_) return tls_->Read(buffer);
  return FromSystem(recv(socket_.fd(), buffer.data(), buffer.size(), 0), POLLIN);
}

Tls::Step Stream::TryWrite(std::string_view bytes) {
  if (tls_) return tls_->Write(bytes);
  return FromSystem(send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), POLLOUT);
}

Stream::Written Stream::Write(std::string_view bytes, Deadline deadline) {
  Written written;
  while (written.bytes < bytes.size()) {
    const auto taken =
        Until("writing to", deadline, [&] { return TryWrite(bytes.substr(written.bytes)); });
    if (!taken.ok()) {
      written.status = taken.error();
      break;
    }
    written.bytes += *taken;
  }
  return written;
}

Result<std::size_t> Stream::Read(std::span<char> buffer, Deadline deadline) {
  return Until("reading from", deadline, [&] { return TryRead(buffer); });
}

}  // namespace outbox::sink
