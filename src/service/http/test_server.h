// TestServer: a Server on a free port of 127.0.0.1 with a few routes, and what it has observed.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "service/http/problem.h"
#include "service/http/server.h"
#include "service/http/test_client.h"
#include "tests/support/matchers.h"

namespace outbox::service {

// Closed until it is opened; handlers wait at it.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait_for(lock, outbox::testing::kPatience, [this] { return open_; });
    --waiting_;
  }
  int waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

class RecordingObserver final : public RequestObserver {
 public:
  struct Seen {
    std::string method, route, remote, request_id;
    int status;
    std::uint64_t request_bytes, response_bytes;
    bool complete, stream;
  };

  void OnRequest(const RequestRecord& record) override {
    const std::lock_guard lock(mutex_);
    seen_.push_back({std::string(record.method), std::string(record.route),
                     std::string(record.remote), std::string(record.request_id), record.status,
                     record.request_bytes, record.response_bytes, record.complete, record.stream});
  }
  std::vector<Seen> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  // The first `count`, when there are so many.
  std::vector<Seen> Wait(std::size_t count) const {
    outbox::testing::WaitFor([&] { return seen().size() >= count; });
    return seen();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
};

class TestServer {
 public:
  explicit TestServer(ServerOptions options = {}, std::optional<TlsOptions> tls = {}) {
    AddRoutes();
    auto started = Server::Start(
        std::move(options),
        {{.address = {.host = "127.0.0.1"}, .router = router, .tls = std::move(tls)}}, observer);
    EXPECT_OK(started);
    if (started.ok()) server = *std::move(started);
  }
  ~TestServer() { gate->Open(); }

  std::uint16_t port() const { return server->addresses().at(0).port; }

  const std::shared_ptr<Router> router = std::make_shared<Router>();
  const std::shared_ptr<RecordingObserver> observer = std::make_shared<RecordingObserver>();
  const std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::unique_ptr<Server> server;

 private:
  void AddRoutes() {
    router->Add(Method::kGet, "/hello", [](const Request&) {
      return Response{.content_type = "text/plain", .body = "hello"};
    });
    router->Add(
        Method::kGet, "/quick",
        [](const Request&) { return Response{.content_type = "text/plain", .body = "quick"}; },
        {.quick = true});
    router->Add(Method::kPost, "/echo", [](const Request& request) {
      return Response{.content_type = "text/plain", .body = request.body};
    });
    router->Add(Method::kGet, "/items/{id}", [](const Request& request) {
      return Response{.content_type = "text/plain",
                      .body = std::string(request.Param("id")) + " " +
                              std::string(request.query.Find("q").value_or("-")) + " " +
                              std::string(request.Header("x-thing"))};
    });
    router->Add(Method::kGet, "/gate", [gate = gate](const Request&) {
      gate->Wait();
      return Response{.content_type = "text/plain", .body = "passed"};
    });
    router->Add(Method::kGet, "/large", [](const Request&) {
      return Response{.content_type = "text/plain", .body = std::string(32 << 20, 'x')};
    });
    router->Add(Method::kGet, "/throw", [](const Request&) -> Response {
      throw std::runtime_error("the secret of the handler");
    });
  }
};

}  // namespace outbox::service
