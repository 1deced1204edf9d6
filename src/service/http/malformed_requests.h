// Requests that must not be understood: each is refused with 4xx or 501, or the connection closed.
// For the parser's and the server's tests, and where the fuzzer begins.
#pragma once

#include <string>
#include <vector>

namespace outbox::service {

struct Malformed {
  const char* why;
  std::string bytes;
};

inline std::vector<Malformed> MalformedRequests() {
  const std::string get = "GET / HTTP/1.1\r\nHost: h\r\n";
  const std::string post = "POST /echo HTTP/1.1\r\nHost: h\r\n";
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  return {
      {"no request line", "\r\n\r\n"},
      {"only noise", "\x01\x02\x03\x04\r\n\r\n"},
      {"a TLS hello on a plain port",
       std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15)},
      {"an SSH banner", "SSH-2.0-OpenSSH_9.2\r\n\r\n"},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"version missing", "GET /\r\n\r\n"},
      {"version of the future", "GET / HTTP/3.1\r\nHost: h\r\n\r\n"},
      {"version misspelt", "GET / HTTQ/1.1\r\nHost: h\r\n\r\n"},
      {"version with words", "GET / HTTP/one\r\nHost: h\r\n\r\n"},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"a space in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"no method", " / HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"method with a colon", "G:T / HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"bare line feeds", "GET / HTTP/1.1\nHost: h\n\n"},
      {"bare carriage returns", "GET / HTTP/1.1\rHost: h\r\r"},
      {"no host", "GET / HTTP/1.1\r\n\r\n"},
      {"two hosts", get + "Host: i\r\n\r\n"},
      {"two tokens", get + "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n"},
      {"field without a colon", get + "Nonsense\r\n\r\n"},
      {"field without a name", get + ": x\r\n\r\n"},
      {"space before the colon", get + "X-A : x\r\n\r\n"},
      {"control character in a name", get + "X\x01: x\r\n\r\n"},
      {"control character in a value", get + "X: a\x01z\r\n\r\n"},
      {"NUL in a value", get + std::string("X: a\0z\r\n\r\n", 10)},
      {"length that is no number", post + "Content-Length: five\r\n\r\nhello"},
      {"negative length", post + "Content-Length: -5\r\n\r\nhello"},
      {"length with a sign", post + "Content-Length: +5\r\n\r\nhello"},
      {"length in hex", post + "Content-Length: 0x5\r\n\r\nhello"},
      {"empty length", post + "Content-Length: \r\n\r\nhello"},
      {"length beyond 64 bits", post + "Content-Length: 18446744073709551621\r\n\r\nhello"},
      {"two lengths", post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"},
      {"the same length twice", post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"},
      {"lengths in a list", post + "Content-Length: 5, 6\r\n\r\nhello!"},
      {"length and chunks",
       post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"chunks and length",
       post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"},
      {"chunks twice",
       post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"chunks in HTTP/1.0", "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"an encoding that is not chunked",
       post + "Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n"},
      {"an encoding that hides", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"},
      {"chunked, but not last", post + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"},
      {"chunk size that is no number", chunked + "zz\r\nhello\r\n0\r\n\r\n"},
      {"negative chunk size", chunked + "-1\r\nhello\r\n0\r\n\r\n"},
      {"chunk size beyond 64 bits", chunked + "fffffffffffffffff\r\nhello\r\n0\r\n\r\n"},
      {"chunk longer than it says", chunked + "2\r\nhello\r\n0\r\n\r\n"},
      {"chunk extension broken", chunked + "2;=\r\nhe\r\n0\r\n\r\n"},
      {"target without a slash", "GET a HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"target is a star", "GET * HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"CONNECT", "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"going up", "GET /a/../../etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"going up, encoded", "GET /%2e%2e/etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"broken escape", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"cut escape", "GET /a%2 HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"NUL in the path", "GET /a%00 HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"line break in the path", "GET /a%0d%0aX: HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"path that is not UTF-8", "GET /%ff%fe HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"raw bytes in the path", "GET /\xc3\xa9 HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"broken escape in the query", "GET /hello?a=%g1 HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"NUL in the query", "GET /hello?a=%00 HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"an expectation nobody knows", post + "Expect: miracles\r\nContent-Length: 0\r\n\r\n"},
  };
}

}  // namespace outbox::service
