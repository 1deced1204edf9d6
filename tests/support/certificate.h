// Self-signed certificates for servers of a test's own.
#pragma once

#include <string>

namespace outbox::testing {

struct Certificate {
  std::string certificate;  // PEM; its own certificate authority
  std::string key;          // PEM
};

// For `name`: "DNS:localhost", "IP:127.0.0.1". Valid for a day.
Certificate MakeCertificate(const std::string& name);

}  // namespace outbox::testing
