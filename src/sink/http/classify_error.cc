#include "sink/http/classify_error.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "sink/net/tls.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::size_t kTextBytesMax = 1024;
constexpr std::string_view kHidden = "***";
// OpenSSL's words for bytes that are not TLS.
constexpr std::string_view kWrongVersion = "wrong version number";

// A server's words to a request in the clear at its port for TLS: of nginx, Go, Apache, Tomcat.
bool AsksForTls(std::string_view response) {
  constexpr std::array<std::string_view, 4> kWords{
      "HTTP request was sent to HTTPS port", "HTTP request to an HTTPS server",
      "plain HTTP to an SSL-enabled server port", "combination of host and port requires TLS"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view words) {
    return response.find(words) != std::string_view::npos;
  });
}

// Printable, short, and without our own secrets, which some servers repeat.
std::string Clean(std::string text, const HttpOptions& options) {
  for (const std::string& hidden : options.hidden) {
    for (std::size_t at = 0; (at = text.find(hidden, at)) != std::string::npos;) {
      text.replace(at, hidden.size(), kHidden);
      at += kHidden.size();
    }
  }
  return base::CleanError(base::Trim(text), kTextBytesMax);
}

Status ClassifyAnswer(const HttpExchange& exchange, const HttpOptions& options) {
  const long code = exchange.status;
  const std::string response = Clean(exchange.response, options);
  const auto make = [&](Code kind, Disposition disposition, std::string_view remark = "") {
    return Status(kind, disposition,
                  StrCat(options.endpoint.ToString(), " answered ", code, remark,
                         response.empty() ? "" : ": ", response))
        .WithNative(StrCat("HTTP ", code));
  };
  if (code >= 200 && code < 300) return Status::Ok();
  if (code == 401 || code == 407) {
    return make(Code::kPermission, Disposition::kSinkDown)
        .WithHint("check the user and password, the bearer token or the secret of this sink");
  }
  if ((code == 429 || code == 503) && exchange.retry_after) {
    return make(Code::kUnavailable, Disposition::kSinkDown,
                StrCat(", to be left alone for ", base::FormatDuration(*exchange.retry_after)))
        .WithRetryAfter(*exchange.retry_after);
  }
  if (code == 408 || code == 425 || code == 429 || code >= 500) {
    Status status = make(Code::kUnavailable, Disposition::kRetry);
    return exchange.retry_after ? std::move(status).WithRetryAfter(*exchange.retry_after) : status;
  }
  if (code >= 300 && code < 400) {
    return make(Code::kRejected, Disposition::kPermanent, ", and redirects are not followed")
        .WithHint("put the final URL into the sink's address");
  }
  if (code == 410) {
    return make(Code::kRejected, Disposition::kSinkDown, ", it wants no more messages")
        .WithHint("the endpoint is gone for good: remove this sink or change its address");
  }
  const bool wants_tls = code == 400 && options.url.starts_with("http:") && AsksForTls(response);
  return make(Code::kRejected, Disposition::kPermanent)
      .WithHint(wants_tls ? "the server speaks TLS at this port: write https:" : "");
}

Status ClassifyTransport(const HttpExchange& exchange, const HttpOptions& options) {
  const std::string where = options.endpoint.ToString();
  const std::string detail =
      Clean(exchange.detail.empty() ? curl_easy_strerror(exchange.code) : exchange.detail, options);
  const std::string native = StrCat("curl ", static_cast<int>(exchange.code));
  if (detail.find(kWrongVersion) != std::string::npos) {
    return Status::SinkDown(StrCat(where, ": ", Tls::kNotTls))
        .WithHint("the server does not speak TLS at this port: write http:")
        .WithNative(native);
  }
  if (exchange.sent) {
    const bool late = exchange.code == CURLE_OPERATION_TIMEDOUT;
    return Status::InDoubt(late ? Code::kDeadline : Code::kUnavailable,
                           StrCat(where, late ? " did not answer in time: " : ": ", detail))
        .WithNative(native);
  }
  switch (exchange.code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      return Status(Code::kPermission, Disposition::kSinkDown,
                    StrCat(where, " can not prove who it is: ", detail))
          .WithHint("name its certificate authority with outbox.tls_ca, or correct its certificate")
          .WithNative(native);
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
      return Status(Code::kPermission, Disposition::kSinkDown, StrCat(where, ": ", detail))
          .WithHint("check the files of outbox.tls_ca, outbox.tls_cert and outbox.tls_key")
          .WithNative(native);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return Status::SinkDown(StrCat(where, ": ", detail))
          .WithHint("is the server up, and are its host and port right?")
          .WithNative(native);
    case CURLE_OPERATION_TIMEDOUT:
      return Status::SinkDown(StrCat(where, ": ", detail))
          .WithHint(
              options.url.starts_with("https:")
                  ? "is the server up, and does it speak TLS at this port? if not, write http:"
                  : "is the server up, and are its host and port right?")
          .WithNative(native);
    default: return Status::SinkDown(StrCat(where, ": ", detail)).WithNative(native);
  }
}

}  // namespace

Status ClassifyExchange(const HttpExchange& exchange, const HttpOptions& options) {
  if (exchange.blocked) {
    return Status(Code::kPermission, Disposition::kSinkDown,
                  StrCat(options.endpoint.ToString(), ": address not allowed"))
        .WithHint("allow private addresses with outbox.allow=CIDR,CIDR");
  }
  // A refusal needs no more than its first line; for a confirmation the answer must be whole.
  const bool whole = exchange.code == CURLE_OK || exchange.cut_off;
  if (exchange.status >= 300 || (exchange.status >= 200 && whole)) {
    return ClassifyAnswer(exchange, options);
  }
  return ClassifyTransport(exchange, options);
}

}  // namespace outbox::sink
