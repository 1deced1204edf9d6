// From what librabbitmq and the broker say to what the relay does about it.
#pragma once

#include <amqp.h>

#include <string>
#include <string_view>

#include "outbox/status.h"

namespace outbox::sink {

// A failure as it came: the library's own code, or the broker's reason for closing.
struct AmqpError {
  int library = AMQP_STATUS_OK;  // an amqp_status_enum
  int reply_code = 0;            // 0 when the broker gave no reason
  std::string reply_text;

  static AmqpError Library(int status) { return {.library = status}; }
  // Of a close method (connection.close, channel.close); CONNECTION_CLOSED for any other.
  static AmqpError Close(const amqp_method_t& method);
  static AmqpError Reply(const amqp_rpc_reply_t& reply);
};

// `broker` is "host:port". Everything is the destination's state (kSinkDown) but what concerns one
// message: a body that the broker will never take (kPermanent), and a routing key that the user has
// no right to (kRetry).
Status ClassifyAmqpError(const AmqpError& error, std::string_view broker);

// Whether the broker's reason is about a message with this routing key and so large a body. A long
// routing key is cut off there.
bool IsAbout(const AmqpError& error, std::string_view routing_key, std::size_t body_bytes);

}  // namespace outbox::sink
