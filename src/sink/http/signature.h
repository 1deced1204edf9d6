// Signatures of webhooks as Standard Webhooks 1.0 defines them: HMAC-SHA256 over
// "{id}.{timestamp}.{body}".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "outbox/status.h"

namespace outbox::sink {

class WebhookSecret {
 public:
  // "whsec_" and base64 of 24 to 64 bytes. The error does not repeat the text.
  static Result<WebhookSecret> Parse(std::string_view text);

  // "v1,<base64>". `id` holds no dot; `timestamp` is in seconds since 1970.
  std::string Sign(std::string_view id, std::int64_t timestamp, std::string_view body) const;

 private:
  explicit WebhookSecret(std::string key) : key_(std::move(key)) {}

  std::string key_;
};

std::string Base64(std::string_view bytes);
// "0a1b…" of the SHA-256 of `bytes`.
std::string Sha256Hex(std::string_view bytes);

}  // namespace outbox::sink
