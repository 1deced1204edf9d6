// What the errors of the NATS client and of JetStream mean for delivery.
#pragma once

#include <nats/nats.h>

#include <string_view>

#include "outbox/status.h"

namespace outbox::sink {

// A failed call of the client; `detail` is its own text and may be empty, `peer` is host:port. Only
// what is wrong with one message is that message's failure; everything else is a sink down.
Status ClassifyNatsError(natsStatus status, std::string_view detail, std::string_view peer);

// JetStream's answer to one message: OK when a stream has stored it, or had it already.
Status ClassifyPubAck(std::string_view json, std::string_view peer);

// True for the answer that nearly every message gets, {"stream":"S","seq":7}, without parsing it.
// It means OK; false means that ClassifyPubAck has to look.
bool IsPlainPubAck(std::string_view json) noexcept;

// A message that is larger than the server's max_payload; `bytes` is its body and its headers.
Status MessageTooLarge(std::size_t bytes, std::size_t bytes_max, std::string_view peer);

// True for a kSinkDown that may be the state of the message's stream and of no other: JetStream
// does not say which.
bool IsStreamAway(const Status& result);

// The server has let this user in, but not to the subject: a failure of the messages that go there,
// and of no others.
Status PublishDenied(std::string_view subject, std::string_view peer);

}  // namespace outbox::sink
