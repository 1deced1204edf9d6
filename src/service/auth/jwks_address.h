// The address of a key set: what a URL may look like.
#pragma once

#include <string>

#include "outbox/status.h"

namespace outbox::service {

struct JwksAddress {
  std::string host;            // for notices: without anything that could be secret
  bool only_loopback = false;  // plain http: where it connects to must be this machine
};

// https to anywhere, http to localhost, 127.0.0.0/8 and ::1; no user, password or fragment. The
// error ends a sentence and does not repeat the text.
Result<JwksAddress> ParseJwksAddress(const std::string& url);

// `address` is numeric.
bool IsLoopback(const std::string& address);

}  // namespace outbox::service
