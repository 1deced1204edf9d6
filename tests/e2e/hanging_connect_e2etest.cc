// The program ends in good order while a sink's thread hangs in connecting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/support/listener.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using std::chrono::seconds;

// Takes connections, says `greeting` to each and nothing more, until it hangs up on all.
class SilentServer {
 public:
  explicit SilentServer(std::string greeting = {}) : greeting_(std::move(greeting)) {
    thread_ = std::thread([this] {
      for (int taken = -1; (taken = listener_.Accept()) >= 0;) {
        (void)!send(taken, greeting_.data(), greeting_.size(), MSG_NOSIGNAL);
        const std::lock_guard lock(mutex_);
        taken_.push_back(taken);
      }
    });
  }
  ~SilentServer() {
    listener_.Shutdown();
    thread_.join();
    HangUp();
  }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  std::string address() const { return base::StrCat("127.0.0.1:", listener_.port()); }
  bool Reached() {
    const std::lock_guard lock(mutex_);
    return !taken_.empty();
  }
  void HangUp() {
    const std::lock_guard lock(mutex_);
    for (const int taken : taken_) close(taken);
    taken_.clear();
  }

 private:
  const std::string greeting_;
  const Listener listener_;
  std::mutex mutex_;
  std::vector<int> taken_;  // guarded by mutex_
  std::thread thread_;
};

constexpr const char* kWantsTls =
    R"(INFO {"server_id":"x","version":"2.9.0","max_payload":1048576,"tls_required":true})"
    "\r\n";

// The client's TLS handshake with NATS has no deadline: its thread is left behind. When its server
// hangs up while the process is ending, the thread goes on in a library that was torn down.
TEST(HangingConnect, AThreadThatIsLeftInATlsHandshakeDoesNotCrashTheEnd) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kSqlite);
  SilentServer server(kWantsTls);
  const auto relay = stage->StartRelay(
      "relay", {"--sink", base::StrCat("nats://", server.address(), "?subject=x")},
      {.environment = {{"LD_PRELOAD", LATE_EXIT_PATH},
                       {"ASAN_OPTIONS", "verify_asan_link_order=0"}}});
  ASSERT_TRUE(WaitFor([&] {
    return relay->Errors().find("the sink does not answer yet") != std::string::npos;
  })) << relay->Errors();
  ASSERT_TRUE(server.Reached());
  relay->Signal(SIGTERM);
  ASSERT_TRUE(WaitFor(
      [&] { return !relay->Running() || relay->Errors().find("late exit") != std::string::npos; }));
  server.HangUp();
  EXPECT_EQ(relay->Wait(kPatience), 0) << relay->Errors();
}

TEST(HangingConnect, ASignalEndsTheProgramWhileASinkConnects) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kSqlite);
  for (const char* sink : {"nats://%?subject=x", "natss://%?subject=x", "amqp://%/%2F?exchange=x",
                           "redis://%?stream=x", "rediss://%?stream=x", "kafka://%?topic=x"}) {
    SilentServer server;
    std::string uri = sink;
    uri.replace(uri.find('%'), 1, server.address());
    const auto relay = stage->StartRelay("relay", {"--sink", uri, "--shutdown-timeout", "1s"});
    ASSERT_TRUE(WaitFor([&] { return server.Reached(); })) << sink << relay->Errors();
    relay->Signal(SIGTERM);
    EXPECT_EQ(relay->Wait(kPatience), 0) << sink << relay->Errors();
  }
}

}  // namespace
}  // namespace outbox::testing
