#include <cctype>

#include "tests/conformance/redis_server.h"
#include "tests/conformance/sink_harness.h"

namespace outbox::testing {
namespace {

constexpr const char* kStream = "orders.order.created.v1";

class RedisHarness final : public SinkHarness {
 public:
  RedisHarness(std::unique_ptr<RedisServer> server, std::string uri)
      : server_(std::move(server)), uri_(std::move(uri)) {}

  std::string uri() const override { return uri_; }

  std::vector<Arrived> Receive(std::size_t count) override {
    std::vector<RedisServer::Entry> entries;
    (void)WaitFor([&] {
      entries = server_->Entries(kStream);
      return entries.size() >= count;
    });
    std::vector<Arrived> all;
    for (const auto& entry : entries) {
      Arrived arrived{.body = entry.Field("payload")};
      for (const auto& field : entry.fields) arrived.headers.insert(field);
      all.push_back(std::move(arrived));
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
    message.topic = "taken.by.something.else";
    return server_->Ask({"SET", message.topic, "a string"}) == "OK";
  }
  std::string uri_with_wrong_password() const override {
    std::string wrong = uri_;
    return wrong.replace(wrong.find("secret"), 6, "hunter2");
  }

 private:
  const std::unique_ptr<RedisServer> server_;
  const std::string uri_;
};

void RequirePrograms() {
  OUTBOX_REQUIRE_PROGRAM("redis-server");
  OUTBOX_REQUIRE_PROGRAM("openssl");
}

std::unique_ptr<SinkHarness> Plain(const std::string& options) {
  RequirePrograms();
  if (::testing::Test::IsSkipped()) return nullptr;
  auto server = RedisServer::Start();
  if (server == nullptr) return nullptr;
  const std::string uri = base::StrCat("redis://app:secret@", server->address(), options);
  return std::make_unique<RedisHarness>(std::move(server), uri);
}

std::unique_ptr<SinkHarness> Tls() {
  RequirePrograms();
  if (::testing::Test::IsSkipped()) return nullptr;
  auto server = RedisServer::StartWithTls("tls-auth-clients no\n");
  if (server == nullptr) return nullptr;
  const std::string uri =
      base::StrCat("rediss://app:secret@", server->tls_address(), "/0?tls_ca=", server->ca_file());
  return std::make_unique<RedisHarness>(std::move(server), uri);
}

}  // namespace

std::vector<SinkParam> SinksUnderTest() {
  return {{"plain", [] { return Plain(""); }},
          {"dedupe", [] { return Plain("?dedupe=10m"); }},
          {"tls", Tls}};
}

}  // namespace outbox::testing
