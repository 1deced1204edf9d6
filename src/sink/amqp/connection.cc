#include "sink/amqp/connection.h"

#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "outbox/version.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr amqp_channel_t kChannel = 1;
constexpr const char* kTlsHint = "does the broker want TLS at this port? if so, write amqps:";
constexpr int kFrameBytesMax = 131072;  // RabbitMQ's own default
constexpr std::chrono::milliseconds kCloseTimeout{1000};

timeval Remaining(Deadline deadline) {
  const auto left = deadline.remaining().count();
  return {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
}

amqp_table_entry_t Entry(std::string_view name, std::string_view text) {
  amqp_table_entry_t entry{};
  entry.key = AsBytes(name);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = AsBytes(text);
  return entry;
}

amqp_table_entry_t Entry(std::string_view name, amqp_table_t table) {
  amqp_table_entry_t entry{};
  entry.key = AsBytes(name);
  entry.value.kind = AMQP_FIELD_KIND_TABLE;
  entry.value.value.table = table;
  return entry;
}

amqp_table_entry_t Capability(std::string_view name) {
  amqp_table_entry_t entry{};
  entry.key = AsBytes(name);
  entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  entry.value.value.boolean = 1;
  return entry;
}

template <std::size_t N>
amqp_table_t Table(std::array<amqp_table_entry_t, N>& entries) {
  return {.num_entries = static_cast<int>(N), .entries = entries.data()};
}

}  // namespace

Connection::Connection(const AmqpOptions& options, const Endpoint& endpoint)
    : options_(options),
      broker_(endpoint.ToString()),
      state_(amqp_new_connection()),
      guard_([this]() -> std::optional<Deadline> {
        shutdown(socket_copy_.fd, SHUT_RDWR);
        return std::nullopt;
      }) {}

Connection::~Connection() = default;

Connection::SocketCopy::~SocketCopy() {
  if (fd >= 0) close(fd);
}

Result<std::unique_ptr<Connection>> Connection::Open(const AmqpOptions& options,
                                                     const Endpoint& endpoint, Deadline deadline) {
  std::unique_ptr<Connection> connection(new Connection(options, endpoint));
  if (connection->state_ == nullptr) {
    return connection->Classify(AmqpError::Library(AMQP_STATUS_NO_MEMORY));
  }
  OUTBOX_RETURN_IF_ERROR(connection->OpenSocket(endpoint, deadline));
  Status login = connection->LogIn(deadline);
  if (!login.ok() && login.hint().empty() && !options.tls) {
    return std::move(login).WithHint(kTlsHint);
  }
  OUTBOX_RETURN_IF_ERROR(login);
  OUTBOX_RETURN_IF_ERROR(connection->PrepareChannel(deadline));
  return connection;
}

Status Connection::OpenSocket(const Endpoint& endpoint, Deadline deadline) {
  amqp_socket_t* const socket =
      options_.tls ? amqp_ssl_socket_new(state_.get()) : amqp_tcp_socket_new(state_.get());
  if (socket == nullptr) return Classify(AmqpError::Library(AMQP_STATUS_NO_MEMORY));
  if (options_.tls) OUTBOX_RETURN_IF_ERROR(PrepareTls(*options_.tls, socket));
  const timeval limit = Remaining(deadline);
  OUTBOX_RETURN_IF_ERROR(Classify(AmqpError::Library(
      amqp_socket_open_noblock(socket, endpoint.host.c_str(), endpoint.port, &limit))));
  socket_copy_.fd = fcntl(amqp_socket_get_sockfd(socket), F_DUPFD_CLOEXEC, 0);
  if (socket_copy_.fd < 0) return Classify(AmqpError::Library(AMQP_STATUS_SOCKET_ERROR));
  return Status::Ok();
}

Status Connection::PrepareTls(const TlsOptions& tls, amqp_socket_t* socket) const {
  amqp_ssl_socket_set_verify_peer(socket, tls.verify);
  amqp_ssl_socket_set_verify_hostname(socket, tls.verify);
  amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
  int loaded = AMQP_STATUS_OK;
  if (tls.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(static_cast<SSL_CTX*>(amqp_ssl_socket_get_context(socket)));
  } else {
    loaded = amqp_ssl_socket_set_cacert(socket, tls.ca_file.c_str());
  }
  if (loaded == AMQP_STATUS_OK && !tls.cert_file.empty()) {
    loaded = amqp_ssl_socket_set_key(socket, tls.cert_file.c_str(), tls.key_file.c_str());
  }
  if (loaded == AMQP_STATUS_OK) return Status::Ok();
  OUTBOX_RETURN_IF_ERROR(CheckTlsFiles(tls));
  return Classify(AmqpError::Library(loaded));
}

Status Connection::LogIn(Deadline deadline) {
  std::array capabilities{Capability("connection.blocked"), Capability("publisher_confirms"),
                          Capability("basic.nack")};
  std::array about{Entry("connection_name", options_.connection_name), Entry("product", "outboxd"),
                   Entry("version", Version()), Entry("capabilities", Table(capabilities))};
  const amqp_table_t properties = Table(about);
  const timeval limit = Remaining(deadline);
  amqp_set_handshake_timeout(state_.get(), &limit);
  return Classify(AmqpError::Reply(amqp_login_with_properties(
      state_.get(), options_.vhost.c_str(), kChannel, kFrameBytesMax,
      static_cast<int>(options_.heartbeat.count()), &properties, AMQP_SASL_METHOD_PLAIN,
      options_.user.c_str(), options_.password.c_str())));
}

Status Connection::PrepareChannel(Deadline deadline) {
  const auto answer = [&] { return Classify(AmqpError::Reply(amqp_get_rpc_reply(state_.get()))); };
  LimitAnswers(deadline);
  amqp_channel_open(state_.get(), kChannel);
  OUTBOX_RETURN_IF_ERROR(answer());
  // The default exchange is always there and may not be named.
  if (!options_.exchange.empty()) {
    LimitAnswers(deadline);
    amqp_exchange_declare(state_.get(), kChannel, AsBytes(options_.exchange),
                          AsBytes(options_.exchange_type), /*passive=*/!options_.declare,
                          /*durable=*/1, /*auto_delete=*/0, /*internal=*/0, amqp_empty_table);
    OUTBOX_RETURN_IF_ERROR(answer());
  }
  LimitAnswers(deadline);
  amqp_confirm_select(state_.get(), kChannel);
  OUTBOX_RETURN_IF_ERROR(answer());
  amqp_maybe_release_buffers(state_.get());
  return Status::Ok();
}

void Connection::LimitAnswers(Deadline deadline) {
  const timeval limit = Remaining(deadline);
  amqp_set_rpc_timeout(state_.get(), &limit);
}

Connection::GuardEnd Connection::Guard(Deadline deadline) {
  guard_.Set(deadline);
  return GuardEnd(guard_);
}

std::size_t Connection::frame_bytes_max() const {
  return static_cast<std::size_t>(std::max(amqp_get_frame_max(state_.get()), 0));
}

Status Connection::Send(const OutgoingMessage& message) {
  ++next_tag_;
  return Classify(AmqpError::Library(amqp_basic_publish(
      state_.get(), kChannel, AsBytes(options_.exchange), AsBytes(message.routing_key()),
      options_.mandatory, /*immediate=*/0, &message.properties(), message.body())));
}

Result<BrokerEvent> Connection::Next(Deadline deadline) {
  for (;;) {
    amqp_frame_t frame{};
    const timeval limit = Remaining(deadline);
    const int status = amqp_simple_wait_frame_noblock(state_.get(), &frame, &limit);
    if (status == AMQP_STATUS_TIMEOUT) return BrokerEvent{};
    if (status != AMQP_STATUS_OK) return Classify(AmqpError::Library(status));
    const bool was_blocked = blocked_;
    auto event = Read(frame);
    amqp_maybe_release_buffers(state_.get());
    if (!event.ok() || event->kind != BrokerEvent::Kind::kNothing || blocked_ != was_blocked) {
      return event;
    }
  }
}

Result<BrokerEvent> Connection::Read(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) return ReadMethod(frame.payload.method);
  // Content comes only with what is returned; its body is of no interest.
  if (frame.frame_type != AMQP_FRAME_HEADER) return BrokerEvent{};
  const auto& properties =
      *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded);
  BrokerEvent event{.kind = BrokerEvent::Kind::kReturned};
  if ((properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0) {
    event.message_id = AsText(properties.message_id);
  }
  return event;
}

Result<BrokerEvent> Connection::ReadMethod(const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto& ack = *static_cast<const amqp_basic_ack_t*>(method.decoded);
      return BrokerEvent{BrokerEvent::Kind::kAck, ack.delivery_tag, ack.multiple != 0, ""};
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto& nack = *static_cast<const amqp_basic_nack_t*>(method.decoded);
      return BrokerEvent{BrokerEvent::Kind::kNack, nack.delivery_tag, nack.multiple != 0, ""};
    }
    case AMQP_CONNECTION_BLOCKED_METHOD:
      blocked_ = true;
      blocked_reason_ =
          AsText(static_cast<const amqp_connection_blocked_t*>(method.decoded)->reason);
      return BrokerEvent{};
    case AMQP_CONNECTION_UNBLOCKED_METHOD: blocked_ = false; return BrokerEvent{};
    case AMQP_CONNECTION_CLOSE_METHOD:
    case AMQP_CHANNEL_CLOSE_METHOD:
      closed_by_ = AmqpError::Close(method);
      return Classify(closed_by_);
    default: return BrokerEvent{};
  }
}

void Connection::Close(Deadline deadline) noexcept {
  // A blocked broker would not read it.
  if (blocked_) return;
  const Deadline limit(std::min(deadline.at(), Deadline::After(kCloseTimeout).at()));
  const GuardEnd guard = Guard(limit);
  LimitAnswers(limit);
  (void)amqp_connection_close(state_.get(), AMQP_REPLY_SUCCESS);
}

}  // namespace outbox::sink
