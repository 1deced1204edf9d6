#include "sink/nats/nkey.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <span>
#include <vector>

#include "base/handle.h"
#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using KeyHandle = base::UniqueHandle<EVP_PKEY, EVP_PKEY_free>;

constexpr std::string_view kBase32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr std::uint8_t kSeedPrefix = 18 << 3;  // "S…"
constexpr std::size_t kSeedChars = 58;         // two bytes of prefix, the key, two of checksum
constexpr std::size_t kLinesMax = 1000;

// CRC-16 with the polynomial of XMODEM.
std::uint16_t Checksum(std::span<const std::uint8_t> bytes) {
  std::uint16_t crc = 0;
  for (const std::uint8_t byte : bytes) {
    crc = static_cast<std::uint16_t>(crc ^ (byte << 8));
    for (int bit = 0; bit < 8; ++bit) {
      crc = static_cast<std::uint16_t>((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
    }
  }
  return crc;
}

std::string Encode(std::vector<std::uint8_t> bytes) {
  const std::uint16_t crc = Checksum(bytes);
  bytes.push_back(static_cast<std::uint8_t>(crc & 0xFF));
  bytes.push_back(static_cast<std::uint8_t>(crc >> 8));
  std::string text;
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const std::uint8_t byte : bytes) {
    buffer = (buffer << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += kBase32[(buffer >> (bits - 5)) & 31];
  }
  if (bits > 0) text += kBase32[(buffer << (5 - bits)) & 31];
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return text;
}

std::optional<NkeyBytes> DecodeUserSeed(std::string_view text) {
  if (text.size() != kSeedChars) return std::nullopt;
  std::array<std::uint8_t, 36> bytes{};
  std::size_t count = 0;
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t value = kBase32.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    buffer = (buffer << 5) | static_cast<std::uint32_t>(value);
    bits += 5;
    if (bits >= 8 && count < bytes.size()) {
      bits -= 8;
      bytes[count++] = static_cast<std::uint8_t>(buffer >> bits);
    }
  }
  const std::uint16_t crc = Checksum(std::span(bytes).first(34));
  NkeyBytes key{};
  std::copy_n(bytes.begin() + 2, key.size(), key.begin());
  const bool good = count == bytes.size() && bytes[34] == (crc & 0xFF) && bytes[35] == (crc >> 8);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return good ? std::optional(key) : std::nullopt;
}

std::optional<NkeyBytes> PublicKeyOf(const NkeyBytes& private_key) {
  const KeyHandle key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, private_key.data(),
                                                   private_key.size()));
  NkeyBytes bytes{};
  std::size_t size = bytes.size();
  if (key == nullptr || EVP_PKEY_get_raw_public_key(key.get(), bytes.data(), &size) != 1) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace

std::string EncodeNkey(NkeyKind kind, const NkeyBytes& public_key) {
  std::vector<std::uint8_t> bytes{static_cast<std::uint8_t>(kind)};
  bytes.insert(bytes.end(), public_key.begin(), public_key.end());
  return Encode(std::move(bytes));
}

std::string EncodeNkeySeed(NkeyKind kind, const NkeyBytes& private_key) {
  const auto whose = static_cast<std::uint8_t>(kind);
  std::vector<std::uint8_t> bytes{static_cast<std::uint8_t>(kSeedPrefix | (whose >> 5)),
                                  static_cast<std::uint8_t>((whose & 31) << 3)};
  bytes.insert(bytes.end(), private_key.begin(), private_key.end());
  return Encode(std::move(bytes));
}

Result<std::string> PublicKeyOfSeedFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status::Invalid(StrCat("can not read ", path));
  std::string line;
  for (std::size_t i = 0; i < kLinesMax && std::getline(file, line); ++i) {
    const std::string_view text = base::Trim(line);
    if (!text.starts_with("SU")) continue;
    auto seed = DecodeUserSeed(text);
    OPENSSL_cleanse(line.data(), line.size());
    if (!seed) break;
    const auto key = PublicKeyOf(*seed);
    OPENSSL_cleanse(seed->data(), seed->size());
    if (key) return EncodeNkey(NkeyKind::kUser, *key);
    break;
  }
  return Status::Invalid(StrCat(path, " holds no user's seed (SU…)"));
}

}  // namespace outbox::sink
