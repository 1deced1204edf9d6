// Child processes for tests: run one to its end, or hold one and send it signals.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace outbox::testing {

struct ProcessOptions {
  std::map<std::string, std::string> environment = {};  // added to the test's own
  std::string standard_input = {};
  std::chrono::seconds timeout{120};  // Run: killed after this long
  bool dies_with_test = false;        // killed when the thread that started it ends
};

struct Finished {
  int exit_code = -1;  // 128 + signal when killed by one
  std::string standard_output;
  std::string standard_error;
};

class Process {
 public:
  // Runs `command` to its end.
  static Finished Run(const std::vector<std::string>& command, const ProcessOptions& options = {});

  // Starts `command`; output goes to files that Output and Errors read.
  static std::unique_ptr<Process> Start(const std::vector<std::string>& command,
                                        const ProcessOptions& options = {});
  // Kills the process if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  bool Running();
  // True once a SIGSTOP has taken effect.
  bool Stopped() const;
  // Waits for the end; no value when it does not come in time.
  std::optional<int> Wait(std::chrono::milliseconds timeout);
  // SIGKILL and wait.
  void Kill();

  std::string Output() const;
  std::string Errors() const;

 private:
  Process() = default;

  pid_t pid_ = -1;
  std::optional<int> exit_code_;
  std::string folder_;
};

}  // namespace outbox::testing
