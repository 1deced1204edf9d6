#include "tests/support/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kStartPatience{90};
constexpr std::chrono::seconds kStopPatience{30};

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void Replace(std::string& text, std::string_view what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

// Every thread of the process has stopped; the signal reaches them one after the other.
bool Stopped(pid_t pid) {
  std::error_code gone;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(task.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t name_end = stat.rfind(") ");
    if (name_end != std::string::npos && stat[name_end + 2] != 'T') return false;
  }
  return true;
}

}  // namespace

bool Accepts(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  const bool accepted =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return accepted;
}

std::unique_ptr<Server> Server::Start(Plan plan) {
  std::unique_ptr<Server> server(new Server(std::move(plan)));
  std::string folder = "/tmp/outbox-server.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return nullptr;
  server->folder_ = folder;
  for (const auto& [name, text] : server->plan_.files) {
    std::ofstream(folder + "/" + name) << server->Fill(text);
  }
  if (!server->StartAgain()) return nullptr;
  return server;
}

Server::~Server() {
  Kill();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Server::Fill(std::string text) const {
  Replace(text, "{port}", std::to_string(port()));
  Replace(text, "{folder}", folder_);
  return text;
}

bool Server::StartAgain() {
  ProcessOptions options{.dies_with_test = true};
  for (const auto& [name, value] : plan_.environment) options.environment[name] = Fill(value);
  std::vector<std::string> command;
  for (const std::string& word : plan_.command) command.push_back(Fill(word));
  process_ = Process::Start(command, options);
  const bool up = WaitFor(
      [&] {
        if (!process_->Running()) return true;
        return plan_.ready ? plan_.ready(port()) : Accepts(port());
      },
      kStartPatience);
  if (up && process_->Running()) return true;
  std::fprintf(stderr, "%s does not come up: %s\n", plan_.command.at(0).c_str(), Log().c_str());
  return false;
}

void Server::Stop() {
  Thaw();
  process_->Signal(SIGTERM);
  if (!process_->Wait(kStopPatience)) process_->Kill();
}

void Server::Kill() {
  if (process_ != nullptr) process_->Kill();
}

void Server::KillBetweenWrites() {
  Freeze();
  Kill();
}

void Server::Freeze() {
  process_->Signal(SIGSTOP);
  (void)WaitFor([&] { return Stopped(process_->pid()); });
}
void Server::Thaw() { process_->Signal(SIGCONT); }

std::string Server::Log() const { return process_->Output() + process_->Errors(); }

bool Installed(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
  for (const char* folder : {"/usr/bin/", "/usr/sbin/", "/usr/local/bin/"}) {
    if (access((folder + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace outbox::testing
