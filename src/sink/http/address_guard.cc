#include "sink/http/address_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "base/text.h"

namespace outbox::sink {
namespace {

constexpr int kBits = 128;
constexpr int kBitsBeforeV4 = 96;

// IPv4, by the IANA special-purpose registry.
constexpr std::array<std::string_view, 15> kNotPublicV4{
    "0.0.0.0/8",        // this network
    "10.0.0.0/8",       // private
    "100.64.0.0/10",    // shared by carriers
    "127.0.0.0/8",      // loopback
    "169.254.0.0/16",   // link-local, cloud metadata
    "172.16.0.0/12",    // private
    "192.0.0.0/24",     // protocol assignments
    "192.0.2.0/24",     // documentation
    "192.88.99.0/24",   // 6to4 relays
    "192.168.0.0/16",   // private
    "198.18.0.0/15",    // benchmarks
    "198.51.100.0/24",  // documentation
    "203.0.113.0/24",   // documentation
    "224.0.0.0/4",      // multicast
    "240.0.0.0/4",      // reserved, broadcast
};
// Of IPv6 only this is public unicast at all …
constexpr std::string_view kPublicV6 = "2000::/3";
// … less these.
constexpr std::array<std::string_view, 4> kNotPublicV6{
    "2001::/23",      // protocol assignments, Teredo among them
    "2001:db8::/32",  // documentation
    "2002::/16",      // 6to4: an IPv4 address inside
    "3fff::/20",      // documentation
};

IpAddress FromV4(const void* bytes) {
  IpAddress address{};
  address[10] = address[11] = 0xff;
  std::memcpy(&address[12], bytes, 4);
  return address;
}

bool IsV4(const IpAddress& address) {
  static constexpr IpAddress kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(address.begin(), address.begin() + 12, kMapped.begin());
}

template <std::size_t N>
std::vector<AddressBlock> Blocks(const std::array<std::string_view, N>& texts) {
  std::vector<AddressBlock> blocks;
  blocks.reserve(texts.size());
  for (const std::string_view text : texts) blocks.push_back(*AddressBlock::Parse(text));
  return blocks;
}

bool AnyContains(const std::vector<AddressBlock>& blocks, const IpAddress& address) {
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](const AddressBlock& block) { return block.Contains(address); });
}

bool IsPublic(const IpAddress& address) {
  static const auto& not_public_v4 = *new std::vector<AddressBlock>(Blocks(kNotPublicV4));
  static const auto& not_public_v6 = *new std::vector<AddressBlock>(Blocks(kNotPublicV6));
  static const AddressBlock public_v6 = *AddressBlock::Parse(kPublicV6);
  if (IsV4(address)) return !AnyContains(not_public_v4, address);
  return public_v6.Contains(address) && !AnyContains(not_public_v6, address);
}

}  // namespace

std::optional<IpAddress> ParseIpAddress(std::string_view text) {
  const std::string number(text.substr(0, text.find('%')));
  IpAddress address{};
  if (inet_pton(AF_INET6, number.c_str(), address.data()) == 1) return address;
  in_addr v4{};
  if (text.size() == number.size() && inet_pton(AF_INET, number.c_str(), &v4) == 1) {
    return FromV4(&v4);
  }
  return std::nullopt;
}

std::optional<AddressBlock> AddressBlock::Parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view number = text.substr(0, slash);
  const auto prefix = ParseIpAddress(number);
  if (!prefix || number.find('%') != std::string_view::npos) return std::nullopt;
  AddressBlock block{.prefix = *prefix};
  if (slash == std::string_view::npos) return block;
  const int before = number.find(':') == std::string_view::npos ? kBitsBeforeV4 : 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + slash + 1, end, block.bits);
  if (error != std::errc() || stopped != end || block.bits < 0 || block.bits > kBits - before) {
    return std::nullopt;
  }
  block.bits += before;
  return block;
}

bool AddressBlock::Contains(const IpAddress& address) const noexcept {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (std::memcmp(prefix.data(), address.data(), whole) != 0) return false;
  if (bits % 8 == 0) return true;
  return (prefix[whole] ^ address[whole]) >> (8 - bits % 8) == 0;
}

Result<AddressGuard> AddressGuard::Parse(std::string_view allow) {
  AddressGuard guard;
  if (allow.empty()) return guard;
  for (const std::string& text : base::Split(allow, ',')) {
    const auto block = AddressBlock::Parse(base::Trim(text));
    if (!block) {
      return Status::Invalid(base::StrCat("'", text, "' is not an address block"))
          .WithHint("write 10.0.0.0/8 or fd00::/8");
    }
    guard.allowed_.push_back(*block);
  }
  return guard;
}

bool AddressGuard::Allows(const IpAddress& address) const noexcept {
  return AnyContains(allowed_, address) || IsPublic(address);
}

bool AddressGuard::Allows(const sockaddr& address) const noexcept {
  if (address.sa_family == AF_INET) {
    return Allows(FromV4(&reinterpret_cast<const sockaddr_in&>(address).sin_addr));
  }
  if (address.sa_family != AF_INET6) return false;
  IpAddress v6{};
  std::memcpy(v6.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, v6.size());
  return Allows(v6);
}

bool AddressGuard::Allows(std::string_view address) const {
  const auto parsed = ParseIpAddress(address);
  return parsed && Allows(*parsed);
}

}  // namespace outbox::sink
