#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <sys/time.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/raw/raw_client.h"
#include "sink/amqp/options.h"
#include "sink/metadata.h"

namespace outbox::bench {
namespace {

constexpr amqp_channel_t kAmqpChannel = 1;
constexpr int kAmqpFrameBytes = 131072;
constexpr timeval kAmqpWait{.tv_sec = 30, .tv_usec = 0};

amqp_bytes_t AmqpBytes(std::string_view text) {
  return {.len = text.size(), .bytes = const_cast<char*>(text.data())};  // NOLINT: it is only read
}

class RawAmqp final : public RawClient {
 public:
  explicit RawAmqp(sink::AmqpOptions options) : options_(std::move(options)) {}
  ~RawAmqp() override {
    if (state_ != nullptr) amqp_destroy_connection(state_);
  }

  Status Prepare(const Message& sample) override {
    key_ = options_.routing_key.Render(sample);
    if (state_ == nullptr) OUTBOX_RETURN_IF_ERROR(Connect());
    if (!options_.exchange.empty()) return Status::Ok();
    amqp_queue_declare(state_, kAmqpChannel, AmqpBytes(key_), 0, 1, 0, 0, amqp_empty_table);
    OUTBOX_RETURN_IF_ERROR(Answered("declaring the queue"));
    amqp_queue_purge(state_, kAmqpChannel, AmqpBytes(key_));
    return Answered("emptying the queue");
  }

  Status Send(const Message& sample, std::size_t count, std::size_t window) override {
    const Headers headers = sink::DeliveryHeaders(sample);
    std::vector<amqp_table_entry_t> entries;
    for (const auto& [name, value] : headers) {
      amqp_table_entry_t entry{.key = AmqpBytes(name), .value = {}};
      entry.value.kind = AMQP_FIELD_KIND_UTF8;
      entry.value.value.bytes = AmqpBytes(value);
      entries.push_back(entry);
    }
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                        AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG;
    properties.delivery_mode = options_.persistent ? 2 : 1;
    properties.content_type = AmqpBytes("application/json");
    properties.headers = {.num_entries = static_cast<int>(entries.size()),
                          .entries = entries.data()};
    for (std::size_t i = 0; i < count; ++i) {
      while (open_ >= std::min(window, options_.window)) OUTBOX_RETURN_IF_ERROR(ReadConfirm());
      const std::string id = Uuid::NewV7().ToString();
      properties.message_id = AmqpBytes(id);
      const int status =
          amqp_basic_publish(state_, kAmqpChannel, AmqpBytes(options_.exchange), AmqpBytes(key_),
                             options_.mandatory ? 1 : 0, 0, &properties, AmqpBytes(sample.payload));
      if (status != AMQP_STATUS_OK) return Failed("publishing", amqp_error_string2(status));
      confirmed_.push_back(false);
      ++open_;
    }
    while (open_ > 0) OUTBOX_RETURN_IF_ERROR(ReadConfirm());
    return Status::Ok();
  }

 private:
  static Status Failed(std::string_view what, std::string_view why) {
    return RawFailure("amqp", what, why);
  }

  Status Answered(std::string_view what) { return Check(what, amqp_get_rpc_reply(state_)); }

  static Status Check(std::string_view what, const amqp_rpc_reply_t& reply) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return Status::Ok();
    return Failed(what, reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION
                            ? amqp_error_string2(reply.library_error)
                            : "the broker refuses");
  }

  Status Connect() {
    state_ = amqp_new_connection();
    const sink::Endpoint& at = options_.endpoints.front();
    const int opened =
        amqp_socket_open_noblock(amqp_tcp_socket_new(state_), at.host.c_str(), at.port, &kAmqpWait);
    if (opened != AMQP_STATUS_OK) return Failed("connecting", amqp_error_string2(opened));
    OUTBOX_RETURN_IF_ERROR(Check(
        "login",
        amqp_login(state_, options_.vhost.c_str(), 0, kAmqpFrameBytes, 0, AMQP_SASL_METHOD_PLAIN,
                   options_.user.c_str(), options_.password.c_str())));
    amqp_channel_open(state_, kAmqpChannel);
    OUTBOX_RETURN_IF_ERROR(Answered("opening a channel"));
    amqp_confirm_select(state_, kAmqpChannel);
    return Answered("asking for confirms");
  }

  Status ReadConfirm() {
    amqp_frame_t frame;
    amqp_maybe_release_buffers(state_);
    const int status = amqp_simple_wait_frame_noblock(state_, &frame, &kAmqpWait);
    if (status != AMQP_STATUS_OK) return Failed("waiting for confirms", amqp_error_string2(status));
    if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD) {
      return Failed("waiting for confirms", "a message was refused or has no queue");
    }
    const auto& ack = *static_cast<amqp_basic_ack_t*>(frame.payload.method.decoded);
    // Tags begin with 1. Acks may come out of order.
    if (ack.multiple == 0) {
      Confirm(ack.delivery_tag - 1);
    } else {
      for (std::size_t i = all_before_; i < ack.delivery_tag; ++i) Confirm(i);
      all_before_ = ack.delivery_tag;
    }
    return Status::Ok();
  }

  void Confirm(std::size_t index) {
    if (confirmed_[index]) return;
    confirmed_[index] = true;
    --open_;
  }

  const sink::AmqpOptions options_;
  amqp_connection_state_t state_ = nullptr;
  std::string key_;
  std::vector<bool> confirmed_;  // by delivery tag, less one
  std::size_t all_before_ = 0;   // all of those are confirmed
  std::size_t open_ = 0;
};

}  // namespace

Result<std::unique_ptr<RawClient>> MakeRawAmqp(const sink::SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(sink::AmqpOptions options, sink::ReadAmqpOptions(uri));
  return std::unique_ptr<RawClient>(std::make_unique<RawAmqp>(std::move(options)));
}

}  // namespace outbox::bench
