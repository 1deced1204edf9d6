// RAII for libpq's handles.
#pragma once

#include <libpq-fe.h>

#include "base/handle.h"

namespace outbox::store::postgres {

using ConnectionHandle = base::UniqueHandle<PGconn, PQfinish>;
using ResultHandle = base::UniqueHandle<PGresult, PQclear>;
using CancelHandle = base::UniqueHandle<PGcancel, PQfreeCancel>;
using NotifyHandle = base::UniqueHandle<PGnotify, PQfreemem>;
using ConninfoHandle = base::UniqueHandle<PQconninfoOption, PQconninfoFree>;

}  // namespace outbox::store::postgres
