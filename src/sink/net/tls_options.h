// TlsOptions: what the address of a sink says about TLS, in the same words for every sink.
#pragma once

#include <string>
#include <string_view>

#include "outbox/status.h"
#include "sink/option_reader.h"

namespace outbox::sink {

struct TlsOptions {
  bool verify = true;           // the certificate's chain and its host name
  std::string ca_file = {};     // PEM; the system's authorities when empty
  std::string cert_file = {};   // PEM, with its chain; none when empty
  std::string key_file = {};    // PEM; cert_file when that has both
  std::string passphrase = {};  // of an encrypted key; never to be shown
  // For hints: what to do about the address of a server without TLS, "write redis:".
  std::string instead = {};
};

// tls_ca, tls_cert, tls_key and tls_verify, each with `prefix` before its name. Without tls_key the
// key is in the file of tls_cert. A file that can not be used is a problem of the address; it may
// be encrypted when there is a passphrase.
TlsOptions ReadTlsOptions(OptionReader& options, std::string_view prefix = "",
                          const std::string& passphrase = "");

// In the same words, for files that were good when the options were read: kSinkDown with the first
// that can not be used.
Status CheckTlsFiles(const TlsOptions& options);

}  // namespace outbox::sink
