#include "sink/http/http_sink.h"

#include <curl/curl.h>

#include <algorithm>
#include <utility>

#include "sink/http/batch.h"
#include "sink/http/classify_error.h"
#include "sink/http/client.h"
#include "sink/http/request.h"
#include "sink/net/resolve.h"

namespace outbox::sink {
namespace {

class HttpSink final : public Sink {
 public:
  explicit HttpSink(HttpOptions options)
      : options_(std::make_shared<const HttpOptions>(std::move(options))), client_(options_) {}

  std::string_view name() const noexcept override { return "http"; }

  SinkTraits traits() const noexcept override {
    return {.batch_max = options_->batch ? options_->batch_max : 1,
            .concurrency = options_->concurrency};
  }

  // There is nothing to ask a web server but to take a message. Where it is can be asked.
  Status Open(Deadline deadline) override {
    // Behind a proxy the proxy resolves, and connects.
    if (!options_->proxy.empty() || options_->resolve) return Status::Ok();
    OUTBOX_ASSIGN_OR_RETURN(const auto addresses, Resolve(options_->endpoint, deadline));
    const bool allowed =
        std::any_of(addresses.begin(), addresses.end(), [&](const Address& address) {
          return options_->guard.Allows(reinterpret_cast<const sockaddr&>(address.storage));
        });
    return allowed ? Status::Ok() : AddressNotAllowed(*options_);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    if (batch.empty()) return;
    if (options_->batch) {
      SendBatch(client_, *options_, batch, results, deadline);
      return;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      results[i] = client_.Send(MakeHttpRequest(*options_, batch[i], Now()), deadline);
      if (results[i].disposition() == Disposition::kSinkDown) return;
    }
  }

  void Close(Deadline deadline) noexcept override { client_.Close(deadline); }

 private:
  const std::shared_ptr<const HttpOptions> options_;
  Client client_;
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
