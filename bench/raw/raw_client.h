// RawClient: the barest program that sends messages with a broker's own client library and waits
// until they are confirmed. What a relay with that sink is compared with.
//
// It sends what the sink would send: the same payload and headers, made once and not per message,
// with an id of its own for each. It takes nothing from a database and retries nothing.
//
// Threads: used by one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "outbox/message.h"
#include "outbox/status.h"
#include "sink/uri.h"

namespace outbox::bench {

class RawClient {
 public:
  virtual ~RawClient() = default;

  // Connects, and makes the destination and empties it where the broker lets a client do that.
  virtual Status Prepare(const Message& sample) = 0;
  // Sends `count` messages like `sample`, at most `window` of them unconfirmed, or fewer when the
  // address of the sink says so. Returns when all are confirmed.
  virtual Status Send(const Message& sample, std::size_t count, std::size_t window) = 0;
};

// kInvalidArgument when the address is wrong, or of a kind that has no raw client.
Result<std::unique_ptr<RawClient>> MakeRawClient(const sink::SinkUri& uri);

// One for each kind.
Result<std::unique_ptr<RawClient>> MakeRawAmqp(const sink::SinkUri& uri);
Result<std::unique_ptr<RawClient>> MakeRawHttp(const sink::SinkUri& uri);
Result<std::unique_ptr<RawClient>> MakeRawKafka(const sink::SinkUri& uri);
Result<std::unique_ptr<RawClient>> MakeRawNats(const sink::SinkUri& uri);
Result<std::unique_ptr<RawClient>> MakeRawRedis(const sink::SinkUri& uri);

// The failure of a raw client: "raw amqp: WHAT: WHY".
Status RawFailure(std::string_view kind, std::string_view what, std::string_view why);

}  // namespace outbox::bench
