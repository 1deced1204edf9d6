#include "sink/http/http_sink.h"

#include <curl/curl.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "sink/http/batch.h"
#include "sink/http/client.h"
#include "sink/http/request.h"

namespace outbox::sink {
namespace {

// Enough to keep all slots busy, and few enough to be done within a deadline when the server is
// slow.
constexpr std::size_t kMessagesPerSlot = 8;
constexpr std::size_t kMessagesMax = 1000;
// From so many requests in flight on they keep two threads busy, half of them each: one call starts
// its first requests while the other waits for its last answers.
constexpr std::size_t kWorthTwoCalls = 16;

std::size_t Calls(const HttpOptions& options) {
  return !options.batch && options.concurrency >= kWorthTwoCalls ? 2 : 1;
}

class HttpSink final : public Sink {
 public:
  explicit HttpSink(HttpOptions options)
      : options_(std::move(options)),
        calls_(Calls(options_)),
        slots_(options_.concurrency / calls_) {}

  std::string_view name() const noexcept override { return "http"; }

  SinkTraits traits() const noexcept override {
    const std::size_t batch_max =
        options_.batch ? options_.batch_max : std::min(kMessagesMax, slots_ * kMessagesPerSlot);
    return {.batch_max = batch_max, .concurrency = calls_};
  }

  // There is nothing to ask a web server but to take a message.
  Status Open(Deadline) override { return Status::Ok(); }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    if (batch.empty()) return;
    std::unique_ptr<Client> client = Borrow();
    if (options_.batch) {
      SendBatch(*client, options_, batch, results, deadline);
    } else {
      client->Send([&](std::size_t i) { return MakeHttpRequest(options_, batch[i], Now()); },
                   results, deadline);
    }
    if (client->usable()) Return(std::move(client));
  }

  void Close(Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }

 private:
  std::unique_ptr<Client> Borrow() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Client>(options_, slots_);
    auto client = std::move(idle_.back());
    idle_.pop_back();
    return client;
  }

  void Return(std::unique_ptr<Client> client) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < calls_) idle_.push_back(std::move(client));
  }

  const HttpOptions options_;
  const std::size_t calls_;  // at a time
  const std::size_t slots_;  // of each
  std::mutex mutex_;
  std::vector<std::unique_ptr<Client>> idle_;  // guarded by mutex_
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeHttpSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(HttpOptions options, ReadHttpOptions(uri));
  return MakeHttpSink(std::move(options));
}

Result<std::shared_ptr<Sink>> MakeObservedHttpSink(const SinkUri& uri, ConnectObserver observer) {
  OUTBOX_ASSIGN_OR_RETURN(HttpOptions options, ReadHttpOptions(uri));
  options.observer = std::move(observer);
  return MakeHttpSink(std::move(options));
}

Result<Way> HttpWay(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(HttpOptions options, ReadHttpOptions(uri));
  Way way{.endpoints = {std::move(options.endpoint)}};
  if (uri.scheme == "https") way.tls = std::move(options.tls);
  way.allows = [guard = std::move(options.guard)](const Address& address) {
    return guard.Allows(reinterpret_cast<const sockaddr&>(address.storage));
  };
  // Behind a proxy the server is not ours to connect to.
  if (options.proxy.empty()) way.instead = "write https:";
  return way;
}

std::shared_ptr<Sink> MakeHttpSink(HttpOptions options) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)initialised;
  return std::make_shared<HttpSink>(std::move(options));
}

}  // namespace outbox::sink
