// Uuid: the identity of a message, 16 bytes, printed in the usual 36 characters.
//
// Message ids are UUID version 7 by default: 48 bits of milliseconds, then a counter and random
// bits, so ids made by one process sort in the order they were made and new rows land at the
// right-hand edge of the primary key's index.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outbox {

class Uuid {
 public:
  using Bytes = std::array<std::uint8_t, 16>;

  // The nil UUID, all zeros.
  constexpr Uuid() noexcept = default;
  constexpr explicit Uuid(const Bytes& bytes) noexcept : bytes_(bytes) {}

  // A new version 7 UUID. Strictly increasing within this process, also when the wall clock jumps
  // back. Safe to call from any thread.
  static Uuid NewV7();

  // Reads "01890a5d-ac96-774b-bcce-b302099a8057", in either case; nothing else (no braces, no
  // urn:).
  static std::optional<Uuid> Parse(std::string_view text) noexcept;

  // Lower-case, with hyphens.
  std::string ToString() const;

  const Bytes& bytes() const noexcept { return bytes_; }
  bool is_nil() const noexcept { return bytes_ == Bytes{}; }

  friend constexpr auto operator<=>(const Uuid&, const Uuid&) noexcept = default;

 private:
  Bytes bytes_{};
};

}  // namespace outbox
