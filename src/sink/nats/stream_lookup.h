// StreamLookup: whether a stream listens for a subject, asked of JetStream's API.
//
// A message that reaches no stream is answered 503 "no responders", whatever the reason: no stream
// has the subject, its stream has no leader just now, or JetStream is switched off. Only the first
// is a fault of the message's destination.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/nats/connection.h"

namespace outbox::sink {

enum class StreamFound : std::uint8_t {
  kNone,       // JetStream is there, and no stream has the subject
  kSome,       // a stream has it; that one is without a leader
  kNoAnswer,   // nor does JetStream's API answer, or it says that it can not
  kForbidden,  // this user may not ask
};

// One answer for each subject, in order. Waits two seconds at most, and not beyond the deadline.
std::vector<StreamFound> LookUpStreams(NatsConnection& connection,
                                       const std::vector<std::string_view>& subjects,
                                       Deadline deadline);

// What an answer of the API says.
StreamFound ReadStreamNames(std::string_view json);

// The result of a message that has reached no stream.
Status NoStream(StreamFound found, std::string_view subject, std::string_view peer);

}  // namespace outbox::sink
