// VerificationKey: a key, and the one algorithm that it is for.
//
// The algorithm follows from the key's own kind and is never taken from a token: a secret is for
// HS256, an RSA key for RS256, a P-256 key for ES256. There are no other kinds.
//
// Threads: constant once made; Verify from any number at once.
#pragma once

#include <openssl/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "outbox/status.h"

namespace outbox::service {

enum class Algorithm : std::uint8_t { kHs256, kRs256, kEs256 };

// "HS256", as tokens write it; the exact spelling only.
std::string_view ToString(Algorithm algorithm) noexcept;
std::optional<Algorithm> ParseAlgorithm(std::string_view text) noexcept;

class VerificationKey {
 public:
  // Errors are kInvalidArgument, end a sentence ("holds a private key") and repeat nothing of the
  // key. `kid` is the name by which tokens ask for it; empty: it has none.
  static Result<VerificationKey> FromSecret(std::string secret, std::string kid);
  // "-----BEGIN PUBLIC KEY-----": RSA of 2048 to 8192 bits, or P-256.
  static Result<VerificationKey> FromPem(const std::string& pem, std::string kid);
  // Big-endian numbers, as a JSON web key has them.
  static Result<VerificationKey> FromRsa(std::string_view modulus, std::string_view exponent,
                                         std::string kid);
  static Result<VerificationKey> FromP256(std::string_view x, std::string_view y, std::string kid);

  VerificationKey(VerificationKey&&) noexcept = default;
  VerificationKey& operator=(VerificationKey&&) = delete;
  ~VerificationKey();  // wipes the secret

  Algorithm algorithm() const noexcept { return algorithm_; }
  const std::string& kid() const noexcept { return kid_; }

  // Whether `signature` is one of this key for `text`. Its form is the one of JWS: 32 bytes, as
  // many bytes as the modulus has, or r and s of 32 bytes each. HS256 compares in constant time.
  bool Verify(std::string_view text, std::string_view signature) const noexcept;

 private:
  VerificationKey(Algorithm algorithm, std::string kid, std::string secret,
                  std::shared_ptr<EVP_PKEY> key)
      : algorithm_(algorithm),
        kid_(std::move(kid)),
        secret_(std::move(secret)),
        key_(std::move(key)) {}
  static Result<VerificationKey> FromPublicKey(std::shared_ptr<EVP_PKEY> key, std::string kid);

  Algorithm algorithm_;
  std::string kid_;
  std::string secret_;             // HS256
  std::shared_ptr<EVP_PKEY> key_;  // the others
};

}  // namespace outbox::service
