// Terminal: a program on a pseudo terminal, for what it says and asks only there.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace outbox::testing {

class Terminal {
 public:
  // As wide as terminals come, or `columns`.
  explicit Terminal(const std::vector<std::string>& command, int columns = 0);
  // Kills the program if it still runs.
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Reads until `text` has been printed; false when it was not in time.
  bool WaitFor(std::string_view text, std::chrono::seconds timeout = std::chrono::seconds(60));
  void Type(std::string_view keys) const;
  // Reads until the program ends; its exit code, -1 when it does not end in time.
  int Wait(std::chrono::seconds timeout = std::chrono::seconds(60));

  // Everything printed so far.
  const std::string& screen() const { return screen_; }

 private:
  // False at the end of the output, or when `until` has passed.
  bool Read(std::chrono::steady_clock::time_point until);

  int fd_ = -1;
  pid_t pid_ = -1;
  std::string screen_;
};

}  // namespace outbox::testing
