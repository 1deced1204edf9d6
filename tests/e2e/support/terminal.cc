#include "tests/e2e/support/terminal.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace outbox::testing {

using std::chrono::steady_clock;

Terminal::Terminal(const std::vector<std::string>& command, int columns) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  pid_ = forkpty(&fd_, nullptr, nullptr, columns == 0 ? nullptr : &size);
  if (pid_ == 0) {
    execvp(argv[0], argv.data());
    _exit(127);
  }
}

Terminal::~Terminal() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (fd_ >= 0) close(fd_);
}

bool Terminal::Read(steady_clock::time_point until) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now()).count();
  pollfd entry{fd_, POLLIN, 0};
  if (left <= 0 || poll(&entry, 1, static_cast<int>(left)) <= 0) return false;
  std::array<char, 4096> buffer;
  const ssize_t got = read(fd_, buffer.data(), buffer.size());
  if (got <= 0) return false;
  screen_.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

bool Terminal::WaitFor(std::string_view text, std::chrono::seconds timeout) {
  const auto until = steady_clock::now() + timeout;
  while (screen_.find(text) == std::string::npos) {
    if (!Read(until)) return false;
  }
  return true;
}

void Terminal::Type(std::string_view keys) const {
  if (write(fd_, keys.data(), keys.size()) < 0) perror("terminal");
}

int Terminal::Wait(std::chrono::seconds timeout) {
  const auto until = steady_clock::now() + timeout;
  while (Read(until)) {
  }
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (steady_clock::now() >= until) return -1;
    usleep(2000);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace outbox::testing
