// Nkey: NATS's Ed25519 keys as text: a prefix that says whose, 32 bytes and a checksum in base32.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "outbox/status.h"

namespace outbox::sink {

using NkeyBytes = std::array<std::uint8_t, 32>;

enum class NkeyKind : std::uint8_t {
  kAccount = 0,         // "A…"
  kOperator = 14 << 3,  // "O…"
  kUser = 20 << 3,      // "U…"
};

std::string EncodeNkey(NkeyKind kind, const NkeyBytes& public_key);
std::string EncodeNkeySeed(NkeyKind kind, const NkeyBytes& private_key);

// The public key "U…" of the seed "SU…" in `path`, which may stand among lines of other text.
// The client wants both. kInvalidArgument names the file and never what is in it.
Result<std::string> PublicKeyOfSeedFile(const std::string& path);

}  // namespace outbox::sink
