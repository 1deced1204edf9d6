#include "service/api/options.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdint>
#include <set>
#include <utility>

#include "base/text.h"

namespace outbox::service {
namespace {

using base::StrCat;

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

bool IsAddress(const std::string& host) {
  in6_addr ignored{};
  return host == "localhost" || inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

void CheckListen(const ServiceOptions& options, std::string_view key,
                 const std::vector<std::string>& addresses, std::vector<std::string>& problems) {
  for (const std::string& text : addresses) {
    const auto address = ParseListenAddress(text);
    if (!address.ok()) {
      problems.push_back(StrCat(key, ": ", address.error().message()));
    } else if (options.auth.none && !IsLoopback(address->host)) {
      problems.push_back(StrCat("service.auth_none: is for loopback addresses only, and ", key,
                                " has ", text, ": have tokens checked, or listen at 127.0.0.1"));
    }
  }
}

// Port 0 is another one each time.
void CheckTwice(const ServiceOptions& options, std::vector<std::string>& problems) {
  std::set<std::pair<std::string, std::uint16_t>> taken;
  const auto check = [&](std::string_view key, const std::vector<std::string>& addresses) {
    for (const std::string& text : addresses) {
      const auto address = ParseListenAddress(text);
      if (!address.ok() || address->port == 0) continue;
      if (taken.emplace(address->host, address->port).second) continue;
      problems.push_back(StrCat(key, ": ", text, " is there twice"));
    }
  };
  check("service.listen", options.listen);
  check("service.admin_listen", options.admin_listen);
}

// What the service has besides: service.cc.
bool IsTaken(const std::string& path) {
  return path == "/api" || path.starts_with("/api/") || path == "/healthz" || path == "/readyz" ||
         path == "/openapi.json" || path == "/docs";
}

}  // namespace

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  const Status wrong = Status::Invalid(
      StrCat("'", base::CleanError(text, 80),
             "' is not an address and a port such as 127.0.0.1:8080 or [::1]:8080"));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  ListenAddress address{.host = std::string(host)};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || stopped != end || !IsAddress(address.host)) return wrong;
  return address;
}

std::vector<std::string> ServiceOptions::Problems() const {
  std::vector<std::string> problems;
  if (!enabled()) return problems;
  CheckListen(*this, "service.listen", listen, problems);
  CheckListen(*this, "service.admin_listen", admin_listen, problems);
  CheckTwice(*this, problems);
  if (tls_certificate.empty() != tls_key.empty()) {
    problems.emplace_back("service.tls_certificate: goes together with service.tls_key");
  }
  if (rate_limit == 0) problems.emplace_back("service.rate_limit: must be at least 1");
  if (rate_burst == 0) problems.emplace_back("service.rate_burst: must be at least 1");
  if (refusal_limit == 0) problems.emplace_back("service.refusal_limit: must be at least 1");
  if (refusal_burst == 0) problems.emplace_back("service.refusal_burst: must be at least 1");
  if (workers == 0 || workers > 64) problems.emplace_back("service.workers: must be 1 to 64");
  if (connections == 0 || connections > 100'000) {
    problems.emplace_back("service.connections: must be 1 to 100000");
  }
  if (admin_connections == 0 || admin_connections > 100'000) {
    problems.emplace_back("service.admin_connections: must be 1 to 100000");
  }
  if (stalled_after < std::chrono::seconds(1)) {
    problems.emplace_back("service.stalled_after: must be at least 1s");
  }
  for (const std::string& problem : auth.Problems()) {
    problems.push_back(StrCat("service.auth: ", problem));
  }
  if (const Status status = metrics.Validate(); !status.ok()) {
    problems.push_back(StrCat(status.message(), "; ", status.hint()));
  }
  if (metrics.enabled && IsTaken(metrics.path)) {
    problems.push_back(
        StrCat("metrics.path: ", metrics.path,
               " is a path of the service itself: choose another, such as /metrics"));
  }
  return problems;
}

}  // namespace outbox::service
