// The NATS sink against servers that are slow or say nothing more at the wrong moment.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "base/text.h"
#include "sink/nats/connector.h"
#include "sink/nats/nats_sink.h"
#include "tests/conformance/nats_server.h"
#include "tests/conformance/sink_producer.h"
#include "tests/support/listener.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using testing::Messages;
using testing::Publish;
using testing::Soon;

constexpr const char* kInfo =
    R"(INFO {"server_id":"x","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576})"
    "\r\n";

// Says INFO to whoever connects, and then does what the test wants.
class FakeServer {
 public:
  // Returns when it is done with the connection, or is told to stop.
  using Behaviour = std::function<void(int connection, const std::atomic<bool>& stopped)>;

  FakeServer(std::string info, Behaviour behave)
      : info_(std::move(info)), behave_(std::move(behave)) {
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeServer() {
    stopped_ = true;
    listener_.Shutdown();
    thread_.join();
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  std::string address() const { return StrCat("127.0.0.1:", listener_.port()); }
  int connections() const { return connections_; }

 private:
  void Serve() {
    std::vector<std::thread> open;
    while (!stopped_) {
      const int connection = listener_.Accept();
      if (connection < 0) break;
      ++connections_;
      open.emplace_back([this, connection] {
        if (send(connection, info_.data(), info_.size(), MSG_NOSIGNAL) > 0) {
          behave_(connection, stopped_);
        }
        close(connection);
      });
    }
    for (std::thread& connection : open) connection.join();
  }

  const std::string info_;
  const Behaviour behave_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> connections_ = 0;
  const testing::Listener listener_{16 * 1024};
  std::thread thread_;
};

constexpr const char* kTlsInfo =
    R"(INFO {"server_id":"x","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576,)"
    R"("tls_required":true})"
    "\r\n";

void Stall(int, const std::atomic<bool>& stopped) {
  while (!stopped) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// How much of what comes after a login ReadSlowly has read.
std::atomic<std::size_t> read_slowly = 0;

// Answers the pings of a login, and then reads three megabytes a second at most and answers
// nothing.
void ReadSlowly(int connection, const std::atomic<bool>& stopped) {
  std::string bytes(64 * 1024, '\0');
  std::string login;
  for (int pings = 0; pings < 2;) {
    const ssize_t got = recv(connection, bytes.data(), bytes.size(), 0);
    if (got <= 0) return;
    login.append(bytes, 0, static_cast<std::size_t>(got));
    for (std::size_t at; (at = login.find("PING\r\n")) != std::string::npos; ++pings) {
      login.erase(0, at + 6);
      if (send(connection, "PONG\r\n", 6, MSG_NOSIGNAL) != 6) return;
    }
  }
  for (ssize_t got = 0; !stopped && (got = recv(connection, bytes.data(), bytes.size(), 0)) > 0;) {
    read_slowly += static_cast<std::size_t>(got);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::shared_ptr<Sink> Make(const std::string& uri) {
  return MakeNatsSink(SinkUri::Parse(uri).value()).value();
}

class Stopwatch {
 public:
  std::chrono::milliseconds elapsed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 start_);
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TEST(NatsFaults, ASlowServerHoldsACallNoLongerThanOneMessageBeyondItsDeadline) {
  const FakeServer server(kInfo, ReadSlowly);
  const auto sink = Make("nats://" + server.address());
  const auto messages = Messages(100, "\"" + std::string(500'000, 'x') + "\"");
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(testing::WaitFor([&] { return sink->Open(Soon()).ok(); }));
    const std::size_t before = read_slowly;
    const auto results = Publish(*sink, messages, Deadline::After(std::chrono::seconds(2)));
    // All of them are 50 megabytes, of which the server takes about three a second.
    EXPECT_LT(read_slowly - before, 25'000'000u);
    EXPECT_EQ(results.front().disposition(), Disposition::kInDoubt) << results.front().ToString();
    EXPECT_EQ(results.back().disposition(), Disposition::kSinkDown) << results.back().ToString();
    EXPECT_EQ(results.back().code(), Code::kDeadline);
  }
}

TEST(NatsFaults, ACallWaitsForItsTurnNoLongerThanItsDeadline) {
  auto server = std::make_unique<FakeServer>(kInfo, ReadSlowly);
  const auto sink = Make("nats://" + server->address());
  ASSERT_OK(sink->Open(Soon()));
  const auto messages = Messages(100, "\"" + std::string(500'000, 'x') + "\"");
  const std::size_t before = read_slowly;
  auto first = std::async(std::launch::async, [&] {
    return Publish(*sink, messages, Deadline::After(testing::kPatience));
  });
  ASSERT_TRUE(testing::WaitFor([&] { return read_slowly > before + 500'000; }));
  const auto results = Publish(*sink, Messages(2), Deadline::After(std::chrono::milliseconds(200)));
  EXPECT_NE(first.wait_for(std::chrono::seconds(0)), std::future_status::ready)
      << "it waited for the other to end";
  server.reset();  // which ends the other
  for (const Status& status : results) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  }
}

TEST(NatsFaults, AServerThatStallsInTheTlsHandshakeIsASinkThatIsDown) {
  for (const char* scheme : {"nats://", "natss://"}) {
    std::atomic<int> greeted = 0;
    const auto behave = [&](int connection, const std::atomic<bool>& stopped) {
      char first = 0;
      while (!stopped && recv(connection, &first, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      ++greeted;
      Stall(connection, stopped);
    };
    auto server = std::make_unique<FakeServer>(kTlsInfo, behave);
    const auto sink = Make(scheme + server->address());
    const auto expect_down = [&] {
      const Status status = sink->Open(Deadline::After(std::chrono::seconds(1)));
      EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
    };
    // On a busy machine the first may not get as far as the handshake.
    ASSERT_TRUE(testing::WaitFor([&] {
      expect_down();
      return greeted > 0;
    }));
    const int connections = server->connections();
    const Stopwatch watch;
    for (int round = 0; round < 3; ++round) expect_down();
    for (const Status& status : Publish(*sink, Messages(2))) {
      EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
    }
    // Less than the time that the last call had.
    EXPECT_LT(watch.elapsed(), std::chrono::seconds(25));
    EXPECT_EQ(server->connections(), connections);  // and one thread hangs
    // Which must end before the program does.
    server.reset();
    EXPECT_TRUE(testing::WaitFor([] { return NatsAttemptsUnderWay() == 0; }));
  }
}

TEST(NatsFaults, AServerThatStalledIsTriedAgainWhenItsConnectionHasEnded) {
  std::atomic<bool> stalls = true;
  const FakeServer server(kTlsInfo, [&](int connection, const std::atomic<bool>& stopped) {
    while (stalls && !stopped) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    (void)connection;
  });
  const auto sink = Make("nats://" + server.address());
  EXPECT_FALSE(sink->Open(Deadline::After(std::chrono::milliseconds(200))).ok());
  stalls = false;
  EXPECT_TRUE(testing::WaitFor([&] {
    EXPECT_FALSE(sink->Open(Soon()).ok());
    return server.connections() > 1;
  }));
}

TEST(NatsFaults, AServerThatStallsDoesNotKeepFromTheNextOne) {
  OUTBOX_REQUIRE_PROGRAM("nats-server");
  const auto good = testing::NatsServer::Start();
  ASSERT_NE(good, nullptr);
  auto stalled = std::make_unique<FakeServer>(kTlsInfo, Stall);
  const auto sink = Make(StrCat("nats://app:secret@", stalled->address(), ",", good->address()));
  for (int round = 0; round < 2; ++round) {
    EXPECT_OK(sink->Open(Soon()));
  }
  // What hangs must end before the program does.
  stalled.reset();
  EXPECT_TRUE(testing::WaitFor([] { return NatsAttemptsUnderWay() == 0; }));
}

}  // namespace
}  // namespace outbox::sink
