// What is wrong with the files that an address names for TLS, found before a connection needs them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sink/net/tls_options.h"

namespace outbox::sink {

struct TlsFileProblem {
  std::string_view option;  // "tls_ca"
  std::string what;         // "can not read /etc/ca.pem: No such file or directory"
  std::string remedy;
};

// At most one for each file. A file must be a regular one: every connection reads it anew.
std::vector<TlsFileProblem> FindTlsFileProblems(const TlsOptions& options);

}  // namespace outbox::sink
