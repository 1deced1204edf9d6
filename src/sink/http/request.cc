#include "sink/http/request.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>

#include "base/json_object.h"
#include "base/text.h"
#include "message/envelope.h"
#include "sink/metadata.h"

namespace outbox::sink {
namespace {

using message::BodyFormat;

constexpr std::array<std::string_view, 12> kReserved{
    "host",   "content-length", "content-type", "content-encoding", "transfer-encoding",
    "te",     "trailer",        "connection",   "keep-alive",       "upgrade",
    "expect", "http2-settings"};
constexpr std::array<std::string_view, 5> kReservedPrefixes{"outbox-", "webhook-", "ce-", "proxy-",
                                                            ":"};
// A producer does not get to say who is asking.
constexpr std::array<std::string_view, 3> kNotForProducers{"authorization", "cookie", "user-agent"};

// Standards say how these are encoded, and whoever reads them goes by the standards.
constexpr std::array<std::string_view, 3> kTraceContext{"traceparent", "tracestate", "baggage"};

constexpr std::size_t kHeadersGuess = 20;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool IsTokenChar(unsigned char c) {
  return std::isalnum(c) != 0 ||
         std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
}

bool IsPrintable(unsigned char c) { return c >= 0x20 && c < 0x7f; }
bool IsPlainInName(unsigned char c) { return c != '%' && IsTokenChar(c); }
bool IsPlainInValue(unsigned char c) { return c != '%' && IsPrintable(c); }

// By the CloudEvents HTTP binding.
bool IsPlainInCloudEvents(unsigned char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '%'; }

template <typename Keep>
std::string PercentEncode(std::string_view text, Keep keep) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (std::all_of(text.begin(), text.end(),
                  [&](char c) { return keep(static_cast<unsigned char>(c)); })) {
    return std::string(text);
  }
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (keep(byte)) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

// Receivers drop spaces around a value.
std::string EncodeValue(std::string_view value) {
  std::string encoded = PercentEncode(value, IsPlainInValue);
  if (encoded.starts_with(' ')) encoded.replace(0, 1, "%20");
  if (encoded.ends_with(' ')) encoded.replace(encoded.size() - 1, 1, "%20");
  return encoded;
}

bool IsTraceContext(std::string_view name) {
  const std::string lower = Lower(name);
  return std::find(kTraceContext.begin(), kTraceContext.end(), lower) != kTraceContext.end();
}

bool MayProducerSet(const HttpOptions& options, std::string_view name) {
  const std::string lower = Lower(name);
  return !IsReservedHeader(lower) &&
         std::find(kNotForProducers.begin(), kNotForProducers.end(), lower) ==
             kNotForProducers.end() &&
         std::none_of(options.headers.begin(), options.headers.end(),
                      [&](const auto& header) { return Lower(header.first) == lower; });
}

void AddMetadata(const HttpOptions& options, const Message& message, Headers& headers) {
  headers.reserve(message.headers.size() + kHeadersGuess);
  VisitDeliveryHeaders(message, [&](std::string_view name, std::string_view value) {
    if (name.starts_with(kMetadataPrefix)) {
      headers.emplace_back(name, EncodeValue(value));
    } else if (MayProducerSet(options, name)) {
      headers.emplace_back(
          PercentEncode(name, IsPlainInName),
          IsTraceContext(name) ? PercentEncode(value, IsPrintable) : EncodeValue(value));
    }
  });
  if (!options.body.binary) return;
  for (const auto& [name, value] : message::CloudEventAttributes(message)) {
    headers.emplace_back("ce-" + name, PercentEncode(value, IsPlainInCloudEvents));
  }
}

// What every request has, whatever is in it.
void AddCommon(const HttpOptions& options, std::string_view id, Timestamp now,
               HttpRequest& request) {
  const std::int64_t sent_at =
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  Headers& headers = request.headers;
  headers.emplace_back("webhook-id", id);
  headers.emplace_back("webhook-timestamp", std::to_string(sent_at));
  if (!options.secrets.empty()) {
    std::vector<std::string> signatures;
    for (const WebhookSecret& secret : options.secrets) {
      signatures.push_back(secret.Sign(id, sent_at, request.body));
    }
    headers.emplace_back("webhook-signature", base::Join(signatures, " "));
  }
  if (!options.bearer.empty()) headers.emplace_back("authorization", "Bearer " + options.bearer);
  headers.insert(headers.end(), options.headers.begin(), options.headers.end());
}

}  // namespace

HttpRequest MakeHttpRequest(const HttpOptions& options, const Message& message, Timestamp now) {
  const BodyFormat format = options.body.format;
  HttpRequest request{.body = message::MakeBody(message, format)};
  request.headers.emplace_back("content-type", message::ContentType(format));
  AddMetadata(options, message, request.headers);
  AddCommon(options, message.id.ToString(), now, request);
  return request;
}

HttpRequest MakeBatchRequest(const HttpOptions& options, std::span<const Message> messages,
                             std::span<const std::string> events, Timestamp now) {
  std::string ids;
  for (const Message& message : messages) ids += message.id.ToString();
  HttpRequest request{.body = base::JsonArray({events.begin(), events.end()}),
                      .messages = messages.size()};
  request.headers.emplace_back("content-type", "application/cloudevents-batch+json");
  AddCommon(options, "batch_" + Sha256Hex(ids), now, request);
  return request;
}

std::size_t HeaderBytes(const HttpRequest& request) {
  // What HTTP/2 clients count beside each; the ": \r\n" of HTTP/1.1 is less.
  static constexpr std::size_t kPunctuation = 12;
  std::size_t bytes = 0;
  for (const auto& [name, value] : request.headers) {
    bytes += name.size() + value.size() + kPunctuation;
  }
  return bytes;
}

Timestamp Now() {
  return std::chrono::time_point_cast<Timestamp::duration>(std::chrono::system_clock::now());
}

bool IsHeaderName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), IsTokenChar);
}

bool IsHeaderValue(std::string_view value) {
  return std::all_of(value.begin(), value.end(), IsPrintable);
}

bool IsHeader(std::string_view name, std::string_view lower) { return Lower(name) == lower; }

bool IsReservedHeader(std::string_view name) {
  const std::string lower = Lower(name);
  return std::find(kReserved.begin(), kReserved.end(), lower) != kReserved.end() ||
         std::any_of(kReservedPrefixes.begin(), kReservedPrefixes.end(),
                     [&](std::string_view prefix) { return lower.starts_with(prefix); });
}

}  // namespace outbox::sink
