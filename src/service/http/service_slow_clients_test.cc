#include <gtest/gtest.h>

#include <algorithm>

#include "service/http/file_limit.h"
#include "service/http/test_server.h"

namespace outbox::service {
namespace {

using outbox::testing::WaitFor;
using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr int kSlow = 500;

// Sockets that never finish a request, each sending a byte now and then.
class SlowSockets {
 public:
  SlowSockets(std::uint16_t port, int count) {
    for (int i = 0; i < count; ++i) {
      sockets_.push_back({std::make_unique<TestClient>(port)});
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
      if (slow.closed) continue;
      slow.closed = slow.client->ClosedWithin(0ms) || (i % 4 != 1 && !slow.client->Send("x"));
    }
  }
  int open() const {
    return static_cast<int>(std::count_if(sockets_.begin(), sockets_.end(),
                                          [](const Slow& slow) { return !slow.closed; }));
  }

 private:
  struct Slow {
    std::unique_ptr<TestClient> client;
    bool closed = false;
  };
  std::vector<Slow> sockets_;
};

double MillisecondsSince(SteadyClock::time_point began) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - began).count();
}

// The times are printed for the reader; what else the machine does decides them too.
class HttpSlowClients : public ::testing::Test {
 protected:
  static constexpr Limits kNoHurry{.header_time = 1h, .request_time = 1h, .idle_time = 1h};

  // Both ends of each connection are here.
  void SetUp() override { ASSERT_GE(RaiseFileLimit(3 * kSlow), 2u * kSlow + 100); }
};

// Time to send a byte is far shorter than the limits: if each gave more of it, none would end.
TEST_F(HttpSlowClients, FiveHundredAreClosedAfterTenSecondsHoweverTheyDrip) {
  EXPECT_LE(std::max(Limits{}.header_time, Limits{}.request_time), 10s);
  TestServer server;
  TestServer patient({.limits = kNoHurry});
  SlowSockets slow(server.port(), kSlow);
  SlowSockets control(patient.port(), 4);  // one of each kind
  TestClient healthy(server.port());
  const auto began = SteadyClock::now();
  int failed = 0;
  EXPECT_TRUE(WaitFor([&] {
    slow.Drip();
    control.Drip();
    failed += healthy.Get("/hello").status == 200 ? 0 : 1;
    return slow.open() == 0;
  })) << slow.open()
      << " are open";
  std::printf("slow=%d open=%d ms=%.0f\n", kSlow, slow.open(), MillisecondsSince(began));
  EXPECT_EQ(failed, 0);
  // It is the limits that close them.
  EXPECT_EQ(control.open(), 4);
}

// They stay until the end: an answer that waited for one of them would never come.
TEST_F(HttpSlowClients, FiveHundredThatStayHoldUpNobody) {
  constexpr int kRequests = 200;
  TestServer server({.limits = kNoHurry});
  SlowSockets slow(server.port(), kSlow);
  EXPECT_TRUE(WaitFor([&] { return server.server->counts().connections == kSlow; }));
  TestClient healthy(server.port());
  std::vector<double> times;
  for (int i = 0; i < kRequests; ++i) {
    slow.Drip();
    const auto began = SteadyClock::now();
    ASSERT_EQ(healthy.Get("/hello").status, 200) << "after " << i;
    times.push_back(MillisecondsSince(began));
  }
  std::sort(times.begin(), times.end());
  std::printf("slow=%d open=%d p50_ms=%.2f p99_ms=%.2f\n", kSlow, slow.open(), times[kRequests / 2],
              times[kRequests * 99 / 100]);
  EXPECT_EQ(slow.open(), kSlow);
}

}  // namespace
}  // namespace outbox::service
