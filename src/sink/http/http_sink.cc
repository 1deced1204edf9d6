#include "sink/http/http_sink.h"

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "sink/http/client.h"
#include "sink/http/request.h"

namespace outbox::sink {
namespace {

// Enough to keep all slots busy, and few enough to be done within a deadline when the server is
// slow.
constexpr std::size_t kMessagesPerSlot = 8;

Timestamp Now() {
  return std::chrono::time_point_cast<Timestamp::duration>(std::chrono::system_clock::now());
}

class HttpSink final : public Sink {
 public:
  explicit HttpSink(HttpOptions options) : options_(std::move(options)) {}

  std::string_view name() const noexcept override { return "http"; }

  SinkTraits traits() const noexcept override {
    return {.batch_max = options_.batch
                             ? options_.batch_max
                             : std::min<std::size_t>(1000, options_.concurrency * kMessagesPerSlot),
            .concurrency = 1};
  }

  // There is nothing to ask a web server but to take a message.
  Status Open(Deadline) override { return Status::Ok(); }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    if (batch.empty()) return;
    std::unique_ptr<Client> client = Borrow();
    if (options_.batch) {
      Status result = results[0];
      client->Send([&](std::size_t) { return MakeBatchRequest(options_, batch, Now()); },
                   std::span(&result, 1), deadline);
      std::fill(results.begin(), results.end(), result);
    } else {
      client->Send([&](std::size_t i) { return MakeHttpRequest(options_, batch[i], Now()); },
                   results, deadline);
    }
    if (client->usable()) Return(std::move(client));
  }

  void Close(Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    idle_.reset();
  }

 private:
  std::unique_ptr<Client> Borrow() {
    const std::lock_guard lock(mutex_);
    return idle_ != nullptr ? std::move(idle_) : std::make_unique<Client>(options_);
  }

  void Return(std::unique_ptr<Client> client) {
    const std::lock_guard lock(mutex_);
    std::swap(idle_, client);
  }

  const HttpOptions options_;
  std::mutex mutex_;
  std::unique_ptr<Client> idle_;  // guarded by mutex_
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeHttpSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(HttpOptions options, ReadHttpOptions(uri));
  return MakeHttpSink(std::move(options));
}

std::shared_ptr<Sink> MakeHttpSink(HttpOptions options) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)initialised;
  return std::make_shared<HttpSink>(std::move(options));
}

}  // namespace outbox::sink
