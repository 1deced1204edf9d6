// A sink that feeds several streams of a cluster, one of which has lost its leader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nats/nats.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/handle.h"
#include "base/text.h"
#include "sink/nats/nats_sink.h"
#include "tests/conformance/sink_producer.h"
#include "tests/support/matchers.h"
#include "tests/support/reserved_port.h"
#include "tests/support/server.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using testing::Messages;
using testing::Publish;
using testing::ReservedPort;
using testing::Server;
using testing::WaitFor;

constexpr std::size_t kNodes = 3;
constexpr std::int64_t kAnswerMs = 5'000;

// A connection to one node, for questions.
class Client {
 public:
  explicit Client(int port) {
    natsConnection* made = nullptr;
    if (natsConnection_ConnectTo(&made, StrCat("nats://127.0.0.1:", port).c_str()) != NATS_OK) {
      return;
    }
    connection_.reset(made);
    jsOptions options;
    jsOptions_Init(&options);
    options.Wait = kAnswerMs;
    jsCtx* context = nullptr;
    natsConnection_JetStream(&context, made, &options);
    js_.reset(context);
  }

  bool AddStream(const char* name, const char* subject, std::int64_t replicas) const {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = name;
    const char* subjects[] = {subject};
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Replicas = replicas;
    jsStreamInfo* info = nullptr;
    const natsStatus status = js_AddStream(&info, js_.get(), &config, nullptr, nullptr);
    jsStreamInfo_Destroy(info);
    return status == NATS_OK;
  }

  // Its leader first. Empty when nobody says.
  std::vector<std::string> NodesOf(const char* name) const {
    std::vector<std::string> nodes;
    jsStreamInfo* info = nullptr;
    if (js_GetStreamInfo(&info, js_.get(), name, nullptr, nullptr) != NATS_OK) return nodes;
    if (info->Cluster != nullptr && info->Cluster->Leader != nullptr) {
      nodes.emplace_back(info->Cluster->Leader);
      for (int i = 0; i < info->Cluster->ReplicasLen; ++i) {
        nodes.emplace_back(info->Cluster->Replicas[i]->Name);
      }
    }
    jsStreamInfo_Destroy(info);
    return nodes;
  }

 private:
  base::UniqueHandle<natsConnection, natsConnection_Destroy> connection_;
  base::UniqueHandle<jsCtx, jsCtx_Destroy> js_;
};

class NatsCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_PROGRAM("nats-server");
    std::string routes;
    for (const ReservedPort& port : ports_) {
      routes +=
          StrCat(routes.empty() ? "" : ", ", "\"nats-route://127.0.0.1:", port.number(), "\"");
    }
    for (std::size_t i = 0; i < kNodes; ++i) {
      nodes_[i] = Server::Start(
          {.command = {"nats-server", "-c", "{folder}/nats.conf"},
           .files = {
               {"nats.conf", StrCat("listen: 127.0.0.1:{port}\nserver_name: n", i,
                                    "\njetstream { store_dir: \"{folder}/store\" }\n",
                                    "cluster { name: c, listen: \"127.0.0.1:", ports_[i].number(),
                                    "\", routes: [ ", routes, "] }\n")}}});
      ASSERT_NE(nodes_[i], nullptr);
    }
  }

  // Once the cluster has a leader.
  bool AddStream(const char* name, const char* subject, std::int64_t replicas) {
    return WaitFor([&] { return Client(nodes_[0]->port()).AddStream(name, subject, replicas); });
  }
  std::vector<std::string> NodesOf(const char* name) {
    std::vector<std::string> found;
    WaitFor([&] {
      found = Client(nodes_[0]->port()).NodesOf(name);
      return !found.empty();
    });
    return found;
  }
  Server& Node(const std::string& name) { return *nodes_.at(name.at(1) - '0'); }

  std::shared_ptr<Sink> SinkAt(const std::string& node) {
    return MakeNatsSink(
               SinkUri::Parse(StrCat("nats://127.0.0.1:", Node(node).port(), "?subject={topic}"))
                   .value())
        .value();
  }

  // Messages to both, the one without a leader in front and in between.
  static std::vector<Status> PublishToBoth(Sink& sink) {
    auto messages = Messages(6);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      messages[i].topic = i % 2 == 0 ? "away.a" : "there.a";
    }
    return Publish(sink, messages);
  }
  // Until the stream AWAY is given up by its remaining node, which then hears its subject no more.
  static bool AwaitNoLeader(Sink& sink) {
    return WaitFor([&] {
      auto messages = Messages(1);
      messages[0].topic = "away.a";
      std::vector<Status> results(1, Status::NotAttempted());
      sink.Publish(messages, results, Deadline::After(std::chrono::seconds(2)));
      return results[0].native() == "503";
    });
  }
  static void ExpectOnlyAwayWaits(Sink& sink) {
    for (int round = 0; round < 3; ++round) {
      const auto results = PublishToBoth(sink);
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (i % 2 == 1) {
          EXPECT_OK(results[i]);
          continue;
        }
        EXPECT_EQ(results[i].disposition(), Disposition::kRetry) << results[i].ToString();
        EXPECT_EQ(results[i].code(), Code::kNotAttempted) << "no attempt is charged";
        EXPECT_TRUE(results[i].retry_after()) << "not tried again at once";
        EXPECT_EQ(results[i].native(), "503");
      }
    }
  }

  std::array<ReservedPort, kNodes> ports_;
  std::array<std::unique_ptr<Server>, kNodes> nodes_;
};

TEST_F(NatsCluster, AStreamWithoutALeaderStopsNoOtherStream) {
  ASSERT_TRUE(AddStream("AWAY", "away.>", 2));
  ASSERT_TRUE(AddStream("THERE", "there.>", 1));
  const auto away = NodesOf("AWAY");
  const std::string there = NodesOf("THERE").at(0);
  ASSERT_EQ(away.size(), 2u);
  // One of its two nodes; the cluster keeps its own majority.
  Node(away[0] == there ? away[1] : away[0]).Kill();
  const auto sink = SinkAt(there);
  ASSERT_TRUE(AwaitNoLeader(*sink));
  ExpectOnlyAwayWaits(*sink);
}

TEST_F(NatsCluster, AClusterWithoutAMajorityStopsNoStreamThatStillWorks) {
  ASSERT_TRUE(AddStream("AWAY", "away.>", 3));
  ASSERT_TRUE(AddStream("THERE", "there.>", 1));
  const std::string there = NodesOf("THERE").at(0);
  ASSERT_FALSE(there.empty());
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (there != StrCat("n", i)) nodes_[i]->Kill();
  }
  const auto sink = SinkAt(there);
  ASSERT_TRUE(AwaitNoLeader(*sink));
  ExpectOnlyAwayWaits(*sink);
  // All that is sent there alone is not in the way of others either, as long as they get through.
  auto messages = Messages(1);
  messages[0].topic = "away.a";
  EXPECT_EQ(Publish(*sink, messages)[0].disposition(), Disposition::kRetry);
}

}  // namespace
}  // namespace outbox::sink
