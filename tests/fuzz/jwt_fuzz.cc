// Tokens, their headers, their claims and key sets, as bytes that nobody has meant.
//
// The first byte says what the rest is: a whole token ('t'), or a header ('h') or a payload ('p')
// that gets a good signature, so that the code behind the signature is reached too, or a key set
// ('k'). Beyond not crashing: what is accepted carries the one signature that it must have, and a
// refusal is fit for a header of an answer.
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "service/auth/authenticator.h"
#include "service/auth/base64url.h"
#include "service/auth/jwks.h"
#include "service/auth/secret.h"

namespace outbox::service {
namespace {

constexpr std::string_view kSecret = "a-fixed-secret-for-fuzzing-of-tokens";
constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";
constexpr std::string_view kPayload =
    R"({"iss":"outboxd","aud":"outboxd","sub":"a","exp":1800000600})";

void Require(bool holds) {
  if (!holds) std::abort();
}

std::unique_ptr<Authenticator> OpenForFuzzing() {
  char path[] = "/tmp/outbox-fuzz-XXXXXX";
  const int fd = mkstemp(path);
  Require(fd >= 0 &&
          write(fd, kSecret.data(), kSecret.size()) == static_cast<ssize_t>(kSecret.size()));
  close(fd);
  auto opened =
      Authenticator::Open({.secrets = {{.file = path}}},
                          {.now = [] { return Timestamp(std::chrono::seconds(1'800'000'000)); }});
  unlink(path);
  Require(opened.ok());
  return *std::move(opened);
}

std::string Signed(std::string_view header, std::string_view payload) {
  const std::string text = Base64UrlEncode(header) + "." + Base64UrlEncode(payload);
  return text + "." + Base64UrlEncode(HmacSha256(kSecret, text));
}

void CheckToken(const Authenticator& authenticator, const std::string& token) {
  const auto who = authenticator.Check(token);
  if (!who.ok()) {
    const Status refusal = who.error();
    Require(refusal.code() == Code::kPermission && refusal.message().size() <= 300);
    for (const char c : refusal.message()) Require(c >= ' ' && c <= '~' && c != '"' && c != '\\');
    return;
  }
  const std::size_t dot = token.rfind('.');
  const std::string text = token.substr(0, dot);
  Require(token.substr(dot + 1) == Base64UrlEncode(HmacSha256(kSecret, text)));
  Require(!who->subject.empty() && !who->issuer.empty());
  Require(!who->tenant || !who->tenant->is_nil());
}

}  // namespace
}  // namespace outbox::service

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace outbox::service;
  static const std::unique_ptr<Authenticator> authenticator = OpenForFuzzing();
  static const bool control = authenticator->Check(Signed(kHeader, kPayload)).ok();
  Require(control);
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'h': CheckToken(*authenticator, Signed(rest, kPayload)); break;
    case 'p': CheckToken(*authenticator, Signed(kHeader, rest)); break;
    case 'k':
      (void)ParseJwks(rest, JwksOrigin::kLocal);
      (void)ParseJwks(rest, JwksOrigin::kRemote);
      break;
    default: CheckToken(*authenticator, std::string(rest)); break;
  }
  return 0;
}
