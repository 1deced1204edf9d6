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

constexpr const char* kAwayHint = "is the server up, and are its host and port right?";
constexpr const char* kNoTls = "the server does not speak TLS at this port";
constexpr const char* kPerhapsNoTls = "does the server speak TLS at this port?";
constexpr const char* kCertificateHint =
    "name the server's certificate authority with tls_ca=FILE, and the server as its certificate "
    "does";
constexpr const char* kOwnCertificateHint =
    "the server wants a certificate of ours: name it with tls_cert=FILE and tls_key=FILE";

Deadline ShareOf(Deadline deadline, std::size_t shares) {
  return Deadline(Clock::now() + deadline.remaining() / static_cast<long>(shares));
}

Result<Socket> ConnectToAny(const std::vector<Address>& addresses, Deadline deadline,
                            const ConnectObserver& observer) {
  Status last;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const StepTimer timer(observer, "connect");
    auto socket = Socket::Connect(addresses[i], ShareOf(deadline, addresses.size() - i));
    last = socket.error();
    if (!socket.ok() && addresses.size() > 1) {
      last = Status(last.code(), last.disposition(),
                    StrCat(addresses[i].ToString(), ": ", last.message()));
    }
    timer.Tell(last, addresses[i].ToString(), i + 1 < addresses.size());
    if (socket.ok()) return socket;
  }
  return last;
}

std::vector<Address> Allowed(std::vector<Address> addresses, const AddressFilter& allows) {
  std::erase_if(addresses, [&](const Address& address) { return allows && !allows(address); });
  return addresses;
}

// What to do about a handshake that failed with this error.
std::string TlsHint(const Status& error, const TlsOptions& options) {
  const auto says = [&](std::string_view what) {
    return error.message().find(what) != std::string::npos;
  };
  if (says(Tls::kNotTls)) {
    return StrCat(kNoTls, options.instead.empty() ? "" : ": ", options.instead);
  }
  if (!error.hint().empty()) return error.hint();
  if (says("certificate verify failed")) return kCertificateHint;
  return StrCat(kPerhapsNoTls, options.instead.empty() ? "" : " if not, ", options.instead);
}

Status Named(std::string_view doing, const std::string& peer, const Status& status) {
  return Status(status.code(), status.disposition(),
                StrCat(doing, " ", peer, ": ", status.message()))
      .WithHint(status.hint().empty() ? kAwayHint : status.hint());
}

Tls::Step FromSystem(ssize_t result, short wait) {
  if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
  if (result == 0) return {.closed = true};
  if (errno == EAGAIN || errno == EINTR) return {.wait = wait};
  return {.error = std::generic_category().message(errno)};
}

}  // namespace

Result<Stream> Stream::Connect(const Endpoint& endpoint, const std::optional<TlsOptions>& tls,
                               Deadline deadline, const ConnectObserver& observer,
                               const AddressFilter& allows) {
  const std::string peer = endpoint.ToString();
  const StepTimer resolving(observer, "resolve");
  auto resolved = Resolve(endpoint, deadline);
  resolving.Tell(resolved.error(),
                 resolved.ok()
                     ? StrCat(resolved->size(), resolved->size() == 1 ? " address" : " addresses")
                     : "");
  if (!resolved.ok()) return Named("connecting to", peer, resolved.error());
  const std::vector<Address> addresses = Allowed(*std::move(resolved), allows);
  if (addresses.empty()) return Status::SinkDown(StrCat(peer, ": address not allowed"));

  auto socket = ConnectToAny(addresses, deadline, observer);
  if (!socket.ok()) return Named("connecting to", peer, socket.error());
  Stream stream(endpoint, *std::move(socket));
  if (!tls) return stream;

  const StepTimer securing(observer, "tls");
  const Status secured = stream.Secure(*tls, deadline);
  securing.Tell(secured, secured.ok() ? stream.tls_description() : "");
  if (!secured.ok()) return secured;
  return stream;
}

Status Stream::Secure(const TlsOptions& options, Deadline deadline) {
  auto made = Tls::Make(options, host_, socket_.fd());
  if (!made.ok()) return Named("connecting to", peer_, made.error());
  tls_ = *std::move(made);
  const auto done = Until("TLS with", deadline, [&] { return tls_->Handshake(); });
  if (done.ok()) return Status::Ok();
  return done.error().WithHint(TlsHint(done.error(), options));
}

template <typename Attempt>
Result<std::size_t> Stream::Until(std::string_view doing, Deadline deadline, Attempt attempt) {
  while (true) {
    const Tls::Step step = attempt();
    if (step.closed) return Status::SinkDown(StrCat(peer_, " has closed the connection"));
    if (!step.error.empty()) {
      const bool own = step.error.find("alert certificate required") != std::string::npos;
      return Status::SinkDown(StrCat(doing, " ", peer_, ": ", step.error))
          .WithHint(own ? kOwnCertificateHint : "");
    }
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
