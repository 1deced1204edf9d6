// Secrets of HS256: reading them from a file or the environment, making new ones, signing.
//
// The bytes of the file or the variable are the secret, as they are. Only the last line break of a
// text file is not part of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "outbox/status.h"

namespace outbox::service {

// RFC 7518 asks for as many bytes as the hash has.
inline constexpr std::size_t kSecretBytesMin = 32;
inline constexpr std::size_t kSecretBytesMax = 4096;

// Errors name the file or the variable and the remedy, never the content.
Result<std::string> ReadSecretFile(const std::string& path);
Result<std::string> ReadSecretEnvironment(const std::string& variable);

// Writes 32 random bytes, as base64url text, to a new file that only its owner may read.
// kConflict when the path exists already, as whatever.
Status CreateSecretFile(const std::string& path);

// The 32 bytes of HMAC-SHA256.
std::string HmacSha256(std::string_view secret, std::string_view text);

}  // namespace outbox::service
