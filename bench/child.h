// Child processes: the relay whose idle cost is measured, the rivals, the private server's script.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/status.h"

namespace outbox::bench {

struct Finished {
  int exit_code = -1;  // 128 + signal when killed by one
  std::string output;
};

// Runs `command` to its end; its standard error goes where ours goes. `on_line` is called with each
// line of its output as soon as it is written, without the line break.
Finished RunChild(const std::vector<std::string>& command,
                  const std::function<void(std::string_view)>& on_line = nullptr);

// A process that runs until it is destroyed. Its output and errors are discarded.
class Child {
 public:
  static Result<std::unique_ptr<Child>> Start(const std::vector<std::string>& command);
  // Terminates it and waits.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool Running();
  // What its threads have used so far; those that ended do not count.
  std::chrono::duration<double> CpuTime() const;
  double ResidentMegabytes() const;

 private:
  explicit Child(pid_t pid) : pid_(pid) {}

  pid_t pid_;
};

}  // namespace outbox::bench
