// NatsConnection: a logged-in connection to one server, and the inbox where answers come in.
//
// The client's own reconnecting is off: it would send again what is in doubt, and for as long as it
// likes. A connection that is gone stays gone; its owner makes another.
//
// Threads: one publishes at a time; several may ask, and wait for answers. The client calls the
// AckBox from its own.
#pragma once

#include <nats/nats.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/handle.h"
#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/nats/ack_box.h"
#include "sink/nats/options.h"
#include "sink/net/resolve.h"

namespace outbox::sink {

class NatsConnection {
 public:
  // Connects to an address of the endpoint, logs in and waits for the answer to a ping. Failures
  // are kSinkDown. A server that stalls in the middle of the TLS handshake holds it for ever: use a
  // NatsConnector.
  static Result<std::unique_ptr<NatsConnection>> Open(const NatsOptions& options,
                                                      const Endpoint& endpoint,
                                                      const Address& address, Deadline deadline);

  // Hands the message to the client, which sends it soon. Waits no longer than kWriteDeadline.
  natsStatus Publish(natsMsg* message) {
    return natsConnection_PublishMsg(connection_.get(), message);
  }
  // A question of our own, whose answer comes to `reply`. Waits as Publish does.
  natsStatus Ask(const char* subject, const std::string& reply, const std::string& body) {
    return natsConnection_PublishRequestString(connection_.get(), subject, reply.c_str(),
                                               body.c_str());
  }

  // To be replaced: an answer has stayed out. Calls under way go on with it.
  void Retire() noexcept { retired_ = true; }
  bool retired() const noexcept { return retired_; }
  bool Gone() const { return acks_->broken() || natsConnection_IsClosed(connection_.get()); }
  AckBox& acks() { return *acks_; }
  // The subject for the answer to message `index` of a batch.
  std::string ReplySubject(const AckBox::Batch& batch, std::size_t index) const;
  // What the server takes at most in one message, headers and body together.
  std::size_t payload_max() const {
    return static_cast<std::size_t>(
        std::max<std::int64_t>(natsConnection_GetMaxPayload(connection_.get()), 0));
  }
  const std::string& peer() const noexcept { return peer_; }  // "host:port"

 private:
  using Options = base::UniqueHandle<natsOptions, natsOptions_Destroy>;
  using Connection = base::UniqueHandle<natsConnection, natsConnection_Destroy>;
  using Subscription = base::UniqueHandle<natsSubscription, natsSubscription_Destroy>;

  explicit NatsConnection(std::string peer) : peer_(std::move(peer)), acks_(AckBox::Make()) {}

  Result<Options> MakeOptions(const NatsOptions& options, const Endpoint& endpoint,
                              const Address& address, Deadline deadline) const;
  // The public key of the seed in an option's file.
  Result<std::string> ReadKey(std::string_view option, const std::string& path) const;
  Status Connect(const NatsOptions& options, const Endpoint& endpoint, const Address& address,
                 Deadline deadline);
  Status ListenForAnswers(Deadline deadline);
  Status Failed(natsStatus status) const;

  const std::string peer_;
  const std::shared_ptr<AckBox> acks_;
  std::atomic<bool> retired_ = false;
  std::string inbox_;
  Connection connection_;
  Subscription answers_;
};

}  // namespace outbox::sink
