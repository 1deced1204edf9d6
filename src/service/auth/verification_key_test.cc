#include "service/auth/verification_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/auth/token_forge.h"
#include "tests/support/matchers.h"

namespace outbox::service {
namespace {

using ::testing::HasSubstr;

TEST(VerificationKey, KnowsItsAlgorithm) {
  EXPECT_EQ(VerificationKey::FromSecret(std::string(32, 's'), "")->algorithm(), Algorithm::kHs256);
  EXPECT_EQ(VerificationKey::FromPem(ForgeKey::Rsa().PublicPem(), "")->algorithm(),
            Algorithm::kRs256);
  EXPECT_EQ(VerificationKey::FromPem(ForgeKey::Ec().PublicPem(), "")->algorithm(),
            Algorithm::kEs256);
}

TEST(VerificationKey, TellsGoodSignaturesFromBad) {
  for (const ForgeKey& pair : {ForgeKey::Rsa(), ForgeKey::Ec()}) {
    const auto key = VerificationKey::FromPem(pair.PublicPem(), "");
    ASSERT_OK(key);
    const std::string signature = pair.Sign("text");
    EXPECT_TRUE(key->Verify("text", signature));
    EXPECT_FALSE(key->Verify("Text", signature));
    EXPECT_FALSE(key->Verify("text", ""));
    EXPECT_FALSE(key->Verify("text", signature + signature));
  }
}

TEST(VerificationKey, RefusesKeysThatAreTooSmallOrOfAnotherKind) {
  const auto why = [](const std::string& pem) {
    const auto key = VerificationKey::FromPem(pem, "");
    EXPECT_THAT(key, HasCode(Code::kInvalidArgument));
    return key.error().message();
  };
  EXPECT_EQ(why(ForgeKey::Rsa(1024).PublicPem()), "has an RSA key of 1024 bits, not 2048 to 8192");
  EXPECT_EQ(why(ForgeKey::Ec("P-384").PublicPem()), "has an EC key that is not of P-256");
  EXPECT_EQ(why(ForgeKey::Ec("secp256k1").PublicPem()), "has an EC key that is not of P-256");
  EXPECT_EQ(why(ForgeKey::Rsa().PrivatePem()), "holds a private key");
  EXPECT_THAT(why("no key at all"), HasSubstr("holds no public key"));
  EXPECT_THAT(why(""), HasSubstr("holds no public key"));
  EXPECT_THAT(VerificationKey::FromSecret(std::string(31, 's'), "").error().message(),
              HasSubstr("31 bytes"));
}

TEST(VerificationKey, RefusesNumbersThatAreNoKey) {
  const ForgeKey rsa = ForgeKey::Rsa(), ec = ForgeKey::Ec();
  const std::string modulus = *Base64UrlDecode(rsa.Number(OSSL_PKEY_PARAM_RSA_N, 0));
  EXPECT_OK(VerificationKey::FromRsa(modulus, "\x01\x01", ""));
  // Any text would be its own signature.
  EXPECT_FALSE(VerificationKey::FromRsa(modulus, "\x01", "").ok());
  EXPECT_FALSE(VerificationKey::FromRsa(modulus, "\x04", "").ok());
  EXPECT_FALSE(VerificationKey::FromRsa(modulus, "", "").ok());
  EXPECT_FALSE(VerificationKey::FromRsa("", "\x01\x01", "").ok());
  EXPECT_FALSE(VerificationKey::FromRsa(std::string(4096, '\xff'), "\x01\x01", "").ok());

  const std::string x = *Base64UrlDecode(ec.Number(OSSL_PKEY_PARAM_EC_PUB_X, 32));
  std::string y = *Base64UrlDecode(ec.Number(OSSL_PKEY_PARAM_EC_PUB_Y, 32));
  EXPECT_OK(VerificationKey::FromP256(x, y, ""));
  y[31] = static_cast<char>(y[31] ^ 1);
  EXPECT_FALSE(VerificationKey::FromP256(x, y, "").ok());
  EXPECT_FALSE(VerificationKey::FromP256(std::string(32, '\0'), std::string(32, '\0'), "").ok());
  EXPECT_FALSE(VerificationKey::FromP256(x.substr(1), y, "").ok());
}

}  // namespace
}  // namespace outbox::service
