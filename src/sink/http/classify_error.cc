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
constexpr std::string_view kWriteHttps = "the server speaks TLS at this port: write https:";
// How often an endpoint that is gone is asked whether it still is.
constexpr std::chrono::hours kGoneFor{24};
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

HttpVerdict VerdictOf(const HttpExchange& exchange, const HttpOptions& options) {
  const long code = exchange.status;
  if (const auto own = options.verdicts.find(code); own != options.verdicts.end()) {
    return own->second;
  }
  if (code < 400) return HttpVerdict::kDown;
  if (code >= 500 || code == 429) {
    const bool asks = exchange.retry_after && (code == 429 || code == 503);
    return asks ? HttpVerdict::kDown : HttpVerdict::kRetry;
  }
  switch (code) {
    case 401:
    case 403:
    case 404:
    case 405:
    case 407:
    case 410: return HttpVerdict::kDown;
    case 408:
    case 425: return HttpVerdict::kRetry;
    default: return HttpVerdict::kMessage;
  }
}

Disposition DispositionOf(HttpVerdict verdict) {
  switch (verdict) {
    case HttpVerdict::kMessage: return Disposition::kPermanent;
    case HttpVerdict::kRetry: return Disposition::kRetry;
    case HttpVerdict::kDown: return Disposition::kSinkDown;
  }
  return Disposition::kRetry;
}

Code CodeOf(long status) {
  if (status == 401 || status == 403 || status == 407) return Code::kPermission;
  if (status == 404) return Code::kNotFound;
  if (status == 408 || status == 425 || status == 429 || status >= 500) return Code::kUnavailable;
  return Code::kRejected;
}

// What people can do about a destination that is down by this answer.
std::string_view DownHint(long status) {
  switch (status) {
    case 401:
    case 407: return "check the user and password, the bearer token or the secret of this sink";
    case 403:
      return "check the credentials of this sink and what they permit; if the server refuses "
             "single messages so, write outbox.verdicts=403:message";
    case 404:
    case 405:
      return "check the host and the path of this sink; if the server refuses single messages so, "
             "write outbox.verdicts=404:message";
    case 410:
      return "the endpoint is gone: it is tried once a day. Remove this sink or change its "
             "address; "
             "pause and resume it to try at once";
    default: return status < 400 ? "put the final URL into the sink's address" : "";
  }
}

std::string Remark(const HttpExchange& exchange, HttpVerdict verdict) {
  if (verdict != HttpVerdict::kDown) return "";
  if (exchange.status < 400) return ", and redirects are not followed";
  if (exchange.status == 410) return ", it is gone and wants no more messages";
  if (!exchange.retry_after) return "";
  return StrCat(", to be left alone for ", base::FormatDuration(*exchange.retry_after));
}

std::optional<std::chrono::milliseconds> WaitFor(const HttpExchange& exchange,
                                                 HttpVerdict verdict) {
  if (verdict == HttpVerdict::kMessage) return std::nullopt;
  if (exchange.retry_after) return exchange.retry_after;
  if (verdict == HttpVerdict::kDown && exchange.status == 410) return kGoneFor;
  return std::nullopt;
}

Status ClassifyAnswer(const HttpExchange& exchange, const HttpOptions& options) {
  const long code = exchange.status;
  if (code >= 200 && code < 300) return Status::Ok();
  const HttpVerdict verdict = VerdictOf(exchange, options);
  const std::string response = Clean(exchange.response, options);
  const bool own_fault = verdict == HttpVerdict::kMessage ||
                         (verdict == HttpVerdict::kRetry && CodeOf(code) != Code::kUnavailable);
  const bool wants_tls = code == 400 && options.url.starts_with("http:") && AsksForTls(response);
  Status status = Status(own_fault ? Code::kRejected : CodeOf(code), DispositionOf(verdict),
                         StrCat(options.endpoint.ToString(), " answered ", code,
                                Remark(exchange, verdict), response.empty() ? "" : ": ", response))
                      .WithNative(StrCat("HTTP ", code))
                      .WithHint(std::string(wants_tls                       ? kWriteHttps
                                            : verdict == HttpVerdict::kDown ? DownHint(code)
                                                                            : ""));
  const auto wait = WaitFor(exchange, verdict);
  return wait ? std::move(status).WithRetryAfter(*wait) : status;
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

Status AddressNotAllowed(const HttpOptions& options) {
  return Status(Code::kPermission, Disposition::kSinkDown,
                StrCat(options.endpoint.ToString(), ": address not allowed"))
      .WithHint("allow private addresses with outbox.allow=CIDR,CIDR");
}

Status ClassifyExchange(const HttpExchange& exchange, const HttpOptions& options) {
  if (exchange.blocked) return AddressNotAllowed(options);
  // A refusal needs no more than its first line; for a confirmation the answer must be whole.
  const bool whole = exchange.code == CURLE_OK || exchange.cut_off;
  if (exchange.status >= 300 || (exchange.status >= 200 && whole)) {
    return ClassifyAnswer(exchange, options);
  }
  return ClassifyTransport(exchange, options);
}

}  // namespace outbox::sink
