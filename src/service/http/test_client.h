// TestClient: a blocking HTTP client over a raw socket, for tests that say what is on the wire.
// Every wait ends after kPatience at the latest.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "tests/support/wait.h"

namespace outbox::service {

struct TestReply {
  int status = 0;                              // 0: the connection ended before there was one
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class TestClient {
 public:
  explicit TestClient(std::uint16_t port, int receive_bytes = 0) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_bytes > 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    const timeval patience{.tv_sec = outbox::testing::kPatience.count(), .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~TestClient() {
    ssl_.reset();
    close(fd_);
  }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool connected() const { return connected_; }
  int fd() const { return fd_; }

  // Trusts only what is in `ca_file`. `version_max` 0: the newest.
  bool StartTls(const std::string& ca_file, int version_max = 0, const char* ciphers = nullptr) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (version_max != 0) {
      SSL_CTX_set_security_level(context_.get(), 0);
      SSL_CTX_set_max_proto_version(context_.get(), version_max);
    }
    if (ciphers != nullptr) SSL_CTX_set_cipher_list(context_.get(), ciphers);
    SSL_CTX_load_verify_locations(context_.get(), ca_file.c_str(), nullptr);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), fd_);
    return SSL_connect(ssl_.get()) == 1;
  }

  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ssl_ != nullptr
                            ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                            : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void EndSending() { shutdown(fd_, SHUT_WR); }

  TestReply Get(const std::string& target, const std::string& fields = "") {
    Send("GET " + target + " HTTP/1.1\r\nHost: test\r\n" + fields + "\r\n");
    return Read();
  }
  TestReply Post(const std::string& target, const std::string& body,
                 const std::string& fields = "") {
    Send("POST " + target + " HTTP/1.1\r\nHost: test\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + fields + "\r\n" + body);
    return Read();
  }

  // One answer; what follows it stays for the next.
  TestReply Read(bool head_only = false) {
    TestReply reply;
    const std::string head = ReadUntil("\r\n\r\n");
    if (!head.starts_with("HTTP/1.1 ")) return reply;
    reply.status = std::atoi(head.c_str() + 9);
    for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const std::size_t end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return std::tolower(c); });
      reply.headers[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    const std::size_t size =
        head_only ? 0
                  : static_cast<std::size_t>(std::atoll(reply.header("content-length").c_str()));
    while (pending_.size() < size && Fill()) {
    }
    reply.body = pending_.substr(0, size);
    pending_.erase(0, reply.body.size());
    return reply;
  }

  // Up to and with `marker`; shorter when the connection ends before.
  std::string ReadUntil(std::string_view marker) {
    std::size_t found = pending_.find(marker);
    while (found == std::string::npos) {
      const std::size_t seen = pending_.size();
      if (!Fill()) break;
      found = pending_.find(marker, seen - std::min(seen, marker.size()));
    }
    const std::size_t size = found == std::string::npos ? pending_.size() : found + marker.size();
    std::string text = pending_.substr(0, size);
    pending_.erase(0, size);
    return text;
  }

  // Everything until the other side closes.
  std::string ReadToEnd() {
    while (Fill()) {
    }
    return std::exchange(pending_, {});
  }

  // True when the other side has closed, now or within `patience`. What it sends before is read.
  bool ClosedWithin(std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (true) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
      const int ready =
          poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
      if (ready == 0) return false;
      if (!Fill()) return true;
    }
  }

 private:
  bool Fill() {
    char bytes[16384];
    const auto got = ssl_ != nullptr ? SSL_read(ssl_.get(), bytes, sizeof bytes)
                                     : recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    pending_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  int fd_ = -1;
  bool connected_ = false;
  base::UniqueHandle<SSL_CTX, SSL_CTX_free> context_;
  base::UniqueHandle<SSL, SSL_free> ssl_;
  std::string pending_;
};

}  // namespace outbox::service
