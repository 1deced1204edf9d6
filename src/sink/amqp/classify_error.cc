#include "sink/amqp/classify_error.h"

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::size_t kTextBytesMax = 300;
// RabbitMQ's words, and what it ends a reason with that is too long.
constexpr std::string_view kTopicRefused = "access to topic '";
constexpr std::string_view kMessageSize = "message size ";
constexpr std::string_view kCutOff = "...";

std::string Text(amqp_bytes_t bytes) {
  return std::string(static_cast<const char*>(bytes.bytes), bytes.len);
}

Status Down(Code code, std::string message) {
  return Status(code, Disposition::kSinkDown, std::move(message));
}

bool Says(const AmqpError& error, std::string_view what) {
  return error.reply_text.find(what) != std::string::npos;
}

Status ClassifyReply(const AmqpError& error, std::string_view broker) {
  const std::string message =
      StrCat("RabbitMQ at ", broker, ": ", base::CleanError(error.reply_text, kTextBytesMax));
  switch (error.reply_code) {
    case AMQP_CONTENT_TOO_LARGE: return Status::Permanent(Code::kRejected, message);
    case AMQP_ACCESS_REFUSED:
      if (Says(error, kTopicRefused)) {
        return Status::Retry(Code::kPermission, message)
            .WithHint("let the user write to this topic (rabbitmqctl set_topic_permissions)");
      }
      return Down(Code::kPermission, message)
          .WithHint("check user and password, and that the user may write to the exchange");
    case AMQP_NOT_ALLOWED:
      return Down(Says(error, "not found") ? Code::kNotFound : Code::kPermission, message)
          .WithHint("check the virtual host, the last part of the address, and who may use it");
    case AMQP_NOT_FOUND:
      return Down(Code::kNotFound, message)
          .WithHint("create the exchange, or let the sink do it with declare=true");
    case AMQP_PRECONDITION_FAILED:
      if (Says(error, kMessageSize)) return Status::Permanent(Code::kRejected, message);
      return Down(Code::kInvalidArgument, message)
          .WithHint(
              "the exchange exists with other properties: give its type, or leave out declare");
    default: return Down(Code::kUnavailable, message);
  }
}

Status ClassifyLibrary(int status, std::string_view broker) {
  const std::string message = StrCat("RabbitMQ at ", broker, ": ", amqp_error_string2(status));
  switch (status) {
    case AMQP_STATUS_TIMEOUT:
    case AMQP_STATUS_HEARTBEAT_TIMEOUT: return Down(Code::kDeadline, message);
    case AMQP_STATUS_BROKER_UNSUPPORTED_SASL_METHOD: return Down(Code::kPermission, message);
    case AMQP_STATUS_SSL_PEER_VERIFY_FAILED:
      return Down(Code::kUnavailable, message)
          .WithHint("name the authority that signed the certificate with tls_ca");
    case AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED:
      return Down(Code::kUnavailable, message)
          .WithHint("use the host name that the certificate is made out to");
    case AMQP_STATUS_SSL_ERROR:
    case AMQP_STATUS_SSL_CONNECTION_FAILED:
      return Down(Code::kUnavailable, message)
          .WithHint("is this the broker's TLS port, and is tls_ca right?");
    default: return Down(Code::kUnavailable, message);
  }
}

}  // namespace

AmqpError AmqpError::Close(const amqp_method_t& method) {
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto& close = *static_cast<const amqp_connection_close_t*>(method.decoded);
    return {AMQP_STATUS_CONNECTION_CLOSED, close.reply_code, Text(close.reply_text)};
  }
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
    const auto& close = *static_cast<const amqp_channel_close_t*>(method.decoded);
    return {AMQP_STATUS_CONNECTION_CLOSED, close.reply_code, Text(close.reply_text)};
  }
  return Library(AMQP_STATUS_CONNECTION_CLOSED);
}

AmqpError AmqpError::Reply(const amqp_rpc_reply_t& reply) {
  switch (reply.reply_type) {
    case AMQP_RESPONSE_NORMAL: return {};
    case AMQP_RESPONSE_SERVER_EXCEPTION: return Close(reply.reply);
    case AMQP_RESPONSE_LIBRARY_EXCEPTION: return Library(reply.library_error);
    case AMQP_RESPONSE_NONE: break;
  }
  return Library(AMQP_STATUS_CONNECTION_CLOSED);
}

bool IsAbout(const AmqpError& error, std::string_view routing_key, std::size_t body_bytes) {
  if (error.reply_code != AMQP_ACCESS_REFUSED) {
    return Says(error, StrCat(kMessageSize, body_bytes, ' '));
  }
  const std::string named = StrCat(kTopicRefused, routing_key, "' in exchange '");
  const std::size_t start = error.reply_text.find(kTopicRefused);
  if (start == std::string::npos) return false;
  std::string_view said = std::string_view(error.reply_text).substr(start);
  if (said.starts_with(named)) return true;
  if (!said.ends_with(kCutOff)) return false;
  said.remove_suffix(kCutOff.size());
  return named.starts_with(said);
}

Status ClassifyAmqpError(const AmqpError& error, std::string_view broker) {
  if (error.reply_code != 0) {
    return ClassifyReply(error, broker).WithNative(StrCat("AMQP ", error.reply_code));
  }
  if (error.library != AMQP_STATUS_OK) return ClassifyLibrary(error.library, broker);
  return Status::Ok();
}

}  // namespace outbox::sink
