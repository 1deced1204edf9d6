// Compiles as it is; with -DINVALID it must not, and the error must name the concept.
#include "outbox/event_bus.h"

outbox::Subscription Subscribe(outbox::EventBus& bus) {
#ifdef INVALID
  return bus.Subscribe("orders.#", [](const outbox::Message&) { return true; });
#else
  return bus.Subscribe("orders.#", [](const outbox::Message&) { return outbox::Status::Ok(); });
#endif
}
