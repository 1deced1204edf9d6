// PostgreSQL servers for tests: the one shared by a CTest run, and private ones that may be broken.
#pragma once

#include <memory>
#include <string>

namespace outbox::testing {

// The URL of the shared server, or an empty string when none was started. Tests then skip visibly;
// in CI (the environment has CI) a missing server is a failure.
std::string SharedPostgresUrl();

// A server of the test's own, to stop, crash and restart. Removed when destroyed.
class PrivatePostgres {
 public:
  // `extra_conf` is appended to postgresql.conf.
  static std::unique_ptr<PrivatePostgres> Start(const std::string& extra_conf = "");
  ~PrivatePostgres();
  PrivatePostgres(const PrivatePostgres&) = delete;
  PrivatePostgres& operator=(const PrivatePostgres&) = delete;

  const std::string& url() const { return url_; }
  const std::string& folder() const { return folder_; }
  int port() const;
  // "smart", "fast" or "immediate" (a crash: recovery follows at the next start).
  void Stop(const std::string& mode = "fast");
  void StartAgain();

 private:
  explicit PrivatePostgres(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::string url_;
};

}  // namespace outbox::testing

// Skips the test, visibly, when there is no PostgreSQL server; fails it in CI.
#define OUTBOX_REQUIRE_POSTGRES()                                                             \
  do {                                                                                        \
    if (::outbox::testing::SharedPostgresUrl().empty()) {                                     \
      if (std::getenv("CI") != nullptr) FAIL() << "no PostgreSQL server in CI";               \
      GTEST_SKIP() << "no PostgreSQL server: run through ctest, or set OUTBOX_TEST_POSTGRES"; \
    }                                                                                         \
  } while (false)
