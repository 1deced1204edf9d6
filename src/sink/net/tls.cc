#include "sink/net/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <system_error>

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL.
int BioWrite(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t sent = send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int BioRead(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t got = recv(fd, data, static_cast<std::size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

long BioControl(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "outbox socket");
    BIO_meth_set_write(made, BioWrite);
    BIO_meth_set_read(made, BioRead);
    BIO_meth_set_ctrl(made, BioControl);
    return made;
  }();
  return method;
}

std::string LastError() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown error";
}

bool LoadFiles(const TlsOptions& options, SSL_CTX* context) {
  if (options.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_file(context, options.ca_file.c_str()) != 1) {
    return false;
  }
  if (options.cert_file.empty()) return true;
  return SSL_CTX_use_certificate_chain_file(context, options.cert_file.c_str()) == 1 &&
         SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) == 1 &&
         SSL_CTX_check_private_key(context) == 1;
}

Status UseFiles(const TlsOptions& options, SSL_CTX* context) {
  if (LoadFiles(options, context)) return Status::Ok();
  const std::string error = LastError();
  OUTBOX_RETURN_IF_ERROR(CheckTlsFiles(options));
  return Status::SinkDown(StrCat("tls_ca, tls_cert or tls_key: ", error));
}

void ExpectHost(SSL* session, const std::string& host) {
  X509_VERIFY_PARAM* const expected = SSL_get0_param(session);
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1) return;
  SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  SSL_set1_host(session, host.c_str());
  SSL_set_tlsext_host_name(session, host.c_str());
}

int Length(std::size_t bytes) { return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)); }

}  // namespace

Result<Tls> Tls::Make(const TlsOptions& options, const std::string& host, int fd) {
  ERR_clear_error();
  const Context context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return Status::SinkDown(StrCat("TLS: ", LastError()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return -1; });
  SSL_CTX_set_verify(context.get(), options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  OUTBOX_RETURN_IF_ERROR(UseFiles(options, context.get()));

  Session session(SSL_new(context.get()));
  BIO* const bio = BIO_new(SocketMethod());
  if (session == nullptr || bio == nullptr) {
    BIO_free(bio);
    return Status::SinkDown(StrCat("TLS: ", LastError()));
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));  // NOLINT: a number
  BIO_set_init(bio, 1);
  SSL_set_bio(session.get(), bio, bio);
  ExpectHost(session.get(), host);
  SSL_set_connect_state(session.get());
  return Tls(std::move(session));
}

Tls::Step Tls::After(int result) const {
  const int system_error = errno;
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_NONE: return {.bytes = static_cast<std::size_t>(result)};
    case SSL_ERROR_WANT_READ: return {.wait = POLLIN};
    case SSL_ERROR_WANT_WRITE: return {.wait = POLLOUT};
    case SSL_ERROR_ZERO_RETURN: return {.closed = true};
    case SSL_ERROR_SYSCALL:
      if (system_error == 0) return {.closed = true};
      return {.error = std::generic_category().message(system_error)};
    default: break;
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_WRONG_VERSION_NUMBER) {
    return {.error = std::string(kNotTls)};
  }
  const long verified = SSL_get_verify_result(session_.get());
  if (verified == X509_V_OK) return {.error = LastError()};
  return {.error = StrCat(LastError(), ": ", X509_verify_cert_error_string(verified))};
}

Tls::Step Tls::Handshake() {
  ERR_clear_error();
  errno = 0;
  return After(SSL_do_handshake(session_.get()));
}

Tls::Step Tls::Read(std::span<char> buffer) {
  ERR_clear_error();
  errno = 0;
  return After(SSL_read(session_.get(), buffer.data(), Length(buffer.size())));
}

Tls::Step Tls::Write(std::string_view bytes) {
  ERR_clear_error();
  errno = 0;
  return After(SSL_write(session_.get(), bytes.data(), Length(bytes.size())));
}

}  // namespace outbox::sink
