// The three signatures of JWS that are accepted, checked by OpenSSL.
//
// Threads: any number at once, with one key too.
#pragma once

#include <openssl/types.h>

#include <string_view>

namespace outbox::service {

bool VerifyHs256(std::string_view secret, std::string_view text, std::string_view mac) noexcept;
// PKCS #1 v1.5 with SHA-256.
bool VerifyRs256(EVP_PKEY* key, std::string_view text, std::string_view signature) noexcept;
// r and s as 32 bytes each, with SHA-256.
bool VerifyEs256(EVP_PKEY* key, std::string_view text, std::string_view signature) noexcept;

}  // namespace outbox::service
