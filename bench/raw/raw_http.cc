#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/handle.h"
#include "base/text.h"
#include "bench/raw/raw_client.h"
#include "sink/http/options.h"
#include "sink/http/request.h"

namespace outbox::bench {
namespace {

constexpr int kHttpPollMs = 1000;

std::size_t DiscardResponse(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

class RawHttp final : public RawClient {
 public:
  explicit RawHttp(sink::HttpOptions options)
      : options_(std::move(options)), multi_(curl_multi_init()) {
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(options_.concurrency));
  }

  Status Prepare(const Message&) override { return Status::Ok(); }

  Status Send(const Message& sample, std::size_t count, std::size_t window) override {
    const auto now =
        std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    request_ = sink::MakeHttpRequest(options_, sample, now);
    headers_.reset();
    for (const auto& [name, value] : request_.headers) {
      headers_.reset(
          curl_slist_append(headers_.release(), base::StrCat(name, ": ", value).c_str()));
    }
    std::vector<Easy> idle;
    for (std::size_t i = 0; i < std::min(window, options_.concurrency); ++i)
      idle.push_back(MakeEasy());
    std::vector<Easy> busy;
    std::size_t started = 0;
    while (started < count || !busy.empty()) {
      while (started < count && !idle.empty()) {
        curl_multi_add_handle(multi_.get(), idle.back().get());
        busy.push_back(std::move(idle.back()));
        idle.pop_back();
        ++started;
      }
      int running = 0;
      if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) return Failed("curl", "perform");
      OUTBOX_ASSIGN_OR_RETURN(const bool any, Collect(busy, idle));
      if (!any) curl_multi_poll(multi_.get(), nullptr, 0, kHttpPollMs, nullptr);
    }
    return Status::Ok();
  }

 private:
  using Easy = base::UniqueHandle<CURL, curl_easy_cleanup>;

  static Status Failed(std::string_view what, std::string_view why) {
    return RawFailure("http", what, why);
  }

  Easy MakeEasy() const {
    Easy easy(curl_easy_init());
    curl_easy_setopt(easy.get(), CURLOPT_URL, options_.url.c_str());
    curl_easy_setopt(easy.get(), CURLOPT_POST, 1L);
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, request_.body.data());
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(request_.body.size()));
    curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, &DiscardResponse);
    curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout.count()));
    curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
    return easy;
  }

  Result<bool> Collect(std::vector<Easy>& busy, std::vector<Easy>& idle) {
    bool any = false;
    int queued = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &queued)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const CURLcode code = message->data.result;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      if (code != CURLE_OK) return Failed("request", curl_easy_strerror(code));
      if (status / 100 != 2) return Failed("request", base::StrCat("answered ", status));
      curl_multi_remove_handle(multi_.get(), easy);
      for (std::size_t i = 0; i < busy.size(); ++i) {
        if (busy[i].get() != easy) continue;
        std::swap(busy[i], busy.back());
        idle.push_back(std::move(busy.back()));
        busy.pop_back();
        break;
      }
      any = true;
    }
    return any;
  }

  const sink::HttpOptions options_;
  sink::HttpRequest request_;
  base::UniqueHandle<curl_slist, curl_slist_free_all> headers_;
  base::UniqueHandle<CURLM, curl_multi_cleanup> multi_;
};

}  // namespace

Result<std::unique_ptr<RawClient>> MakeRawHttp(const sink::SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(sink::HttpOptions options, sink::ReadHttpOptions(uri));
  return std::unique_ptr<RawClient>(std::make_unique<RawHttp>(std::move(options)));
}

}  // namespace outbox::bench
