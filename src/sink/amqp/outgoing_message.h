// OutgoingMessage: a message in the form that basic.publish takes.
//
// Properties: message_id is the event's id, type its event type or topic, timestamp its creation in
// seconds, app_id "outboxd", content_type by the body's format, delivery_mode 2 when persistent.
// The headers are the delivery headers of sink/metadata.h, as text.
//
// Threads: used by one. One object serves message after message and keeps its memory.
#pragma once

#include <amqp.h>

#include <cstddef>
#include <string>
#include <vector>

#include "outbox/message.h"
#include "outbox/status.h"
#include "sink/amqp/options.h"

namespace outbox::sink {

class OutgoingMessage {
 public:
  // `frame_bytes_max` is what the connection has agreed on: the headers must fit in one frame.
  OutgoingMessage(const AmqpOptions& options, std::size_t frame_bytes_max)
      : options_(options), frame_bytes_max_(frame_bytes_max) {}
  OutgoingMessage(const OutgoingMessage&) = delete;
  OutgoingMessage& operator=(const OutgoingMessage&) = delete;

  // Refers to `message`, which outlives the sending. kPermanent when AMQP or the broker can not
  // carry it; nothing must be sent then.
  Status Fill(const Message& message);

  const std::string& routing_key() const { return routing_key_; }
  const std::string& message_id() const { return id_; }
  const amqp_basic_properties_t& properties() const { return properties_; }
  amqp_bytes_t body() const { return body_; }

 private:
  Status FillHeaders(const Message& message);

  const AmqpOptions& options_;
  const std::size_t frame_bytes_max_;
  std::string routing_key_;
  std::string id_;
  std::string made_body_;
  Headers headers_;
  std::vector<amqp_table_entry_t> entries_;
  amqp_basic_properties_t properties_{};
  amqp_bytes_t body_{};
};

// A view of `text` for the library, which takes no const.
amqp_bytes_t AsBytes(std::string_view text);
std::string_view AsText(amqp_bytes_t bytes);

}  // namespace outbox::sink
