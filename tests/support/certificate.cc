#include "tests/support/certificate.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <memory>

namespace outbox::testing {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
template <typename T, auto Free>
using Handle = std::unique_ptr<T, Deleter<Free>>;

void Require(bool done) {
  if (!done) std::abort();
}

void AddExtension(X509* certificate, int kind, const std::string& value) {
  const Handle<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
  Require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

template <typename Write>
std::string Pem(Write write) {
  const Handle<BIO, BIO_free_all> memory(BIO_new(BIO_s_mem()));
  Require(write(memory.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

Certificate MakeCertificate(const std::string& name) {
  const Handle<EVP_PKEY, EVP_PKEY_free> key(EVP_EC_gen("P-256"));
  const Handle<X509, X509_free> certificate(X509_new());
  X509* const x509 = certificate.get();
  X509_set_version(x509, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -60 * 60);
  X509_gmtime_adj(X509_getm_notAfter(x509), 24 * 60 * 60);
  X509_set_pubkey(x509, key.get());
  X509_NAME* const subject = X509_get_subject_name(x509);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("outbox test"), -1, -1, 0);
  X509_set_issuer_name(x509, subject);
  AddExtension(x509, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(x509, NID_subject_alt_name, name);
  Require(X509_sign(x509, key.get(), EVP_sha256()) > 0);
  return {Pem([&](BIO* out) { return PEM_write_bio_X509(out, x509); }), Pem([&](BIO* out) {
            return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace outbox::testing
