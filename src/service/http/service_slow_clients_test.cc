#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "service/http/test_server.h"

namespace outbox::service {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr int kSlow = 500;
// What the healthy client's 99th percentile may be, in milliseconds.
#if defined(OUTBOX_SANITIZED)
constexpr double kP99Max = 500;
#else
constexpr double kP99Max = 50;
#endif

// Sockets that never finish a request, each sending a byte now and then.
class SlowSockets {
 public:
  SlowSockets(std::uint16_t port, int count) {
    for (int i = 0; i < count; ++i) {
      sockets_.push_back({std::make_unique<TestClient>(port), SteadyClock::now(), {}});
      if (!sockets_.back().client->connected()) continue;
      // Half of them in the header, a quarter in a body, a quarter saying nothing.
      if (i % 4 == 0) {
        sockets_.back().client->Send(
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
      } else if (i % 4 != 1) {
        sockets_.back().client->Send("GET /hello HTTP/1.1\r\nHost: h\r\nX-Slow: ");
      }
    }
  }

  // One more byte each; notes who has been closed.
  void Drip() {
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      Slow& slow = sockets_[i];
      if (slow.lived.count() > 0) continue;
      if (slow.client->ClosedWithin(0ms) || (i % 4 != 1 && !slow.client->Send("x"))) {
        slow.lived = SteadyClock::now() - slow.since;
      }
    }
  }
  int open() const {
    return static_cast<int>(std::count_if(sockets_.begin(), sockets_.end(), [](const Slow& slow) {
      return slow.lived.count() == 0;
    }));
  }
  SteadyClock::duration longest() const {
    SteadyClock::duration longest{};
    for (const Slow& slow : sockets_) longest = std::max(longest, slow.lived);
    return longest;
  }

 private:
  struct Slow {
    std::unique_ptr<TestClient> client;
    SteadyClock::time_point since;
    SteadyClock::duration lived;
  };
  std::vector<Slow> sockets_;
};

double Milliseconds(SteadyClock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Asks every 2 ms until it is stopped.
class HealthyClient {
 public:
  explicit HealthyClient(std::uint16_t port) : thread_([this, port] { Run(port); }) {}
  ~HealthyClient() { Stop(); }

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    std::sort(times_.begin(), times_.end());
  }
  // After Stop.
  double Percentile(std::size_t percent) const { return times_[times_.size() * percent / 100]; }
  std::size_t requests() const { return times_.size(); }
  int failed() const { return failed_; }

 private:
  void Run(std::uint16_t port) {
    TestClient client(port);
    do {
      const auto began = SteadyClock::now();
      failed_ += client.Get("/hello").status == 200 ? 0 : 1;
      times_.push_back(Milliseconds(SteadyClock::now() - began));
      std::this_thread::sleep_for(2ms);
    } while (!stop_);
  }

  std::atomic<bool> stop_ = false;
  std::vector<double> times_;
  int failed_ = 0;
  std::thread thread_;
};

TEST(HttpSlowClients, FiveHundredAreClosedInTenSecondsAndHoldUpNobody) {
  TestServer server;
  TestServer quiet;  // what the machine is busy with holds up both
  SlowSockets slow(server.port(), kSlow);
  HealthyClient healthy(server.port());
  HealthyClient elsewhere(quiet.port());
  const auto began = SteadyClock::now();
  while (slow.open() > 0 && SteadyClock::now() - began < outbox::testing::kPatience) {
    slow.Drip();
    std::this_thread::sleep_for(50ms);
  }
  healthy.Stop();
  elsewhere.Stop();
  std::printf(
      "slow=%d open=%d longest_ms=%.0f healthy_requests=%zu p50_ms=%.2f p99_ms=%.2f "
      "p99_elsewhere_ms=%.2f\n",
      kSlow, slow.open(), Milliseconds(slow.longest()), healthy.requests(), healthy.Percentile(50),
      healthy.Percentile(99), elsewhere.Percentile(99));
  EXPECT_EQ(slow.open(), 0);
  EXPECT_EQ(healthy.failed(), 0);
  // A machine that is busy with other things is given more.
  EXPECT_LT(Milliseconds(slow.longest()), 15'000);
  EXPECT_LT(healthy.Percentile(99), std::max(kP99Max, 3 * elsewhere.Percentile(99)));
}

// The control: it is the limits that close them.
TEST(HttpSlowClients, WithoutLimitsTheyStay) {
  TestServer server({.limits = {.header_time = 1h, .request_time = 1h}});
  SlowSockets slow(server.port(), 20);
  for (int i = 0; i < 10; ++i) {
    slow.Drip();
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(slow.open(), 20);
}

}  // namespace
}  // namespace outbox::service
