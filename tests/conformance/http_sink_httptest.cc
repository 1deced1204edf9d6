#include <gtest/gtest.h>

#include "tests/conformance/sink_harness.h"
#include "tests/support/http_server.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

constexpr const char* kRefused = "x-refused";

class HttpHarness final : public SinkHarness {
 public:
  explicit HttpHarness(bool tls) {
    HttpServer::Plan plan{.handler = Answer};
    if (tls) plan.certificate = MakeCertificate("IP:127.0.0.1");
    server_ = HttpServer::Start(plan);
    if (tls) options_ = "&outbox.tls_verify=false";
  }
  bool started() const { return server_ != nullptr; }

  std::string uri() const override {
    // A timeout of its own would end a call that does not know its deadline.
    return server_->url() + "/hook?outbox.body=plain&outbox.timeout=2m&outbox.allow=127.0.0.0/8" +
           options_;
  }
  std::vector<Arrived> Receive(std::size_t count) override {
    std::vector<Arrived> arrived;
    WaitFor([&] {
      arrived.clear();
      for (const HttpServer::Request& request : server_->requests()) {
        if (request.headers.contains(kRefused)) continue;
        arrived.push_back({request.headers, request.body});
      }
      return arrived.size() >= count;
    });
    return arrived;
  }
  void Break() override { server_->Stop(); }
  void Mend() override { EXPECT_TRUE(server_->StartAgain()); }
  bool Freeze() override {
    server_->Freeze();
    return true;
  }
  void Thaw() override { server_->Thaw(); }
  bool MakeRefused(Message& message) override {
    message.headers.emplace_back(kRefused, "yes");
    return true;
  }
  std::string uri_with_wrong_password() const override {
    std::string uri = this->uri();
    return uri.insert(uri.find("//") + 2, "user:hunter2@");
  }

 private:
  static HttpServer::Reply Answer(const HttpServer::Request& request) {
    if (request.headers.contains(kRefused)) return {.status = 422, .body = "not this one"};
    const auto login = request.headers.find("authorization");
    if (login != request.headers.end()) {
      // A server that repeats too much.
      return {.status = 401, .body = "wrong: hunter2 " + login->second};
    }
    return {};
  }

  std::unique_ptr<HttpServer> server_;
  std::string options_;
};

std::unique_ptr<SinkHarness> MakeHarness(bool tls) {
  auto harness = std::make_unique<HttpHarness>(tls);
  return harness->started() ? std::move(harness) : nullptr;
}

}  // namespace

std::vector<SinkParam> SinksUnderTest() {
  return {{"http", [] { return MakeHarness(false); }}, {"https", [] { return MakeHarness(true); }}};
}

}  // namespace outbox::testing
