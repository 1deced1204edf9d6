#include "sink/http/classify_error.h"

#include <utility>

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::size_t kTextBytesMax = 1024;

// Printable, short, and without our own secrets, which some servers repeat.
std::string Clean(std::string text, const HttpOptions& options) {
  for (const std::string& hidden : options.hidden) {
    for (std::size_t at = 0; (at = text.find(hidden, at)) != std::string::npos;) {
      text.replace(at, hidden.size(), "***");
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
  if (code == 408 || code == 425 || code == 429 || code >= 500) {
    Status status = make(Code::kUnavailable, Disposition::kRetry);
    if (exchange.retry_after) status = std::move(status).WithRetryAfter(*exchange.retry_after);
    return status;
  }
  if (code >= 300 && code < 400) {
    return make(Code::kRejected, Disposition::kPermanent, ", and redirects are not followed")
        .WithHint("put the final URL into the sink's address");
  }
  if (code == 410) {
    return make(Code::kRejected, Disposition::kPermanent, ", it wants no more messages")
        .WithHint("the endpoint is gone for good: remove this sink or change its address");
  }
  return make(Code::kRejected, Disposition::kPermanent);
}

Status ClassifyTransport(const HttpExchange& exchange, const HttpOptions& options) {
  const std::string where = options.endpoint.ToString();
  const std::string detail =
      Clean(exchange.detail.empty() ? curl_easy_strerror(exchange.code) : exchange.detail, options);
  const std::string native = StrCat("curl ", static_cast<int>(exchange.code));
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
    default: return Status::SinkDown(StrCat(where, ": ", detail)).WithNative(native);
  }
}

}  // namespace

Status ClassifyExchange(const HttpExchange& exchange, const HttpOptions& options) {
  if (exchange.blocked) {
    return Status::Permanent(Code::kPermission,
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
