#include "service/http/client_address.h"

#include <arpa/inet.h>

#include <algorithm>

namespace outbox::service {
namespace {

constexpr std::size_t kNetworkBytes = 8;

}  // namespace

std::string ClientOf(std::string_view address) {
  in6_addr ip{};
  const std::string plain(address.substr(0, address.find('%')));  // behind it is an interface
  if (inet_pton(AF_INET6, plain.c_str(), &ip) != 1) return std::string(address);
  char text[INET6_ADDRSTRLEN] = {};
  if (IN6_IS_ADDR_V4MAPPED(&ip)) {
    inet_ntop(AF_INET, ip.s6_addr + 12, text, sizeof text);
  } else {
    std::fill(ip.s6_addr + kNetworkBytes, ip.s6_addr + sizeof ip.s6_addr, 0);
    inet_ntop(AF_INET6, &ip, text, sizeof text);
  }
  return text;
}

std::string ClientOfPeer(std::string_view remote) {
  std::string_view host = remote.substr(0, remote.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return ClientOf(host);
}

}  // namespace outbox::service
