#include "tests/support/postgres.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/process.h"

namespace outbox::testing {
namespace {

constexpr const char* kScript = OUTBOX_TEST_SCRIPTS "/postgres.sh";

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string SharedPostgresUrl() {
  const char* value = std::getenv("OUTBOX_TEST_POSTGRES");
  if (value == nullptr) return "";
  const std::string text = value;
  return text.find("://") != std::string::npos ? text : FirstLine(text);
}

std::unique_ptr<PrivatePostgres> PrivatePostgres::Start(const std::string& extra_conf) {
  std::string pattern = "/tmp/outbox-pg.XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) return nullptr;
  std::filesystem::permissions(pattern, std::filesystem::perms(0755));
  std::unique_ptr<PrivatePostgres> server(new PrivatePostgres(pattern));
  const auto run = Process::Run({kScript, "start", pattern},
                                {.environment = {{"OUTBOX_TEST_POSTGRES_CONF", extra_conf}}});
  if (run.exit_code != 0) return nullptr;
  server->url_ = FirstLine(pattern + "/url");
  return server;
}

PrivatePostgres::~PrivatePostgres() {
  Stop("immediate");
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

int PrivatePostgres::port() const { return std::atoi(FirstLine(folder_ + "/port").c_str()); }

void PrivatePostgres::Stop(const std::string& mode) {
  Process::Run({kScript, "stop", folder_, mode});
}

void PrivatePostgres::StartAgain() { Process::Run({kScript, "start", folder_}); }

}  // namespace outbox::testing
