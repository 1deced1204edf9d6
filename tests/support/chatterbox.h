// Chatterbox: a server that says its words as soon as it is connected to, and then only listens.
// For those who expect a server to speak something else.
//
// Threads: one of its own takes the connections, one after the other.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>

#include "tests/support/listener.h"

namespace outbox::testing {

class Chatterbox {
 public:
  explicit Chatterbox(std::string words)
      : thread_([this, words = std::move(words)] {
          for (int fd = -1; (fd = listener_.Accept()) >= 0; close(fd)) {
            (void)send(fd, words.data(), words.size(), MSG_NOSIGNAL);
            char byte = 0;
            while (recv(fd, &byte, 1, 0) > 0) {
            }
          }
        }) {}
  ~Chatterbox() {
    listener_.Shutdown();
    thread_.join();
  }
  Chatterbox(const Chatterbox&) = delete;
  Chatterbox& operator=(const Chatterbox&) = delete;

  int port() const { return listener_.port(); }

 private:
  Listener listener_;
  std::thread thread_;
};

}  // namespace outbox::testing
