// Probes: connections that learn something about a server, send it nothing and let go.
#pragma once

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/authority.h"
#include "sink/net/connect_step.h"
#include "sink/net/way.h"

namespace outbox::sink {

// Goes the way to one server: resolve, connect and, where it leads through TLS, tls.
Status Probe(const Way& way, const Endpoint& endpoint, Deadline deadline,
             const ConnectObserver& observer = {});

// Whether the server answers in TLS, whoever it is. One that insists on our certificate may be
// missed.
bool SpeaksTls(const Endpoint& endpoint, const AddressFilter& allows, Deadline deadline);

}  // namespace outbox::sink
