// AddressGuard: which network addresses a request may go to. It is asked with the concrete address
// just before a connection is made, so that no spelling of an address (decimal, octal, IPv6 in
// disguise) and no name whose DNS answer changes gets around it.
//
// Public unicast addresses are allowed. Everything else (private, loopback, link-local, shared,
// documentation, multicast, reserved, and IPv6 ranges that carry an IPv4 address inside) is not,
// unless the allow-list has it.
//
// Threads: constant once parsed.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "outbox/status.h"

namespace outbox::sink {

// An IPv6 address, or an IPv4 address as ::ffff:a.b.c.d.
using IpAddress = std::array<std::uint8_t, 16>;

// Numeric spellings as inet_pton(3) takes them; an IPv6 zone ("%eth0") is ignored.
std::optional<IpAddress> ParseIpAddress(std::string_view text);

// "10.0.0.0/8", "fd00::/8", or one address.
struct AddressBlock {
  IpAddress prefix{};
  int bits = 128;

  static std::optional<AddressBlock> Parse(std::string_view text);
  bool Contains(const IpAddress& address) const noexcept;
};

class AddressGuard {
 public:
  // Allows public addresses only.
  AddressGuard() = default;

  // `allow` is "CIDR,CIDR,…" or empty. kInvalidArgument names the part that is not one.
  static Result<AddressGuard> Parse(std::string_view allow);

  bool Allows(const IpAddress& address) const noexcept;
  // Other families than IPv4 and IPv6 are not allowed.
  bool Allows(const sockaddr& address) const noexcept;
  // Text that is not a numeric address is not allowed.
  bool Allows(std::string_view address) const;

 private:
  std::vector<AddressBlock> allowed_;
};

}  // namespace outbox::sink
