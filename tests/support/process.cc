#include "tests/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace outbox::testing {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void Redirect(const std::string& path, int flags, int descriptor) {
  const int file = open(path.c_str(), flags, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
  close(file);
}

int ExitCode(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::unique_ptr<Process> Process::Start(const std::vector<std::string>& command,
                                        const ProcessOptions& options) {
  std::string folder = "/tmp/outbox-process.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return nullptr;
  std::ofstream(folder + "/in", std::ios::binary) << options.standard_input;

  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    if (options.dies_with_test) prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
    Redirect(folder + "/in", O_RDONLY, 0);
    Redirect(folder + "/out", O_WRONLY | O_CREAT | O_APPEND, 1);
    Redirect(folder + "/err", O_WRONLY | O_CREAT | O_APPEND, 2);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  std::unique_ptr<Process> process(new Process);
  process->pid_ = pid;
  process->folder_ = folder;
  return process;
}

Process::~Process() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Process::Signal(int signal) const {
  if (pid_ > 0 && !exit_code_) kill(pid_, signal);
}

bool Process::Running() { return !Wait(std::chrono::milliseconds(0)).has_value(); }

bool Process::Stopped() const {
  // "pid (name) state …"; the name may contain anything.
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end, 3, ") T") == 0;
}

std::optional<int> Process::Wait(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!exit_code_) {
    int status = 0;
    const pid_t done = waitpid(pid_, &status, WNOHANG);
    if (done == pid_) {
      exit_code_ = ExitCode(status);
    } else if (done < 0) {
      exit_code_ = -1;
    } else if (std::chrono::steady_clock::now() >= end) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  return exit_code_;
}

void Process::Kill() {
  if (exit_code_ || pid_ <= 0) return;
  kill(pid_, SIGKILL);
  kill(pid_, SIGCONT);
  Wait(std::chrono::seconds(30));
}

std::string Process::Output() const { return ReadFile(folder_ + "/out"); }
std::string Process::Errors() const { return ReadFile(folder_ + "/err"); }

Finished Process::Run(const std::vector<std::string>& command, const ProcessOptions& options) {
  const auto process = Start(command, options);
  Finished finished;
  if (process == nullptr) return finished;
  if (!process->Wait(options.timeout)) process->Kill();
  finished.exit_code = process->exit_code_.value_or(-1);
  finished.standard_output = process->Output();
  finished.standard_error = process->Errors();
  return finished;
}

}  // namespace outbox::testing
