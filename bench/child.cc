#include "bench/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"

namespace outbox::bench {
namespace {

using base::StrCat;

constexpr std::chrono::seconds kEndTimeout{15};

// Forks; the child's output goes to `output`, its errors to `errors`. Negative when there is no
// process.
pid_t Spawn(const std::vector<std::string>& command, int output, int errors) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execvp(argv[0], argv.data());
  _exit(127);
}

std::string ReadAll(int descriptor, const std::function<void(std::string_view)>& on_line) {
  std::string text;
  std::size_t line = 0;
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = read(descriptor, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (!on_line) continue;
    for (std::size_t end; (end = text.find('\n', line)) != std::string::npos; line = end + 1) {
      on_line(std::string_view(text).substr(line, end - line));
    }
  }
  return text;
}

}  // namespace

Finished RunChild(const std::vector<std::string>& command,
                  const std::function<void(std::string_view)>& on_line) {
  std::array<int, 2> pipe_ends;
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return {};
  const pid_t pid = Spawn(command, pipe_ends[1], STDERR_FILENO);
  close(pipe_ends[1]);
  Finished finished;
  if (pid > 0) {
    finished.output = ReadAll(pipe_ends[0], on_line);
    int status = 0;
    waitpid(pid, &status, 0);
    finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  close(pipe_ends[0]);
  return finished;
}

Result<std::unique_ptr<Child>> Child::Start(const std::vector<std::string>& command) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t pid = Spawn(command, nowhere, nowhere);
  close(nowhere);
  if (pid < 0) return Status::Retry(Code::kInternal, StrCat("can not start ", command.front()));
  return std::unique_ptr<Child>(new Child(pid));
}

Child::~Child() {
  kill(pid_, SIGTERM);
  const auto end = std::chrono::steady_clock::now() + kEndTimeout;
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

bool Child::Running() {
  siginfo_t info{};
  const int error = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return error == 0 && info.si_pid == 0;
}

std::chrono::duration<double> Child::CpuTime() const {
  // The first number of schedstat is nanoseconds on a CPU. The clock ticks of /proc/PID/stat would
  // miss most of what a process does that wakes up for a few microseconds at a time.
  std::chrono::nanoseconds total{0};
  std::error_code ignored;
  for (const auto& task :
       std::filesystem::directory_iterator(StrCat("/proc/", pid_, "/task"), ignored)) {
    std::int64_t nanoseconds = 0;
    std::ifstream(task.path() / "schedstat") >> nanoseconds;
    total += std::chrono::nanoseconds(nanoseconds);
  }
  return total;
}

double Child::ResidentMegabytes() const {
  std::ifstream file(StrCat("/proc/", pid_, "/statm"));
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

}  // namespace outbox::bench
