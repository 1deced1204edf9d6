#include "sink/http/classify_error.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "message/payload_echo.h"
#include "sink/net/tls.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::size_t kTextBytesMax = 1024;
constexpr std::string_view kHidden = "***";
constexpr std::string_view kWriteHttps = "the server speaks TLS at this port: write https:";
// OpenSSL's words for bytes that are not TLS.
constexpr std::string_view kWrongVersion = "wrong version number";

// Letters in a row that an excerpt may not share with what was sent.
constexpr std::size_t kExcerptRun = 12;
// More than this in flight is not compared with an excerpt.
constexpr std::size_t kComparedBytesMax = std::size_t{1} << 20;

struct Phrase {
  long status;
  std::string_view text;
};

// Of RFC 9110 and its companions.
constexpr std::array kPhrases{
    Phrase{300, "Multiple Choices"},
    Phrase{301, "Moved Permanently"},
    Phrase{302, "Found"},
    Phrase{303, "See Other"},
    Phrase{304, "Not Modified"},
    Phrase{307, "Temporary Redirect"},
    Phrase{308, "Permanent Redirect"},
    Phrase{400, "Bad Request"},
    Phrase{401, "Unauthorized"},
    Phrase{402, "Payment Required"},
    Phrase{403, "Forbidden"},
    Phrase{404, "Not Found"},
    Phrase{405, "Method Not Allowed"},
    Phrase{406, "Not Acceptable"},
    Phrase{407, "Proxy Authentication Required"},
    Phrase{408, "Request Timeout"},
    Phrase{409, "Conflict"},
    Phrase{410, "Gone"},
    Phrase{411, "Length Required"},
    Phrase{412, "Precondition Failed"},
    Phrase{413, "Content Too Large"},
    Phrase{414, "URI Too Long"},
    Phrase{415, "Unsupported Media Type"},
    Phrase{417, "Expectation Failed"},
    Phrase{421, "Misdirected Request"},
    Phrase{422, "Unprocessable Content"},
    Phrase{423, "Locked"},
    Phrase{425, "Too Early"},
    Phrase{426, "Upgrade Required"},
    Phrase{428, "Precondition Required"},
    Phrase{429, "Too Many Requests"},
    Phrase{431, "Request Header Fields Too Large"},
    Phrase{451, "Unavailable For Legal Reasons"},
    Phrase{500, "Internal Server Error"},
    Phrase{501, "Not Implemented"},
    Phrase{502, "Bad Gateway"},
    Phrase{503, "Service Unavailable"},
    Phrase{504, "Gateway Timeout"},
    Phrase{505, "HTTP Version Not Supported"},
    Phrase{507, "Insufficient Storage"},
    Phrase{508, "Loop Detected"},
    Phrase{511, "Network Authentication Required"},
};

// The kinds of an answer that are told by name: any text can stand in a header.
constexpr std::array<std::string_view, 9> kContentTypes{
    "application/json", "application/problem+json",
    "application/xml",  "text/html",
    "text/plain",       "text/xml",
    "text/css",         "application/octet-stream",
    "application/grpc"};

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
    case 407: return HttpVerdict::kDown;
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
    default: return status < 400 ? "put the final URL into the sink's address" : "";
  }
}

std::string Remark(const HttpExchange& exchange, HttpVerdict verdict) {
  if (verdict != HttpVerdict::kDown) return "";
  if (exchange.status < 400) return ", and redirects are not followed";
  if (!exchange.retry_after) return "";
  return StrCat(", to be left alone for ", base::FormatDuration(*exchange.retry_after));
}

std::optional<std::chrono::milliseconds> WaitFor(const HttpExchange& exchange,
                                                 HttpVerdict verdict) {
  if (verdict == HttpVerdict::kMessage) return std::nullopt;
  if (exchange.retry_after) return exchange.retry_after;
  return std::nullopt;
}

// "404 Not Found"
std::string StatusText(long status) {
  for (const Phrase& phrase : kPhrases) {
    if (phrase.status == status) return StrCat(status, " ", phrase.text);
  }
  return std::to_string(status);
}

// "; 120 bytes of text/html"
std::string BodyText(const HttpExchange& exchange) {
  if (exchange.body_bytes == 0) return "";
  const std::string_view type = base::Trim(
      std::string_view(exchange.content_type)
          .substr(0, std::min(exchange.content_type.find(';'), exchange.content_type.size())));
  const auto* const known = std::find(kContentTypes.begin(), kContentTypes.end(), type);
  return StrCat("; ", exchange.cut_off ? "more than " : "", exchange.body_bytes, " bytes",
                known == kContentTypes.end() ? "" : StrCat(" of ", *known));
}

// An endpoint that wants no more messages. Whoever wants it probed says 410:down.
bool IsGone(const HttpExchange& exchange, const HttpOptions& options) {
  return exchange.status == 410 && !options.verdicts.contains(exchange.status);
}

Status Gone(const HttpOptions& options) {
  // Without the server's words: this text is kept, and shown to every operator.
  return Status(Code::kRejected, Disposition::kSinkDown,
                StrCat(options.endpoint.ToString(),
                       " answered 410: it is gone and wants no more messages"))
      .WithNative("HTTP 410")
      .WithHint(
          "nothing is sent there until `outboxd resume`; remove this sink or change its address")
      .WithPause();
}

Status ClassifyAnswer(const HttpExchange& exchange, const HttpOptions& options) {
  const long code = exchange.status;
  if (code >= 200 && code < 300) return Status::Ok();
  if (IsGone(exchange, options)) return Gone(options);
  const HttpVerdict verdict = VerdictOf(exchange, options);
  const bool own_fault = verdict == HttpVerdict::kMessage ||
                         (verdict == HttpVerdict::kRetry && CodeOf(code) != Code::kUnavailable);
  const bool wants_tls =
      code == 400 && options.url.starts_with("http:") && AsksForTls(exchange.response);
  Status status = Status(own_fault ? Code::kRejected : CodeOf(code), DispositionOf(verdict),
                         StrCat(options.endpoint.ToString(), " answered ", StatusText(code),
                                Remark(exchange, verdict), BodyText(exchange),
                                exchange.excerpt.empty() ? "" : ": ", exchange.excerpt))
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

std::string TellableExcerpt(std::string_view response, std::span<const std::string_view> sent,
                            const HttpOptions& options) {
  if (options.excerpt == 0 || response.empty()) return "";
  std::size_t bytes = 0;
  for (const std::string_view body : sent) bytes += body.size();
  if (bytes > kComparedBytesMax) return "[too much is in flight to compare the answer with it]";
  message::PayloadEcho echo(kExcerptRun);
  const std::size_t answer = echo.Add(response);
  for (const std::string_view body : sent) echo.Look(body);
  if (echo.Repeats(answer)) return "[the answer repeats what was sent]";
  return base::Truncate(Clean(std::string(response), options), options.excerpt);
}

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
