// RabbitMQ for tests: a private node to be killed, frozen and starved of memory or disk, and a
// client that sets up exchanges and queues and looks into them.
#pragma once

#include <amqp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/server.h"

namespace outbox::testing {

// Its own port mapper, cookie, database and log: nothing is shared with another node.
//
// Threads: used by one; the node dies with the thread that started it.
class RabbitMq {
 public:
  // `conf` is appended to rabbitmq.conf; {folder} in it is replaced. Null, with the reason on
  // standard error, when the node does not come up.
  static std::unique_ptr<RabbitMq> Start(const std::string& conf = "",
                                         std::map<std::string, std::string> files = {});

  int port() const { return server_->port(); }
  const std::string& folder() const { return server_->folder(); }
  const std::string& host() const { return host_; }
  std::string endpoint() const { return host_ + ":" + std::to_string(port()); }
  // "amqp://guest:guest@HOST:PORT/%2F"
  std::string address() const;

  Server& server() { return *server_; }
  void Kill() { server_->Kill(); }
  bool StartAgain() { return server_->StartAgain(); }
  void Freeze() { server_->Freeze(); }
  void Thaw() { server_->Thaw(); }
  // Runs rabbitmqctl; false, with its words on standard error, when it fails.
  bool Control(const std::vector<std::string>& arguments) const;
  // Evaluates an Erlang expression in the node, for a hundredth of what rabbitmqctl takes: its
  // value as Erlang writes it. None, with the reason on standard error, when it fails.
  std::optional<std::string> Evaluate(const std::string& expression) const;
  // A node that is killed forgets exchanges, queues and bindings declared a moment before. After
  // this it remembers those there are.
  bool Settle() const { return Evaluate("mnesia:sync_log()") == "ok"; }
  // Raise and end an alarm that blocks publishers.
  bool SetMemoryAlarm(bool on) const;
  bool SetDiskAlarm(bool on) const;

 private:
  RabbitMq() = default;
  // For programs that talk to the node.
  ProcessOptions ControlOptions() const;

  const ReservedPort mapper_port_;
  const ReservedPort distribution_port_;
  std::string host_;
  std::unique_ptr<Process> port_mapper_;
  std::map<std::string, std::string> environment_;
  std::unique_ptr<Server> server_;
};

struct RabbitMessage {
  std::string body;
  std::string routing_key;
  std::string message_id;
  std::string type;
  std::string app_id;
  std::string content_type;
  std::uint64_t timestamp = 0;
  int delivery_mode = 0;
  std::map<std::string, std::string> headers;  // text ones
};

// A connection for setting up and looking. A failure is an exception, which fails the test.
class RabbitClient {
 public:
  explicit RabbitClient(const RabbitMq& node);
  ~RabbitClient();
  RabbitClient(const RabbitClient&) = delete;
  RabbitClient& operator=(const RabbitClient&) = delete;

  void DeclareExchange(const std::string& name, const std::string& type = "topic");
  void DeleteExchange(const std::string& name);
  // Durable. `full_at` is the number of messages from which on it refuses more.
  void DeclareQueue(const std::string& name, std::optional<int> full_at = std::nullopt);
  // One that would be replicated if there were more nodes.
  void DeclareQuorumQueue(const std::string& name);
  void Bind(const std::string& queue, const std::string& exchange, const std::string& key);
  void Unbind(const std::string& queue, const std::string& exchange, const std::string& key);
  std::size_t Count(const std::string& queue);
  // Takes the oldest message away.
  std::optional<RabbitMessage> Get(const std::string& queue);

 private:
  void Check(const char* what);

  amqp_connection_state_t state_;
};

// For AddGlobalTestEnvironment: without the server's program all tests are skipped, visibly.
class RabbitMqRequired final : public ::testing::Environment {
 public:
  void SetUp() override { OUTBOX_REQUIRE_PROGRAM("rabbitmq-server"); }
};

}  // namespace outbox::testing
