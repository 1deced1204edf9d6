// Everything an application includes. The headers may also be included one by one.
#pragma once

#include "outbox/deadline.h"   // IWYU pragma: export
#include "outbox/enqueue.h"    // IWYU pragma: export
#include "outbox/event_bus.h"  // IWYU pragma: export
#include "outbox/message.h"    // IWYU pragma: export
#include "outbox/observer.h"   // IWYU pragma: export
#include "outbox/options.h"    // IWYU pragma: export
#include "outbox/relay.h"      // IWYU pragma: export
#include "outbox/retry.h"      // IWYU pragma: export
#include "outbox/sink.h"       // IWYU pragma: export
#include "outbox/status.h"     // IWYU pragma: export
#include "outbox/uuid.h"       // IWYU pragma: export
#include "outbox/version.h"    // IWYU pragma: export
