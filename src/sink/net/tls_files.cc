#include "sink/net/tls_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "base/handle.h"
#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using File = base::UniqueHandle<BIO, BIO_free_all>;
using X509Handle = base::UniqueHandle<X509, X509_free>;
using KeyHandle = base::UniqueHandle<EVP_PKEY, EVP_PKEY_free>;

constexpr std::string_view kCa = "tls_ca";
constexpr std::string_view kCert = "tls_cert";
constexpr std::string_view kKey = "tls_key";

struct Opened {
  File file;
  std::string error;
};

Opened Open(const std::string& path) {
  const auto failed = [](int error) {
    return Opened{nullptr, std::generic_category().message(error)};
  };
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return failed(errno);
  if (S_ISDIR(about.st_mode)) return failed(EISDIR);
  if (!S_ISREG(about.st_mode)) return {nullptr, "is not a regular file"};
  errno = 0;
  File file(BIO_new_file(path.c_str(), "r"));
  return file == nullptr ? failed(errno) : Opened{std::move(file), ""};
}

TlsFileProblem Unreadable(std::string_view option, const std::string& path,
                          const std::string& error) {
  return {option, StrCat("can not read ", path, ": ", error),
          "it must be a PEM file that this user may read"};
}

TlsFileProblem NoCertificate(std::string_view option, const std::string& path) {
  return {option, StrCat(path, " has no certificate in PEM format"),
          "such a file has a line -----BEGIN CERTIFICATE-----; from DER: openssl x509 -inform der "
          "-in FILE -out FILE.pem"};
}

struct Certificates {
  X509Handle first;
  bool damaged = false;
};

Certificates ReadCertificates(BIO* file) {
  Certificates read;
  ERR_clear_error();
  while (X509Handle next{PEM_read_bio_X509(file, nullptr, nullptr, nullptr)}) {
    if (read.first == nullptr) read.first = std::move(next);
  }
  read.damaged = ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
  ERR_clear_error();
  return read;
}

// OpenSSL would ask for a missing passphrase at the terminal.
struct Passphrase {
  const std::string& text;
  bool asked = false;

  static int Tell(char* buffer, int size, int, void* self) {
    auto& passphrase = *static_cast<Passphrase*>(self);
    passphrase.asked = true;
    const auto length = static_cast<int>(passphrase.text.size());
    if (length == 0 || length > size) return -1;
    passphrase.text.copy(buffer, passphrase.text.size());
    return length;
  }
};

class Finder {
 public:
  explicit Finder(const TlsOptions& options) : options_(options) {}

  std::vector<TlsFileProblem> Find() {
    if (!options_.ca_file.empty()) CheckCertificate(kCa, options_.ca_file);
    if (options_.cert_file.empty()) return std::move(problems_);
    const X509Handle certificate = CheckCertificate(kCert, options_.cert_file);
    if (certificate != nullptr) CheckKey(certificate.get());
    return std::move(problems_);
  }

 private:
  X509Handle CheckCertificate(std::string_view option, const std::string& path) {
    const Opened opened = Open(path);
    if (opened.file == nullptr) {
      problems_.push_back(Unreadable(option, path, opened.error));
      return nullptr;
    }
    Certificates read = ReadCertificates(opened.file.get());
    if (read.first == nullptr && !read.damaged) {
      problems_.push_back(NoCertificate(option, path));
    } else if (read.damaged) {
      problems_.push_back({option, StrCat(path, " has a damaged certificate"),
                           "copy the file anew, from -----BEGIN to the end of the last -----END"});
      return nullptr;
    }
    return std::move(read.first);
  }

  void CheckKey(X509* certificate) {
    const std::string& path = options_.key_file;
    const Opened opened = Open(path);
    if (opened.file == nullptr) {
      problems_.push_back(Unreadable(kKey, path, opened.error));
      return;
    }
    Passphrase passphrase{options_.passphrase};
    const KeyHandle key(
        PEM_read_bio_PrivateKey(opened.file.get(), nullptr, Passphrase::Tell, &passphrase));
    if (key == nullptr) {
      problems_.push_back(UnusableKey(passphrase.asked));
    } else if (X509_check_private_key(certificate, key.get()) != 1) {
      problems_.push_back(
          {kKey,
           StrCat("the key in ", path, " is not that of the certificate in ", options_.cert_file),
           "name the key that the certificate was requested with; the certificate "
           "comes first in its file, before its authorities"});
    }
    ERR_clear_error();
  }

  TlsFileProblem UnusableKey(bool encrypted) const {
    const std::string& path = options_.key_file;
    if (encrypted && options_.passphrase.empty()) {
      return {kKey, StrCat("the key in ", path, " is encrypted"),
              "decrypt it: openssl pkey -in FILE -out FILE.pem"};
    }
    if (encrypted) {
      return {kKey, StrCat("the key in ", path, " has another passphrase"), "check the passphrase"};
    }
    return {kKey, StrCat(path, " has no private key in PEM format"),
            path == options_.cert_file
                ? "name the key's file too, or add the key to the certificate's"
                : "such a file has a line -----BEGIN PRIVATE KEY-----; from DER: openssl pkey "
                  "-inform der -in FILE -out FILE.pem"};
  }

  const TlsOptions& options_;
  std::vector<TlsFileProblem> problems_;
};

}  // namespace

std::vector<TlsFileProblem> FindTlsFileProblems(const TlsOptions& options) {
  return Finder(options).Find();
}

}  // namespace outbox::sink
