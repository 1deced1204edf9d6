#include "service/auth/verification_key.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include "base/handle.h"
#include "base/text.h"
#include "service/auth/secret.h"
#include "service/auth/signature.h"

namespace outbox::service {
namespace {

constexpr int kRsaBitsMin = 2048;
constexpr int kRsaBitsMax = 8192;
constexpr std::size_t kRsaBytesMax = kRsaBitsMax / 8;
constexpr std::size_t kExponentBytesMax = 8;
constexpr std::size_t kP256Bytes = 32;
constexpr const char* kP256 = SN_X9_62_prime256v1;

using BioHandle = base::UniqueHandle<BIO, BIO_free_all>;
using BignumHandle = base::UniqueHandle<BIGNUM, BN_free>;
using ParamsHandle = base::UniqueHandle<OSSL_PARAM, OSSL_PARAM_free>;
using ParamsBuilderHandle = base::UniqueHandle<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using KeyContextHandle = base::UniqueHandle<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;

const unsigned char* KeyBytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::shared_ptr<EVP_PKEY> Own(EVP_PKEY* key) { return {key, EVP_PKEY_free}; }

BignumHandle ToBignum(std::string_view bytes) {
  return BignumHandle(BN_bin2bn(KeyBytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

std::shared_ptr<EVP_PKEY> FromParams(const char* kind, OSSL_PARAM_BLD* builder) {
  const ParamsHandle params(OSSL_PARAM_BLD_to_param(builder));
  const KeyContextHandle context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  const bool made = params && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
                    EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) == 1;
  ERR_clear_error();
  return made ? Own(key) : nullptr;
}

std::string GroupName(EVP_PKEY* key) {
  char name[64] = {};
  std::size_t size = 0;
  const int found =
      EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, &size);
  ERR_clear_error();
  return found == 1 ? std::string(name, size) : std::string();
}

Status CheckRsa(EVP_PKEY* key) {
  const int bits = EVP_PKEY_get_bits(key);
  if (bits < kRsaBitsMin || bits > kRsaBitsMax) {
    return Status::Invalid(
        base::StrCat("has an RSA key of ", bits, " bits, not ", kRsaBitsMin, " to ", kRsaBitsMax));
  }
  BIGNUM* raw = nullptr;
  EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &raw);
  const BignumHandle exponent(raw);
  if (!exponent || !BN_is_odd(exponent.get()) || BN_is_one(exponent.get())) {
    return Status::Invalid("has an RSA key with an exponent that proves nothing");
  }
  return Status::Ok();
}

Status CheckP256(EVP_PKEY* key) {
  if (GroupName(key) != kP256) return Status::Invalid("has an EC key that is not of P-256");
  const KeyContextHandle context(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  const bool sound = context && EVP_PKEY_public_check(context.get()) == 1;
  ERR_clear_error();
  return sound ? Status::Ok() : Status::Invalid("has a point that is not on P-256");
}

}  // namespace

std::string_view ToString(Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::kHs256: return "HS256";
    case Algorithm::kRs256: return "RS256";
    case Algorithm::kEs256: return "ES256";
  }
  return "unknown";
}

std::optional<Algorithm> ParseAlgorithm(std::string_view text) noexcept {
  for (const Algorithm each : {Algorithm::kHs256, Algorithm::kRs256, Algorithm::kEs256}) {
    if (text == ToString(each)) return each;
  }
  return std::nullopt;
}

VerificationKey::~VerificationKey() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

Result<VerificationKey> VerificationKey::FromSecret(std::string secret, std::string kid) {
  if (secret.size() < kSecretBytesMin || secret.size() > kSecretBytesMax) {
    return Status::Invalid(base::StrCat("has a secret of ", secret.size(), " bytes, not ",
                                        kSecretBytesMin, " to ", kSecretBytesMax));
  }
  return VerificationKey(Algorithm::kHs256, std::move(kid), std::move(secret), nullptr);
}

Result<VerificationKey> VerificationKey::FromPem(const std::string& pem, std::string kid) {
  if (pem.find("PRIVATE KEY-----") != std::string::npos) {
    return Status(Status::Invalid("holds a private key")
                      .WithHint("only the public one is needed: openssl pkey -pubout"));
  }
  const BioHandle bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  auto key = Own(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!key) {
    return Status(Status::Invalid("holds no public key in PEM (BEGIN PUBLIC KEY)")
                      .WithHint("of a certificate: openssl x509 -pubkey -noout"));
  }
  return FromPublicKey(std::move(key), std::move(kid));
}

Result<VerificationKey> VerificationKey::FromRsa(std::string_view modulus,
                                                 std::string_view exponent, std::string kid) {
  if (modulus.size() > kRsaBytesMax || exponent.size() > kExponentBytesMax) {
    return Status::Invalid("has an RSA key that is too large");
  }
  const BignumHandle n = ToBignum(modulus), e = ToBignum(exponent);
  const ParamsBuilderHandle builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  auto key = FromParams("RSA", builder.get());
  if (!key) return Status::Invalid("has no RSA key");
  return FromPublicKey(std::move(key), std::move(kid));
}

Result<VerificationKey> VerificationKey::FromP256(std::string_view x, std::string_view y,
                                                  std::string kid) {
  if (x.size() != kP256Bytes || y.size() != kP256Bytes) {
    return Status::Invalid("has coordinates that are not 32 bytes long");
  }
  const std::string point = base::StrCat('\x04', x, y);
  const ParamsBuilderHandle builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, kP256, 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  auto key = FromParams("EC", builder.get());
  if (!key) return Status::Invalid("has a point that is not on P-256");
  return FromPublicKey(std::move(key), std::move(kid));
}

Result<VerificationKey> VerificationKey::FromPublicKey(std::shared_ptr<EVP_PKEY> key,
                                                       std::string kid) {
  const int kind = EVP_PKEY_get_base_id(key.get());
  if (kind == EVP_PKEY_RSA) {
    OUTBOX_RETURN_IF_ERROR(CheckRsa(key.get()));
    return VerificationKey(Algorithm::kRs256, std::move(kid), "", std::move(key));
  }
  if (kind == EVP_PKEY_EC) {
    OUTBOX_RETURN_IF_ERROR(CheckP256(key.get()));
    return VerificationKey(Algorithm::kEs256, std::move(kid), "", std::move(key));
  }
  return Status::Invalid("has a key that is neither RSA nor EC");
}

bool VerificationKey::Verify(std::string_view text, std::string_view signature) const noexcept {
  switch (algorithm_) {
    case Algorithm::kHs256: return VerifyHs256(secret_, text, signature);
    case Algorithm::kRs256: return VerifyRs256(key_.get(), text, signature);
    case Algorithm::kEs256: return VerifyEs256(key_.get(), text, signature);
  }
  return false;
}

}  // namespace outbox::service
