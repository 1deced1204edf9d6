#include "service/auth/key_sources.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "service/auth/jwks_file.h"
#include "service/auth/jwks_url.h"
#include "service/auth/read_file.h"
#include "service/auth/secret.h"

namespace outbox::service {
namespace {

constexpr std::size_t kPemBytesMax = 64 * 1024;

Result<VerificationKey> OpenSecret(const SecretSource& source) {
  OUTBOX_ASSIGN_OR_RETURN(std::string secret, source.file.empty()
                                                  ? ReadSecretEnvironment(source.env)
                                                  : ReadSecretFile(source.file));
  return VerificationKey::FromSecret(std::move(secret), source.kid);
}

Result<VerificationKey> OpenPublicKey(const PublicKeySource& source) {
  OUTBOX_ASSIGN_OR_RETURN(const std::string pem, ReadKeyFile(source.file, kPemBytesMax));
  auto key = VerificationKey::FromPem(pem, source.kid);
  if (key.ok()) return key;
  return Status(Status::Invalid(base::StrCat(source.file, " ", key.error().message()))
                    .WithHint(key.error().hint()));
}

// The failures found on the way, as one: the code and the hint are those of the first.
class KeyFailures {
 public:
  template <typename T>
  bool Add(const Result<T>& result) {
    if (result.ok()) return false;
    if (first_.ok()) first_ = result.error();
    texts_.push_back(result.error().message());
    return true;
  }
  bool none() const { return first_.ok(); }
  Status Take() const {
    return Status(
        Status::Permanent(first_.code(), base::Join(texts_, "\n")).WithHint(first_.hint()));
  }

 private:
  Status first_;
  std::vector<std::string> texts_;
};

}  // namespace

Result<std::vector<std::unique_ptr<KeySource>>> OpenKeySources(const AuthOptions& options,
                                                               const Notice& notice,
                                                               std::chrono::milliseconds patience) {
  KeyFailures failures;
  KeySet fixed;
  const auto keep = [&](Result<VerificationKey> key) {
    if (!failures.Add(key)) fixed.push_back(*std::move(key));
  };
  for (const SecretSource& source : options.secrets) keep(OpenSecret(source));
  for (const PublicKeySource& source : options.public_keys) keep(OpenPublicKey(source));

  std::vector<std::unique_ptr<KeySource>> sources;
  if (!options.jwks_file.empty()) {
    auto file = JwksFile::Open(options.jwks_file, notice);
    if (!failures.Add(file)) sources.push_back(*std::move(file));
  }
  if (!failures.none()) return failures.Take();
  if (!fixed.empty()) {
    sources.insert(sources.begin(), std::make_unique<FixedKeys>(std::move(fixed)));
  }
  if (!options.jwks_url.empty()) {
    sources.push_back(std::make_unique<JwksUrl>(
        JwksUrlOptions{
            .url = options.jwks_url, .ca = options.jwks_ca, .interval = options.jwks_interval},
        notice, patience));
  }
  return sources;
}

}  // namespace outbox::service
