#include "tests/conformance/nats_server.h"
#include "tests/conformance/sink_harness.h"

namespace outbox::testing {
namespace {

constexpr const char* kStream = "ORDERS";

class NatsHarness final : public SinkHarness {
 public:
  NatsHarness(std::unique_ptr<NatsServer> server, std::string uri)
      : server_(std::move(server)), uri_(std::move(uri)) {}

  std::string uri() const override { return uri_; }

  std::vector<Arrived> Receive(std::size_t count) override {
    std::vector<NatsServer::Stored> stored;
    (void)WaitFor([&] {
      stored = server_->Messages(kStream, count);
      return stored.size() >= count;
    });
    std::vector<Arrived> all;
    for (auto& message : stored) {
      all.push_back({.headers = std::move(message.headers), .body = std::move(message.body)});
    }
    return all;
  }

  void Break() override { server_->process().Kill(); }
  void Mend() override { ASSERT_TRUE(server_->process().StartAgain()); }
  bool Freeze() override {
    server_->process().Freeze();
    return true;
  }
  void Thaw() override { server_->process().Thaw(); }

  bool MakeRefused(Message& message) override {
    message.topic = "nobody.listens.here";
    return true;
  }
  std::string uri_with_wrong_password() const override {
    std::string wrong = uri_;
    return wrong.replace(wrong.find("secret"), 6, "hunter2");
  }

 private:
  const std::unique_ptr<NatsServer> server_;
  const std::string uri_;
};

std::unique_ptr<SinkHarness> Make(std::unique_ptr<NatsServer> server, const std::string& uri) {
  if (!server->AddStream(kStream, "orders.>")) return nullptr;
  return std::make_unique<NatsHarness>(std::move(server), uri);
}

void RequirePrograms() {
  OUTBOX_REQUIRE_PROGRAM("nats-server");
  OUTBOX_REQUIRE_PROGRAM("openssl");
}

std::unique_ptr<SinkHarness> Plain() {
  RequirePrograms();
  if (::testing::Test::IsSkipped()) return nullptr;
  auto server = NatsServer::Start();
  if (server == nullptr) return nullptr;
  const std::string uri = base::StrCat("nats://app:secret@", server->address());
  return Make(std::move(server), uri);
}

// By name, and with a small window, so that publishing waits for answers.
std::unique_ptr<SinkHarness> Tls() {
  RequirePrograms();
  if (::testing::Test::IsSkipped()) return nullptr;
  auto server = NatsServer::StartWithTls();
  if (server == nullptr) return nullptr;
  const std::string uri = base::StrCat("natss://app:secret@localhost:", server->port(),
                                       "?window=7&stream=ORDERS&tls_ca=", server->ca_file());
  return Make(std::move(server), uri);
}

}  // namespace

std::vector<SinkParam> SinksUnderTest() { return {{"plain", Plain}, {"tls", Tls}}; }

}  // namespace outbox::testing
