// For tests: an authenticator with a key of each kind, at a fixed time, and tokens that it accepts.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "service/auth/authenticator.h"
#include "service/auth/token_forge.h"
#include "tests/support/temp_folder.h"

namespace outbox::service {

inline constexpr std::int64_t kStageNow = 1'800'000'000;
inline const std::string kStageTenant = "0190b6a0-7c1e-7abc-8def-0123456789ab";
inline const std::string kStageSecret = "a-secret-of-forty-bytes-for-these-tests!";

inline ForgeJson GoodClaims() {
  return {{"iss", R"("outboxd")"},
          {"aud", R"("outboxd")"},
          {"sub", R"("ann")"},
          {"exp", std::to_string(kStageNow + 600)},
          {"nbf", std::to_string(kStageNow - 10)},
          {"iat", std::to_string(kStageNow - 10)},
          {"tenant", base::JsonQuote(kStageTenant)},
          {"scope", R"("messages:read messages:write")"}};
}
inline ForgeJson HsHeader() {
  return {{"alg", R"("HS256")"}, {"typ", R"("JWT")"}, {"kid", R"("hs")"}};
}
inline ForgeJson RsHeader() { return {{"alg", R"("RS256")"}, {"kid", R"("rs")"}}; }
inline ForgeJson EsHeader() { return {{"alg", R"("ES256")"}, {"kid", R"("es")"}}; }

// Made once a process: RSA keys take a while.
inline const ForgeKey& StageRsa() {
  static const ForgeKey kKey = ForgeKey::Rsa();
  return kKey;
}
inline const ForgeKey& StageEc() {
  static const ForgeKey kKey = ForgeKey::Ec();
  return kKey;
}

class AuthStage {
 public:
  AuthStage() {
    Write("secret", kStageSecret);
    Write("rs.pem", StageRsa().PublicPem());
    Write("es.pem", StageEc().PublicPem());
    options.secrets = {{.file = folder.File("secret"), .kid = "hs"}};
    options.public_keys = {{.file = folder.File("rs.pem"), .kid = "rs"},
                           {.file = folder.File("es.pem"), .kid = "es"}};
  }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.File(name), std::ios::binary) << text;
    return folder.File(name);
  }
  std::unique_ptr<Authenticator> Open(Notice notice = {}) const {
    auto opened = Authenticator::Open(
        options,
        {.now = [now = now] { return Timestamp(std::chrono::seconds(now)); }, .notice = notice});
    return opened.ok() ? *std::move(opened) : nullptr;
  }

  testing::TempFolder folder;
  AuthOptions options;
  std::int64_t now = kStageNow;
};

}  // namespace outbox::service
