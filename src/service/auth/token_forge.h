// For tests: keys made on the spot, and tokens signed with them, good ones and others.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "service/auth/base64url.h"
#include "service/auth/secret.h"

namespace outbox::service {

class ForgeKey {
 public:
  static ForgeKey Rsa(unsigned bits = 2048) { return ForgeKey(EVP_RSA_gen(bits), 0); }
  static ForgeKey Ec(const char* curve = "P-256") { return ForgeKey(EVP_EC_gen(curve), 32); }

  std::string PublicPem() const {
    return Pem([&](BIO* bio) { return PEM_write_bio_PUBKEY(bio, key_.get()); });
  }
  std::string PrivatePem() const {
    return Pem([&](BIO* bio) {
      return PEM_write_bio_PrivateKey(bio, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }

  // As OpenSSL writes it: for EC in DER.
  std::string SignRaw(std::string_view text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          EVP_MD_CTX_free);
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    Check(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()));
    Check(EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()));
    std::string signature(size, '\0');
    Check(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                         bytes, text.size()));
    signature.resize(size);
    return signature;
  }
  // As JWS wants it.
  std::string Sign(std::string_view text) const {
    const std::string raw = SignRaw(text);
    return half_bytes_ == 0 ? raw : FromDer(raw, false);
  }
  // r and n - s: as good a signature, of which the signer knows nothing. For P-256.
  std::string Flip(std::string_view text) const { return FromDer(SignRaw(text), true); }

  // The members of its public JSON web key: "kty":…
  std::string JwkMembers() const {
    if (half_bytes_ == 0) {
      return base::StrCat(R"("kty":"RSA","n":")", Number(OSSL_PKEY_PARAM_RSA_N, 0), R"(","e":")",
                          Number(OSSL_PKEY_PARAM_RSA_E, 0), "\"");
    }
    return base::StrCat(R"("kty":"EC","crv":"P-256","x":")",
                        Number(OSSL_PKEY_PARAM_EC_PUB_X, half_bytes_), R"(","y":")",
                        Number(OSSL_PKEY_PARAM_EC_PUB_Y, half_bytes_), "\"");
  }
  std::string Jwk(const std::string& kid) const {
    return base::StrCat("{", JwkMembers(), R"(,"use":"sig","kid":)", base::JsonQuote(kid), "}");
  }
  std::string Number(const char* name, int bytes) const {
    BIGNUM* number = nullptr;
    Check(EVP_PKEY_get_bn_param(key_.get(), name, &number));
    std::string out(static_cast<std::size_t>(bytes > 0 ? bytes : BN_num_bytes(number)), '\0');
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.data()),
                 static_cast<int>(out.size()));
    BN_free(number);
    return Base64UrlEncode(out);
  }

 private:
  ForgeKey(EVP_PKEY* key, int half_bytes) : key_(key, EVP_PKEY_free), half_bytes_(half_bytes) {
    Check(key != nullptr);
  }
  static void Check(int result) {
    if (result != 1) std::abort();
  }
  template <typename Write>
  static std::string Pem(Write write) {
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new(BIO_s_mem()), BIO_free_all);
    Check(write(bio.get()));
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }
  std::string FromDer(const std::string& der, bool flip) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
        d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size())), ECDSA_SIG_free);
    BIGNUM* s = BN_dup(ECDSA_SIG_get0_s(pair.get()));
    if (flip) {
      EC_GROUP* group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
      BN_sub(s, EC_GROUP_get0_order(group), s);
      EC_GROUP_free(group);
    }
    std::string out(static_cast<std::size_t>(2 * half_bytes_), '\0');
    auto* half = reinterpret_cast<unsigned char*>(out.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), half, half_bytes_);
    BN_bn2binpad(s, half + half_bytes_, half_bytes_);
    BN_free(s);
    return out;
  }

  std::shared_ptr<EVP_PKEY> key_;
  int half_bytes_;  // of an EC signature; 0: RSA
};

inline std::string JwksOf(const std::vector<std::string>& keys) {
  return base::StrCat(R"({"keys":[)", base::Join(keys, ","), "]}");
}

// JSON whose members are set one by one, as text: also to what no writer of JSON would write.
class ForgeJson {
 public:
  ForgeJson(std::initializer_list<std::pair<std::string, std::string>> members)
      : members_(members) {}

  // Replaces the member; removes it when `json` is empty.
  ForgeJson With(const std::string& name, const std::string& json) const {
    ForgeJson copy(*this);
    std::erase_if(copy.members_, [&](const auto& member) { return member.first == name; });
    return json.empty() ? copy : copy.And(name, json);
  }
  // Adds it, also when it is there.
  ForgeJson And(const std::string& name, const std::string& json) const {
    ForgeJson copy(*this);
    copy.members_.emplace_back(name, json);
    return copy;
  }
  std::string Text() const {
    std::vector<std::string> parts;
    for (const auto& [name, json] : members_)
      parts.push_back(base::StrCat("\"", name, "\":", json));
    return base::StrCat("{", base::Join(parts, ","), "}");
  }

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

inline std::string SignedText(const std::string& header, const std::string& payload) {
  return base::StrCat(Base64UrlEncode(header), ".", Base64UrlEncode(payload));
}
inline std::string TokenOf(const std::string& signed_text, const std::string& signature) {
  return base::StrCat(signed_text, ".", Base64UrlEncode(signature));
}
inline std::string HsToken(const std::string& secret, const std::string& header,
                           const std::string& payload) {
  const std::string text = SignedText(header, payload);
  return TokenOf(text, HmacSha256(secret, text));
}
inline std::string KeyToken(const ForgeKey& key, const std::string& header,
                            const std::string& payload) {
  const std::string text = SignedText(header, payload);
  return TokenOf(text, key.Sign(text));
}

}  // namespace outbox::service
