#include "sink/net/probe.h"

#include <string>

namespace outbox::sink {

Status Probe(const Way& way, const Endpoint& endpoint, Deadline deadline,
             const ConnectObserver& observer) {
  const std::optional<TlsOptions> at_once = way.greet ? std::nullopt : way.tls;
  OUTBOX_ASSIGN_OR_RETURN(Stream stream,
                          Stream::Connect(endpoint, at_once, deadline, observer, way.allows));
  if (!way.greet || !way.tls) return Status::Ok();
  const StepTimer securing(observer, "tls");
  Status status = way.greet(stream, deadline);
  if (status.ok()) status = stream.Secure(*way.tls, deadline);
  securing.Tell(status, stream.tls_description());
  return status;
}

bool SpeaksTls(const Endpoint& endpoint, const AddressFilter& allows, Deadline deadline) {
  return Stream::Connect(endpoint, TlsOptions{.verify = false}, deadline, {}, allows).ok();
}

}  // namespace outbox::sink
