// Server: a broker or other server of a test's own, on a free loopback port and in a folder of its
// own, to be stopped, killed, frozen and started again.
//
// Threads: used by one; the server dies with the thread that started it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/reserved_port.h"

namespace outbox::testing {

// True when something accepts connections there.
bool Accepts(int port);

class Server {
 public:
  struct Plan {
    // In each word and value, {port} and {folder} are replaced.
    std::vector<std::string> command;
    std::map<std::string, std::string> environment = {};
    // Whether it is up; accepting connections when not given.
    std::function<bool(int port)> ready = {};
    // Written to {folder}/NAME before the start.
    std::map<std::string, std::string> files = {};
  };

  // Null, with the reason on standard error, when the server does not come up.
  static std::unique_ptr<Server> Start(Plan plan);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_.number(); }
  const std::string& folder() const { return folder_; }

  void Stop();  // SIGTERM, and SIGKILL when that does not help
  void Kill();  // SIGKILL; may tear a write to a file in two
  // SIGKILL, once it stands still outside of the kernel: every write is whole.
  void KillBetweenWrites();
  // On the same port and folder, after Stop or Kill. False when it does not come up.
  bool StartAgain();
  // Frozen, it keeps its connections and answers nothing.
  void Freeze();
  void Thaw();
  std::string Log() const;

 private:
  explicit Server(Plan plan) : plan_(std::move(plan)) {}
  std::string Fill(std::string text) const;

  const Plan plan_;
  const ReservedPort port_;
  std::string folder_;
  std::unique_ptr<Process> process_;
};

// True when `program` is installed.
bool Installed(const std::string& program);

}  // namespace outbox::testing

// Skips the test, visibly, when a server's program is not installed; fails it in CI.
#define OUTBOX_REQUIRE_PROGRAM(program)                                           \
  do {                                                                            \
    if (!::outbox::testing::Installed(program)) {                                 \
      if (std::getenv("CI") != nullptr) FAIL() << program << " is missing in CI"; \
      GTEST_SKIP() << program << " is not installed: `make deps` brings it";      \
    }                                                                             \
  } while (false)
