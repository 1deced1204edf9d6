#include "service/http/tls_context.h"

#include "base/text.h"

namespace outbox::service {
namespace {

// Of TLS 1.2; those of 1.3 are all of this kind. A key that is stolen later reads nothing.
constexpr const char* kForwardSecret = "ECDHE+AESGCM:ECDHE+CHACHA20";

Status TlsFileError(std::string_view what, const std::string& file, const AsioError& error) {
  return Status::Invalid(base::StrCat(
      "TLS: ", what, " ", file, " can not be used: ", base::CleanError(error.message(), 200)));
}

}  // namespace

Result<std::shared_ptr<asio::ssl::context>> MakeTlsContext(const TlsOptions& options) {
  try {
    auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_cipher_list(context->native_handle(), kForwardSecret);
    // Otherwise OpenSSL asks the terminal.
    context->set_password_callback([](std::size_t, auto) { return std::string(); });
    AsioError error;
    context->use_certificate_chain_file(options.certificate_file, error);
    if (error) return TlsFileError("certificate", options.certificate_file, error);
    context->use_private_key_file(options.key_file, asio::ssl::context::pem, error);
    if (error) {
      return TlsFileError("key", options.key_file, error)
          .WithHint("It must be the certificate's own key, in PEM, without a passphrase.");
    }
    return context;
  } catch (const std::exception&) {
    return Status::Permanent(Code::kInternal, "TLS: OpenSSL can not be set up");
  }
}

}  // namespace outbox::service
