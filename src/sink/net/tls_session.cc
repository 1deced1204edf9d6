#include "sink/net/tls_session.h"

#include <openssl/asn1.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>

#include "base/handle.h"
#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using OpenSslText =
    std::unique_ptr<unsigned char, decltype([](unsigned char* text) { OPENSSL_free(text); })>;
using Names = base::UniqueHandle<GENERAL_NAMES, GENERAL_NAMES_free>;

// Whoever made the certificate has chosen it.
constexpr std::size_t kNameBytesMax = 64;

std::string Utf8(const ASN1_STRING* text) {
  unsigned char* raw = nullptr;
  const int length = ASN1_STRING_to_UTF8(&raw, text);
  const OpenSslText owned(raw);
  if (length < 0) return "";
  const std::string_view utf8(reinterpret_cast<const char*>(raw), static_cast<std::size_t>(length));
  return base::CleanError(utf8, kNameBytesMax);
}

// The common name, or else the organisation's.
std::string NameIn(const X509_NAME* name) {
  for (const int field : {NID_commonName, NID_organizationName}) {
    const int at = X509_NAME_get_index_by_NID(name, field, -1);
    if (at >= 0) return Utf8(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  }
  return "";
}

// Of a certificate that names its hosts only.
std::string FirstHost(const X509* certificate) {
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) return Utf8(name->d.dNSName);
  }
  return "";
}

std::string LastDay(const X509* certificate) {
  std::tm until{};
  std::array<char, 16> text{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &until) != 1) return "?";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &until)};
}

}  // namespace

std::string DescribeTls(const SSL* session) {
  const std::string version = SSL_get_version(session);
  const X509* const certificate = SSL_get0_peer_certificate(session);
  if (certificate == nullptr) return version;
  std::string owner = NameIn(X509_get_subject_name(certificate));
  if (owner.empty()) owner = FirstHost(certificate);
  const std::string issuer = NameIn(X509_get_issuer_name(certificate));
  const bool verified = SSL_get_verify_mode(session) != SSL_VERIFY_NONE;
  return StrCat(version, verified ? "" : ", not verified", ", certificate",
                owner.empty() ? "" : " of ", owner, issuer.empty() ? "" : " by ", issuer, " until ",
                LastDay(certificate));
}

}  // namespace outbox::sink
