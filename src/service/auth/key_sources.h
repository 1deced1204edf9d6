// Opening every origin of keys that the options name.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "outbox/status.h"
#include "service/auth/key_set.h"
#include "service/auth/notices.h"
#include "service/auth/options.h"

namespace outbox::service {

// `options` are valid. Fails with everything that can not be used, a line each, and no secret.
// Waits up to `patience` for the first answer of the URL.
Result<std::vector<std::unique_ptr<KeySource>>> OpenKeySources(const AuthOptions& options,
                                                               const Notice& notice,
                                                               std::chrono::milliseconds patience);

}  // namespace outbox::service
