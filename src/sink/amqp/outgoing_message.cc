#include "sink/amqp/outgoing_message.h"

#include <chrono>

#include "base/text.h"
#include "sink/metadata.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::string_view kAppId = "outboxd";
// Per header: the lengths of name and value, and the value's type.
constexpr std::size_t kHeaderOverhead = 1 + 1 + 4;
// The other properties, at their longest, and the frame itself.
constexpr std::size_t kPropertiesMax = 2048;

// RabbitMQ reads these two as lists of more routing keys, and closes the channel on anything else.
bool HasMeaningForRabbitMq(std::string_view header) { return header == "CC" || header == "BCC"; }

}  // namespace

amqp_bytes_t AsBytes(std::string_view text) {
  return {.len = text.size(), .bytes = const_cast<char*>(text.data())};
}

std::string_view AsText(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

Status OutgoingMessage::Fill(const Message& message) {
  routing_key_ = options_.routing_key.Render(message);
  if (routing_key_.size() > AmqpOptions::kShortTextMax) {
    return Status::Invalid(StrCat("the routing key has ", routing_key_.size(),
                                  " bytes; AMQP carries at most ", AmqpOptions::kShortTextMax));
  }
  id_ = message.id.ToString();
  properties_ = {};
  OUTBOX_RETURN_IF_ERROR(FillHeaders(message));

  if (options_.body == message::BodyFormat::kPlain) {
    body_ = AsBytes(message.payload);
  } else {
    made_body_ = message::MakeBody(message, options_.body);
    body_ = AsBytes(made_body_);
  }
  if (body_.len > options_.message_bytes_max) {
    return Status::Permanent(Code::kRejected,
                             StrCat("the body has ", body_.len, " bytes, over the limit of ",
                                    options_.message_bytes_max))
        .WithHint("message_bytes_max is the sink's limit; the broker has max_message_size");
  }

  const std::string& type = message.event_type.empty() ? message.topic : message.event_type;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(message.created_at);
  properties_._flags |= AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                        AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TIMESTAMP_FLAG |
                        AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_APP_ID_FLAG;
  properties_.content_type = AsBytes(message::ContentType(options_.body));
  properties_.delivery_mode =
      options_.persistent ? AMQP_DELIVERY_PERSISTENT : AMQP_DELIVERY_NONPERSISTENT;
  properties_.message_id = AsBytes(id_);
  properties_.timestamp = static_cast<std::uint64_t>(seconds.time_since_epoch().count());
  properties_.type = AsBytes(std::string_view(type).substr(0, AmqpOptions::kShortTextMax));
  properties_.app_id = AsBytes(kAppId);
  return Status::Ok();
}

Status OutgoingMessage::FillHeaders(const Message& message) {
  headers_ = DeliveryHeaders(message);
  entries_.clear();
  std::size_t bytes = kPropertiesMax;
  for (const auto& [name, value] : headers_) {
    if (name.size() > AmqpOptions::kShortTextMax || HasMeaningForRabbitMq(name)) {
      return Status::Invalid(StrCat("RabbitMQ takes no header '", base::Truncate(name, 64), "'"))
          .WithHint("rename the header where the message is enqueued");
    }
    bytes += name.size() + value.size() + kHeaderOverhead;
    amqp_table_entry_t& entry = entries_.emplace_back();
    entry.key = AsBytes(name);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = AsBytes(value);
  }
  if (bytes > frame_bytes_max_) {
    return Status::Invalid(StrCat("the headers have about ", bytes,
                                  " bytes; this connection carries at most ", frame_bytes_max_));
  }
  properties_._flags |= AMQP_BASIC_HEADERS_FLAG;
  properties_.headers = {.num_entries = static_cast<int>(entries_.size()),
                         .entries = entries_.data()};
  return Status::Ok();
}

}  // namespace outbox::sink
