#include "service/auth/jwks_address.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>

#include "base/handle.h"

namespace outbox::service {
namespace {

constexpr std::size_t kUrlMax = 2048;

using UrlHandle = base::UniqueHandle<CURLU, curl_url_cleanup>;
using UrlPart = base::UniqueHandle<char, curl_free>;

std::string PartOf(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  return UrlPart(text).get();
}

std::string WithoutBrackets(std::string host) {
  if (host.starts_with('[') && host.ends_with(']')) return host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

bool IsLoopback(const std::string& address) {
  in_addr v4{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

Result<JwksAddress> ParseJwksAddress(const std::string& url) {
  const UrlHandle parsed(curl_url());
  if (url.size() > kUrlMax ||
      curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return Status::Invalid("is not a URL");
  }
  const std::string scheme = PartOf(parsed.get(), CURLUPART_SCHEME);
  JwksAddress address{.host = WithoutBrackets(PartOf(parsed.get(), CURLUPART_HOST))};
  if (scheme != "https" && scheme != "http") return Status::Invalid("must begin with https://");
  for (const CURLUPart part : {CURLUPART_USER, CURLUPART_PASSWORD}) {
    if (!PartOf(parsed.get(), part).empty()) return Status::Invalid("must have no user in it");
  }
  if (!PartOf(parsed.get(), CURLUPART_FRAGMENT).empty()) {
    return Status::Invalid("must have no fragment (#)");
  }
  address.only_loopback = scheme == "http";
  if (address.only_loopback && address.host != "localhost" && !IsLoopback(address.host)) {
    return Status::Invalid(
        "is http to another machine, where anybody on the way could put in a "
        "key; use https");
  }
  return address;
}

}  // namespace outbox::service
