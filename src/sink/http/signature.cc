#include "sink/http/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <array>
#include <optional>

#include "base/text.h"

namespace outbox::sink {
namespace {

constexpr std::string_view kSecretPrefix = "whsec_";
constexpr std::size_t kKeyBytesMin = 24;
constexpr std::size_t kKeyBytesMax = 64;
constexpr std::size_t kTextMax = 1024;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || text.size() > kTextMax) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), Bytes(text),
                                   static_cast<int>(text.size()));
  // OpenSSL overlooks white space at the ends.
  if (size != static_cast<int>(out.size())) return std::nullopt;
  out.resize(out.size() - padding);
  return out;
}

}  // namespace

Result<WebhookSecret> WebhookSecret::Parse(std::string_view text) {
  if (!text.starts_with(kSecretPrefix)) return Status::Invalid("does not begin with whsec_");
  auto key = FromBase64(text.substr(kSecretPrefix.size()));
  if (!key) return Status::Invalid("is not base64 after whsec_");
  if (key->size() < kKeyBytesMin || key->size() > kKeyBytesMax) {
    return Status::Invalid(
        base::StrCat("has ", key->size(), " bytes, not ", kKeyBytesMin, " to ", kKeyBytesMax));
  }
  return WebhookSecret(*std::move(key));
}

std::string WebhookSecret::Sign(std::string_view id, std::int64_t timestamp,
                                std::string_view body) const {
  const std::string text = base::StrCat(id, ".", timestamp, ".", body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), Bytes(text), text.size(),
       mac.data(), &size);
  return base::StrCat("v1,", Base64({reinterpret_cast<const char*>(mac.data()), size}));
}

std::string Base64(std::string_view bytes) {
  // OpenSSL writes a terminating zero behind the text.
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), Bytes(bytes),
                  static_cast<int>(bytes.size()));
  out.pop_back();
  return out;
}

std::string Sha256Hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(Bytes(bytes), bytes.size(), digest.data());
  std::string out;
  for (const unsigned char byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace outbox::sink
