// Tls: the client's side of TLS on a non-blocking socket.
#pragma once

#include <openssl/ssl.h>

#include <span>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "outbox/status.h"
#include "sink/option_reader.h"

namespace outbox::sink {

struct TlsOptions {
  bool verify = true;     // the certificate's chain and its host name
  std::string ca_file;    // PEM; the system's authorities when empty
  std::string cert_file;  // PEM, with its chain; none when empty
  std::string key_file;   // PEM; in cert_file when empty
};

// tls_ca, tls_cert, tls_key and tls_verify.
TlsOptions ReadTlsOptions(OptionReader& options);

// One session over a socket that outlives it. Never blocks and never raises SIGPIPE.
class Tls {
 public:
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

  // "TLSv1.3"
  std::string_view version() const;

 private:
  using Context = base::UniqueHandle<SSL_CTX, SSL_CTX_free>;
  using Session = base::UniqueHandle<SSL, SSL_free>;

  explicit Tls(Session session) : session_(std::move(session)) {}
  Step After(int result) const;

  Session session_;
};

}  // namespace outbox::sink
