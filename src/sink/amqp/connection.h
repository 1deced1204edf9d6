// Connection: one connection to a RabbitMQ broker with one channel in confirm mode.
//
// librabbitmq can block without end in two places: when it publishes and when it sends a heartbeat
// while the broker reads nothing. An Alarm therefore shuts the socket down at a deadline that the
// user of the connection sets with Guard. All other waits have deadlines of their own.
//
// A connection that has failed once stays failed: throw it away and connect again.
//
// Threads: used by one at a time.
#pragma once

#include <amqp.h>

#include <cstdint>
#include <memory>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/amqp/alarm.h"
#include "sink/amqp/classify_error.h"
#include "sink/amqp/options.h"
#include "sink/amqp/outgoing_message.h"

namespace outbox::sink {

// What the broker has to say about messages.
struct BrokerEvent {
  enum class Kind : std::uint8_t {
    kNothing,   // nothing new about messages
    kAck,       // confirmed
    kNack,      // refused
    kReturned,  // no queue takes it; its ack follows
  };
  Kind kind = Kind::kNothing;
  std::uint64_t tag = 0;   // kAck, kNack
  bool multiple = false;   // and all before it
  std::string message_id;  // kReturned
};

class Connection {
 public:
  // Connects, logs in, and checks or declares the exchange. `options` outlives the connection.
  static Result<std::unique_ptr<Connection>> Open(const AmqpOptions& options,
                                                  const Endpoint& endpoint, Deadline deadline);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Until `end` is destroyed: the socket is shut down when `deadline` passes.
  class GuardEnd {
   public:
    explicit GuardEnd(Alarm& alarm) : alarm_(alarm) {}
    ~GuardEnd() { alarm_.Clear(); }
    GuardEnd(const GuardEnd&) = delete;
    GuardEnd& operator=(const GuardEnd&) = delete;

   private:
    Alarm& alarm_;
  };
  [[nodiscard]] GuardEnd Guard(Deadline deadline);

  // Hands a message to the kernel. To be called under a Guard.
  Status Send(const OutgoingMessage& message);
  // The next thing the broker says, by `deadline`. Heartbeats are sent and taken on the way.
  Result<BrokerEvent> Next(Deadline deadline);

  // The number that the channel gives to the next message.
  std::uint64_t next_tag() const { return next_tag_; }
  // The broker has an alarm (memory, disk) and reads nothing until it is over.
  bool blocked() const { return blocked_; }
  const std::string& blocked_reason() const { return blocked_reason_; }
  const std::string& broker() const { return broker_; }
  std::size_t frame_bytes_max() const;
  // Why the broker has ended the channel or the connection, if it has.
  const AmqpError& closed_by() const { return closed_by_; }

  // Says goodbye.
  void Close(Deadline deadline) noexcept;

 private:
  Connection(const AmqpOptions& options, const Endpoint& endpoint);
  Status OpenSocket(const Endpoint& endpoint, Deadline deadline);
  Status PrepareTls(const TlsOptions& tls, amqp_socket_t* socket) const;
  Status LogIn(Deadline deadline);
  Status PrepareChannel(Deadline deadline);
  Status Classify(const AmqpError& error) const { return ClassifyAmqpError(error, broker_); }
  // Gives the calls that wait for an answer until `deadline`.
  void LimitAnswers(Deadline deadline);
  Result<BrokerEvent> Read(const amqp_frame_t& frame);
  Result<BrokerEvent> ReadMethod(const amqp_method_t& method);

  struct Destroy {
    void operator()(amqp_connection_state_t state) const noexcept {
      amqp_destroy_connection(state);
    }
  };
  using State = std::unique_ptr<amqp_connection_state_t_, Destroy>;

  // A second name for the socket, for the guard's thread: the library may close its own any time.
  struct SocketCopy {
    SocketCopy() = default;
    ~SocketCopy();
    SocketCopy(const SocketCopy&) = delete;
    SocketCopy& operator=(const SocketCopy&) = delete;
    int fd = -1;
  };

  const AmqpOptions& options_;
  const std::string broker_;
  State state_;
  SocketCopy socket_copy_;
  std::uint64_t next_tag_ = 1;
  bool blocked_ = false;
  std::string blocked_reason_;
  AmqpError closed_by_;
  Alarm guard_;
};

}  // namespace outbox::sink
