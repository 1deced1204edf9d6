// CountingRelay: stands between a client and a server on loopback, passes on what they say, and
// counts what the client has sent.
//
// Threads: one of its own; one connection at a time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "tests/support/listener.h"

namespace outbox::testing {

class CountingRelay {
 public:
  CountingRelay(const std::string& host, int port) {
    server_.sin_family = AF_INET;
    server_.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, host.c_str(), &server_.sin_addr);
    thread_ = std::thread([this] { Run(); });
  }
  ~CountingRelay() {
    stopping_ = true;
    listener_.Shutdown();
    thread_.join();
  }
  CountingRelay(const CountingRelay&) = delete;
  CountingRelay& operator=(const CountingRelay&) = delete;

  int port() const { return listener_.port(); }
  std::size_t sent() const { return sent_; }

 private:
  void Run() {
    for (int client = -1; (client = listener_.Accept()) >= 0;) {
      const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(server, reinterpret_cast<const sockaddr*>(&server_), sizeof server_) == 0) {
        Pass(client, server);
      }
      close(server);
      close(client);
    }
  }
  void Pass(int client, int server) {
    std::array<pollfd, 2> ends{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    while (!stopping_) {
      if (poll(ends.data(), ends.size(), 100) < 0) return;
      if (ends[0].revents != 0 && !Move(client, server, &sent_)) return;
      if (ends[1].revents != 0 && !Move(server, client, nullptr)) return;
    }
  }
  static bool Move(int from, int to, std::atomic<std::size_t>* count) {
    std::array<char, 16384> buffer;
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got <= 0) return false;
    if (count != nullptr) *count += static_cast<std::size_t>(got);
    for (ssize_t written = 0; written < got;) {
      const ssize_t now =
          send(to, buffer.data() + written, static_cast<std::size_t>(got - written), MSG_NOSIGNAL);
      if (now <= 0) return false;
      written += now;
    }
    return true;
  }

  const Listener listener_;
  sockaddr_in server_{};
  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> sent_ = 0;
  std::thread thread_;
};

}  // namespace outbox::testing
