// Tls: the client's side of TLS on a non-blocking socket.
#pragma once

#include <openssl/ssl.h>

#include <span>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "outbox/status.h"
#include "sink/net/tls_options.h"
#include "sink/net/tls_session.h"

namespace outbox::sink {

// One session over a socket that outlives it. Never blocks and never raises SIGPIPE.
class Tls {
 public:
  // The error of a handshake with a server that speaks something else.
  static constexpr std::string_view kNotTls = "the answer is not TLS";

  // What one call has achieved: bytes, or what to wait for, or why it is over.
  struct Step {
    std::size_t bytes = 0;
    short wait = 0;  // POLLIN or POLLOUT
    bool closed = false;
    std::string error;
  };

  // Fails when a file can not be used. `host` is checked against the certificate, and told to the
  // server when it is a name.
  static Result<Tls> Make(const TlsOptions& options, const std::string& host, int fd);

  Step Handshake();
  Step Read(std::span<char> buffer);
  // Bytes that are taken form whole records: the peer sees all of them or, cut off, none.
  Step Write(std::string_view bytes);

  // See DescribeTls.
  std::string Describe() const { return DescribeTls(session_.get()); }

 private:
  using Context = base::UniqueHandle<SSL_CTX, SSL_CTX_free>;
  using Session = base::UniqueHandle<SSL, SSL_free>;

  explicit Tls(Session session) : session_(std::move(session)) {}
  Step After(int result) const;

  Session session_;
};

}  // namespace outbox::sink
