// HttpRequest: a message, or a batch of them, as the headers and the body of a POST.
//
// The body is bytes that the signature covers. Headers carry the message's metadata, the producer's
// own headers and those of the options; none of them can end a header line or take the place of
// one that the sink sets.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "outbox/message.h"
#include "sink/http/options.h"

namespace outbox::sink {

struct HttpRequest {
  Headers headers;
  std::string body;
  std::size_t messages = 1;  // in the body
};

// `now` is the webhook-timestamp of this attempt.
HttpRequest MakeHttpRequest(const HttpOptions& options, const Message& message, Timestamp now);
// All of `messages`, of which `events` are the bodies, as a CloudEvents batch. Its webhook-id is
// made of the ids in it: the same for the same messages, another for any others.
HttpRequest MakeBatchRequest(const HttpOptions& options, std::span<const Message> messages,
                             std::span<const std::string> events, Timestamp now);
Timestamp Now();

// Of the header block, which many servers limit, and HTTP/2 clients to 64 KiB with all they add to
// it: the address, the login.
std::size_t HeaderBytes(const HttpRequest& request);
inline constexpr std::size_t kHeaderBytesMax = std::size_t{60} << 10;

// A token in the sense of HTTP.
bool IsHeaderName(std::string_view name);
// Printable ASCII.
bool IsHeaderValue(std::string_view value);
// Case does not matter.
bool IsHeader(std::string_view name, std::string_view lower);
// Those that frame the request or that the sink itself sets. Case does not matter.
bool IsReservedHeader(std::string_view name);

}  // namespace outbox::sink
