// What is worth telling of a TLS session, whoever has made it.
#pragma once

#include <openssl/ssl.h>

#include <string>

namespace outbox::sink {

// After the handshake: "TLSv1.3, certificate of mq.example by Example CA until 2027-03-01". One
// that was not verified is called so.
std::string DescribeTls(const SSL* session);

}  // namespace outbox::sink
