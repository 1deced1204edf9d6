// Terminal: a full-screen view on the alternate screen, and the keys typed meanwhile.
//
// Whatever ends the process, the terminal is as it was: the destructor restores it, and so do
// handlers for the signals that kill. SIGINT, SIGTERM and SIGHUP only ask to quit.
//
// Threads: one instance in a process, used by one thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "demo/view.h"
#include "outbox/status.h"

namespace outbox::demo {

class Terminal {
 public:
  // Fails when standard input or output is not a terminal.
  static Result<std::unique_ptr<Terminal>> Open();
  // Restores the terminal and the signals.
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ScreenSize Size() const;
  // Shows `lines` from the top; sends only those that changed.
  void Draw(const std::vector<std::string>& lines, ScreenSize size);
  // The next key, or no value when none is typed within `wait`. Control-C, and an input that has
  // ended, are 'q'.
  std::optional<char> ReadKey(std::chrono::milliseconds wait);

 private:
  Terminal() = default;

  std::vector<std::string> shown_;
  ScreenSize shown_size_{0, 0};
};

// True once SIGINT, SIGTERM or SIGHUP came in.
bool QuitRequested() noexcept;

// Turns SIGINT, SIGTERM and SIGHUP into QuitRequested, until destroyed.
class QuitSignals {
 public:
  QuitSignals();
  ~QuitSignals();
  QuitSignals(const QuitSignals&) = delete;
  QuitSignals& operator=(const QuitSignals&) = delete;
};

}  // namespace outbox::demo
