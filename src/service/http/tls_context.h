// TlsContext: certificate and key, ready for connections.
#pragma once

#include <memory>

#include "outbox/status.h"
#include "service/http/asio.h"
#include "service/http/options.h"

namespace outbox::service {

// kInvalidArgument names the file that can not be used.
Result<std::shared_ptr<asio::ssl::context>> MakeTlsContext(const TlsOptions& options);

}  // namespace outbox::service
