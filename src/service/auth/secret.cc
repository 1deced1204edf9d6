#include "service/auth/secret.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "service/auth/base64url.h"
#include "service/auth/read_file.h"

namespace outbox::service {
namespace {

constexpr std::size_t kNewSecretBytes = 32;

const unsigned char* SecretBytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool IsText(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\r';
  });
}

void DropLastLineBreak(std::string& text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
}

Result<std::string> CheckSize(std::string secret, std::string_view where) {
  if (secret.size() >= kSecretBytesMin && secret.size() <= kSecretBytesMax) return secret;
  return Status(
      Status::Invalid(base::StrCat("the secret in ", where, " has ", secret.size(), " bytes, not ",
                                   kSecretBytesMin, " to ", kSecretBytesMax))
          .WithHint("outboxd token --new-secret FILE makes a good one"));
}

Status CreateFailure(const std::string& path, int code) {
  if (code == EEXIST) {
    return Status(Status::Permanent(Code::kConflict, base::StrCat(path, " exists already"))
                      .WithHint("a secret is never overwritten: choose another path, or remove it "
                                "yourself"));
  }
  return Status::Permanent(code == EACCES ? Code::kPermission : Code::kInternal,
                           base::StrCat("can not create ", path, ": ", std::strerror(code)));
}

}  // namespace

Result<std::string> ReadSecretFile(const std::string& path) {
  OUTBOX_ASSIGN_OR_RETURN(std::string secret, ReadKeyFile(path, kSecretBytesMax + 2));
  if (IsText(secret)) DropLastLineBreak(secret);
  return CheckSize(std::move(secret), path);
}

Result<std::string> ReadSecretEnvironment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr) {
    return Status::Permanent(Code::kNotFound, base::StrCat("the environment has no ", variable));
  }
  return CheckSize(value, variable);
}

Status CreateSecretFile(const std::string& path) {
  unsigned char bytes[kNewSecretBytes];
  if (RAND_bytes(bytes, sizeof bytes) != 1) {
    return Status::Permanent(Code::kInternal, "the system gave no random bytes");
  }
  const std::string text =
      Base64UrlEncode({reinterpret_cast<const char*>(bytes), sizeof bytes}) + "\n";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return CreateFailure(path, errno);
  const bool written =
      write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  const int code = errno;
  close(fd);
  if (written) return Status::Ok();
  unlink(path.c_str());
  return Status::Permanent(Code::kInternal,
                           base::StrCat("can not write ", path, ": ", std::strerror(code)));
}

std::string HmacSha256(std::string_view secret, std::string_view text) {
  std::string mac(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), SecretBytes(text), text.size(),
       reinterpret_cast<unsigned char*>(mac.data()), &size);
  mac.resize(size);
  return mac;
}

}  // namespace outbox::service
