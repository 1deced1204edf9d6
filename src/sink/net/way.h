// Way: how the servers of a destination are reached, for whoever looks at it beside the sink.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/authority.h"
#include "sink/net/stream.h"
#include "sink/net/tls_options.h"

namespace outbox::sink {

struct Way {
  std::vector<Endpoint> endpoints = {};  // one of them is enough
  std::optional<TlsOptions> tls = {};    // none: in the clear
  // What is said in the clear before TLS begins; TLS begins at once when not given.
  std::function<Status(Stream& stream, Deadline deadline)> greet = {};
  AddressFilter allows = {};
  // What to do about the address when a server that is spoken to in the clear wants TLS: "write
  // rediss:". Empty when it is not to be found out.
  std::string instead = {};
};

}  // namespace outbox::sink
