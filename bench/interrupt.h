// Interrupt: turns Ctrl-C into a question that can be asked, so that a run ends between two
// measurements and its server and scratch databases go with it.
#pragma once

#include <signal.h>

namespace outbox::bench {

class Interrupt {
 public:
  // Watches SIGINT and SIGTERM while it lives. A second signal ends the process at once.
  Interrupt() noexcept {
    struct sigaction action {};
    action.sa_handler = [](int) { requested_ = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~Interrupt() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested() noexcept { return requested_ != 0; }

 private:
  static inline volatile sig_atomic_t requested_ = 0;
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

}  // namespace outbox::bench
