// Who gets a connection when there are as many as there may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/http/client_address.h"
#include "service/http/connections.h"
#include "service/http/file_limit.h"
#include "service/http/test_server.h"

namespace outbox::service {
namespace {

using outbox::testing::kPatience;
using outbox::testing::WaitFor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

// Long enough that no limit of time closes anything.
Limits Patient(std::size_t connections) {
  Limits limits{.header_time = 1h, .request_time = 1h, .write_time = 1h, .idle_time = 1h};
  limits.linger_time = 1h;
  limits.connections_max = connections;
  return limits;
}

TEST(HttpRoom, WhoHasWaitedLongestMakesRoomForTheNext) {
  TestServer server({.limits = Patient(3)});
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.port()));
    EXPECT_EQ(clients.back()->Get("/hello").status, 200);
  }
  EXPECT_EQ(clients[0]->Get("/hello").status, 200);  // now the second has waited longest
  TestClient next(server.port());
  EXPECT_EQ(next.Get("/hello").status, 200);
  EXPECT_TRUE(clients[1]->ClosedWithin(kPatience));
  for (const int i : {0, 2}) EXPECT_EQ(clients[i]->Get("/hello").status, 200) << i;
  EXPECT_EQ(server.server->counts().displaced, 1u);
  EXPECT_EQ(server.server->counts().refused, 0u);
}

// However one may wait for a client: each of them would stay for an hour.
TEST(HttpRoom, NobodyWhoOnlyHoldsAConnectionKeepsItFromOthers) {
  const std::vector<std::pair<const char*, std::string>> holders{
      {"silence", ""},
      {"half a header", "GET /hello HTTP/1.1\r\nX-Slow: "},
      {"half a body", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nx"},
      {"an answer that is not taken", "GET /large HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"a body that was refused",
       "POST /nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nx"}};
  for (const auto& [why, bytes] : holders) {
    SCOPED_TRACE(why);
    TestServer server({.limits = Patient(2)});
    TestClient one(server.port(), 4096), two(server.port(), 4096);
    for (TestClient* client : {&one, &two}) ASSERT_TRUE(client->Send(bytes));
    if (why == std::string("a body that was refused")) {
      for (TestClient* client : {&one, &two}) EXPECT_EQ(client->Read().status, 404);
    }
    // What is on its way is worked on at first, and whoever comes then may be turned away.
    EXPECT_TRUE(WaitFor([&] {
      TestClient next(server.port());
      return next.Get("/hello").status == 200;
    }));
    EXPECT_GE(server.server->counts().displaced, 1u);
  }
}

TEST(HttpRoom, ARequestThatIsWorkedOnIsFinished) {
  TestServer server({.limits = Patient(2)});
  TestClient one(server.port()), two(server.port());
  for (TestClient* client : {&one, &two}) {
    ASSERT_TRUE(client->Send("GET /gate HTTP/1.1\r\nHost: h\r\n\r\n"));
  }
  ASSERT_TRUE(WaitFor([&] { return server.gate->waiting() == 2; }));
  TestClient refused(server.port());
  const TestReply reply = refused.Read();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.header("retry-after"), "1");
  EXPECT_TRUE(refused.ClosedWithin(kPatience));
  EXPECT_EQ(server.server->counts().refused, 1u);
  server.gate->Open();
  for (TestClient* client : {&one, &two}) EXPECT_EQ(client->Read().status, 200);
  TestClient welcome(server.port());
  EXPECT_EQ(welcome.Get("/hello").status, 200) << "one of the two has only waited since";
}

TEST(HttpRoom, AThousandThatDoNothingKeepNobodyOut) {
  constexpr std::size_t kMany = 1024;
  ASSERT_GE(RaiseFileLimit(3 * kMany), 2 * kMany + 100);  // both ends are here
  Limits limits = Patient(kMany);
  limits.connections_per_address_max = kMany / 2;
  TestServer server({.limits = limits});
  std::vector<std::unique_ptr<TestClient>> idle;
  for (std::size_t i = 0; i < kMany; ++i) {
    idle.push_back(std::make_unique<TestClient>(server.port()));
    ASSERT_TRUE(idle.back()->connected()) << i;
  }
  ASSERT_TRUE(WaitFor([&] {
    const ServerCounts counts = server.server->counts();
    return counts.connections == kMany / 2 && counts.displaced + counts.refused == kMany / 2;
  }));
  for (int i = 0; i < 50; ++i) {
    TestClient client(server.port());
    ASSERT_EQ(client.Get("/hello").status, 200) << i;
  }
  EXPECT_LE(server.server->counts().connections, kMany / 2 + Connections::kLeavingMax);
}

// --- the count itself ---

class Standing final : public Stoppable {
 public:
  void BeginStop() override {}
  void Abort() override {}
  void MakeRoom() override { ++told; }
  int told = 0;
};

class ConnectionsTest : public ::testing::Test {
 protected:
  struct Open {
    std::shared_ptr<Standing> connection = std::make_shared<Standing>();
    Connections::Ticket ticket;
  };

  // False: there was no room.
  bool Come(Connections& connections, const std::string& client, bool waits = true) {
    auto ticket = connections.Admit(client);
    if (!ticket) return false;
    open_.push_back(std::make_unique<Open>(Open{.ticket = *std::move(ticket)}));
    open_.back()->ticket.Register(open_.back()->connection);
    open_.back()->ticket.SetWaiting(waits);
    return true;
  }
  // Which were told to make room, in the order of their coming.
  std::vector<std::size_t> Told() const {
    std::vector<std::size_t> told;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i] != nullptr && open_[i]->connection->told > 0) told.push_back(i);
    }
    return told;
  }

  std::vector<std::unique_ptr<Open>> open_;
};

TEST_F(ConnectionsTest, AClientThatHasManyMakesRoomForItself) {
  Connections connections(10, 2);
  for (const char* client : {"a", "b", "b"}) EXPECT_TRUE(Come(connections, client));
  EXPECT_TRUE(Come(connections, "b"));
  EXPECT_THAT(Told(), ElementsAre(1)) << "not a's, though that has waited longer";
  open_[2]->ticket.SetWaiting(false);
  open_[3]->ticket.SetWaiting(false);
  EXPECT_FALSE(Come(connections, "b"));
  EXPECT_TRUE(Come(connections, "a"));
  EXPECT_THAT(Told(), ElementsAre(1));
  open_[3].reset();
  EXPECT_TRUE(Come(connections, "b")) << "one is gone";
  EXPECT_THAT(Told(), ElementsAre(1));
  open_.clear();
}

TEST_F(ConnectionsTest, OneThatLeavesIsNotCountedAndNotTold) {
  Connections connections(1, 1);
  ASSERT_TRUE(Come(connections, "a"));
  ASSERT_TRUE(Come(connections, "a", false));
  open_[0]->ticket.SetWaiting(true);  // it is told once
  EXPECT_FALSE(Come(connections, "a"));
  EXPECT_FALSE(Come(connections, "b"));
  open_[0].reset();
  EXPECT_FALSE(Come(connections, "a")) << "its place was taken when it was told to leave";
  open_[1].reset();
  EXPECT_TRUE(Come(connections, "b"));
  EXPECT_THAT(Told(), IsEmpty());
  open_.clear();
  EXPECT_EQ(connections.count(), 0u);
}

TEST_F(ConnectionsTest, ThoseThatLeaveAreBoundedToo) {
  constexpr std::size_t kMax = 100;
  Connections connections(kMax, 0);
  std::size_t let_in = 0;
  for (std::size_t i = 0; i < 10 * kMax; ++i) {
    let_in += Come(connections, std::to_string(i)) ? 1 : 0;
  }
  EXPECT_EQ(let_in, kMax + Connections::kLeavingMax);
  EXPECT_EQ(connections.count(), let_in);
  EXPECT_EQ(connections.refused(), 10 * kMax - let_in);
  EXPECT_EQ(Told().size(), Connections::kLeavingMax);
  open_.clear();
}

TEST(ClientAddress, IsTheSameHoweverItIsWritten) {
  for (const auto& [address, client] :
       std::vector<std::pair<std::string, std::string>>{{"192.0.2.7", "192.0.2.7"},
                                                        {"::ffff:192.0.2.7", "192.0.2.7"},
                                                        {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"},
                                                        {"2001:db8:1:2::", "2001:db8:1:2::"},
                                                        {"2001:db8:1:3::1", "2001:db8:1:3::"},
                                                        {"fe80::1%eth0", "fe80::"},
                                                        {"::1", "::"},
                                                        {"", ""}}) {
    EXPECT_EQ(ClientOf(address), client) << address;
  }
  EXPECT_EQ(ClientOfPeer("192.0.2.7:80"), "192.0.2.7");
  EXPECT_EQ(ClientOfPeer("[2001:db8:1:2:3:4:5:6]:80"), "2001:db8:1:2::");
}

}  // namespace
}  // namespace outbox::service
