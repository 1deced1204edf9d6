// Messages: what an application enqueues (NewMessage) and what a sink receives (Message).
//
// The payload is opaque JSON text. Nothing in outbox rewrites it: the bytes that were enqueued are
// the bytes that are delivered.
//
// Thread-safety: values; distinct objects may be used from distinct threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "outbox/uuid.h"

namespace outbox {

// Wall-clock time as databases keep it: microseconds since 1970, UTC.
using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;

// Header names and values, in the order given. Names are unique, not empty and without control
// characters; sinks carry them as broker headers.
using Headers = std::vector<std::pair<std::string, std::string>>;

// The names under which a W3C trace context travels in the headers.
inline constexpr std::string_view kTraceparentHeader = "traceparent";
inline constexpr std::string_view kTracestateHeader = "tracestate";

// A message to be enqueued. Only topic and payload are required; fill in what you have:
//
//   outbox::NewMessage{.topic = "orders.order.created.v1", .payload = R"({"id":42})", .key = "42"}
struct NewMessage {
  // What it is about: `<module>.<aggregate>.<event>.vN`, lower case, under 128 characters.
  std::string topic;
  // JSON text, UTF-8 without a byte order mark, at most EnqueueOptions::payload_bytes_max bytes.
  std::string payload;

  // Identity. A version 7 UUID is made when absent. Enqueuing the same id twice adds one row.
  std::optional<Uuid> id = {};
  // Groups messages of one producer; part of the dedupe identity. Empty is a namespace too.
  std::string name_space = {};
  // What happened, for consumers that route by type rather than by topic.
  std::string event_type = {};
  int event_version = 1;
  // The thing it happened to.
  std::string aggregate_type = {};
  std::string aggregate_id = {};
  // Messages with the same key are related; sinks use it as partition or ordering key.
  std::string key = {};
  std::optional<Uuid> tenant_id = {};
  // With (namespace, topic): a second message with the same dedupe key adds no row. If tenant_id
  // is given too, it must start with the tenant's UUID text and "/".
  std::string dedupe_key = {};
  Headers headers = {};
  // W3C trace context, delivered unchanged in the headers of the same names.
  std::string traceparent = {};
  std::string tracestate = {};
  // Not delivered before this long after the enqueue, by the database's clock. At most 36500 days.
  std::chrono::milliseconds delay{0};
  // Not delivered before this moment, of the years 1 to 9999. At most one of delay and available_at
  // may be given.
  std::optional<Timestamp> available_at = {};
};

// The states of a stored message. docs/concepts/states.md has the picture.
enum class MessageStatus : std::uint8_t { kPending, kProcessing, kDelivered, kDead };

std::string_view ToString(MessageStatus status) noexcept;
std::optional<MessageStatus> ParseMessageStatus(std::string_view text) noexcept;

// A message as a sink receives it: what was enqueued, and which attempt this is.
struct Message {
  Uuid id;
  std::int64_t seq = 0;     // grows with each enqueue into a table; unique there, may have gaps
  std::string table;        // "public.orders_outbox"
  std::string destination;  // in a table with routes: the name of the sink it goes to
  std::string name_space;
  std::string topic;
  std::string event_type;
  int event_version = 1;
  std::string aggregate_type;
  std::string aggregate_id;
  std::string key;
  std::optional<Uuid> tenant_id;
  std::string dedupe_key;
  std::string payload;
  Headers headers;        // includes traceparent and tracestate when they were given
  int attempt = 0;        // 1 at the first delivery
  bool in_doubt = false;  // a crash cut the attempt before off: the message may have arrived
  Timestamp created_at{};
  Timestamp available_at{};

  // The value of a header, or an empty view.
  std::string_view Header(std::string_view name) const noexcept;
};

}  // namespace outbox
