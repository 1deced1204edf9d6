#include "service/auth/signature.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <cstddef>

#include "base/handle.h"
#include "service/auth/secret.h"

namespace outbox::service {
namespace {

constexpr int kHalfBytes = 32;  // of r, of s

using DigestHandle = base::UniqueHandle<EVP_MD_CTX, EVP_MD_CTX_free>;
using EcdsaHandle = base::UniqueHandle<ECDSA_SIG, ECDSA_SIG_free>;

struct OpensslBytes {
  unsigned char* data = nullptr;
  OpensslBytes() = default;
  OpensslBytes(const OpensslBytes&) = delete;
  OpensslBytes& operator=(const OpensslBytes&) = delete;
  ~OpensslBytes() { OPENSSL_free(data); }
};

const unsigned char* SignatureBytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// `padding` is 0 for keys that have none.
bool VerifySha256(EVP_PKEY* key, int padding, std::string_view text, const unsigned char* signature,
                  std::size_t size) noexcept {
  const DigestHandle context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* options = nullptr;  // the context's
  const bool good =
      context && EVP_DigestVerifyInit(context.get(), &options, EVP_sha256(), nullptr, key) == 1 &&
      (padding == 0 || EVP_PKEY_CTX_set_rsa_padding(options, padding) == 1) &&
      EVP_DigestVerify(context.get(), signature, size, SignatureBytes(text), text.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace

bool VerifyHs256(std::string_view secret, std::string_view text, std::string_view mac) noexcept {
  const std::string expected = HmacSha256(secret, text);
  return !expected.empty() && mac.size() == expected.size() &&
         CRYPTO_memcmp(mac.data(), expected.data(), expected.size()) == 0;
}

bool VerifyRs256(EVP_PKEY* key, std::string_view text, std::string_view signature) noexcept {
  if (signature.size() != static_cast<std::size_t>(EVP_PKEY_get_size(key))) return false;
  return VerifySha256(key, RSA_PKCS1_PADDING, text, SignatureBytes(signature), signature.size());
}

bool VerifyEs256(EVP_PKEY* key, std::string_view text, std::string_view signature) noexcept {
  if (signature.size() != 2 * kHalfBytes) return false;
  const EcdsaHandle pair(ECDSA_SIG_new());
  BIGNUM* const r = BN_bin2bn(SignatureBytes(signature), kHalfBytes, nullptr);
  BIGNUM* const s = BN_bin2bn(SignatureBytes(signature) + kHalfBytes, kHalfBytes, nullptr);
  if (!pair || ECDSA_SIG_set0(pair.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return false;
  }
  OpensslBytes der;
  const int size = i2d_ECDSA_SIG(pair.get(), &der.data);
  return size > 0 && VerifySha256(key, 0, text, der.data, static_cast<std::size_t>(size));
}

}  // namespace outbox::service
