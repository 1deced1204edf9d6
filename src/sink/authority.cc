#include "sink/authority.h"

#include <charconv>

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr int kPortMax = 65535;

Result<Endpoint> ParseEndpoint(std::string_view text, int default_port) {
  Endpoint endpoint{.port = default_port};
  std::string_view rest = text;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return Status::Invalid("a '[' is not closed");
    endpoint.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    endpoint.host = text.substr(0, text.find(':'));
    rest = text.substr(endpoint.host.size());
  }
  if (endpoint.host.empty()) return Status::Invalid("the host is missing");
  if (rest.empty()) return endpoint;
  const char* const end = rest.data() + rest.size();
  const auto [stopped, error] = std::from_chars(rest.data() + 1, end, endpoint.port);
  if (rest[0] != ':' || error != std::errc() || stopped != end || endpoint.port < 1 ||
      endpoint.port > kPortMax) {
    return Status::Invalid("the port is not a number between 1 and 65535");
  }
  return endpoint;
}

}  // namespace

std::string Endpoint::ToString() const {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? StrCat("[", host, "]:", port) : StrCat(host, ":", port);
}

Status EmptyPassword(const SinkUri& uri, std::string_view option) {
  return Status::Invalid(StrCat("the ", uri.scheme, ": sink: the password in the address is empty"))
      .WithHint(StrCat("write it after the colon, leave the colon out, or give ", option,
                       "_env or ", option, "_file"));
}

Result<Authority> ParseAuthority(const SinkUri& uri, int default_port) {
  const auto malformed = [&](std::string_view what) {
    return Status::Invalid(StrCat("the address of the ", uri.scheme, ": sink: ", what))
        .WithHint(StrCat("write it as ", uri.scheme, "://user:password@host:port/…"));
  };
  std::string_view rest = uri.target;
  if (!rest.starts_with("//")) return malformed("has no host");
  rest.remove_prefix(2);

  Authority authority;
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    authority.has_path = true;
    authority.path = PercentDecode(rest.substr(slash + 1));
    rest = rest.substr(0, slash);
  }
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view login = rest.substr(0, at);
    const std::size_t colon = login.find(':');
    authority.user = PercentDecode(login.substr(0, colon));
    if (colon != std::string_view::npos) {
      authority.password = PercentDecode(login.substr(colon + 1));
      if (authority.password.empty()) return EmptyPassword(uri, "password");
    }
    rest = rest.substr(at + 1);
  }
  for (const std::string& text : base::Split(rest, ',')) {
    auto endpoint = ParseEndpoint(text, default_port);
    if (!endpoint.ok()) return malformed(endpoint.error().message());
    authority.endpoints.push_back(*std::move(endpoint));
  }
  return authority;
}

}  // namespace outbox::sink
