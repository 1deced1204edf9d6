#include "service/api/foreign_page.h"

#include <algorithm>
#include <string_view>

#include "service/auth/jwks_address.h"

namespace outbox::service {
namespace {

// "localhost" of "localhost:8080", "::1" of "[::1]:8080".
std::string HostName(std::string_view authority) {
  if (authority.starts_with('[')) {
    return std::string(authority.substr(1, authority.find(']') - 1));
  }
  return std::string(authority.substr(0, authority.find(':')));
}

bool IsThisMachine(std::string_view authority) {
  const std::string host = HostName(authority);
  return host == "localhost" || host.ends_with(".localhost") || IsLoopback(host);
}

bool IsOwn(std::string_view origin, std::span<const std::string> trusted) {
  if (std::find(trusted.begin(), trusted.end(), origin) != trusted.end()) return true;
  const std::size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && IsThisMachine(origin.substr(scheme + 3));
}

}  // namespace

bool IsOfForeignPage(const Request& request, std::span<const std::string> trusted) {
  if (!IsThisMachine(request.Header("host"))) return true;
  const std::string_view origin = request.Header("origin");
  if (!origin.empty()) return !IsOwn(origin, trusted);
  return request.Header("sec-fetch-site") == "cross-site";
}

}  // namespace outbox::service
