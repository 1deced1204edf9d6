// Authority: who and where in `scheme://user:password@host:port,host:port/path`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "outbox/status.h"
#include "sink/uri.h"

namespace outbox::sink {

struct Endpoint {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without its brackets
  int port = 0;

  std::string ToString() const;  // "host:port", "[::1]:port"
};

struct Authority {
  std::string user;                 // percent-decoded, as is the password
  std::string password;             // never to be shown
  std::vector<Endpoint> endpoints;  // at least one
  std::string path;                 // after the first "/", percent-decoded; empty when absent
  bool has_path = false;            // "amqp://host/" has an empty one
};

// Of an address with `user:@`: whoever writes a colon means to give a password. `option` is the
// sink's option for it.
Status EmptyPassword(const SinkUri& uri, std::string_view option);

// The error names the part that is wrong and repeats nothing that may be a secret.
Result<Authority> ParseAuthority(const SinkUri& uri, int default_port);

}  // namespace outbox::sink
