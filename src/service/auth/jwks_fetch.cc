#include "service/auth/jwks_fetch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "outbox/version.h"
#include "service/auth/jwks.h"

namespace outbox::service {
namespace {

constexpr int kPollMs = 1000;

JwksAddress AddressOf(const std::string& url) {
  // Once, and before any other thread could.
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)initialised;
  auto address = ParseJwksAddress(url);
  return address.ok() ? *std::move(address) : JwksAddress{.only_loopback = true};
}

}  // namespace

JwksFetch::JwksFetch(const std::string& url, const std::string& ca)
    : address_(AddressOf(url)), multi_(curl_multi_init()), easy_(curl_easy_init()) {
  CURL* const easy = easy_.get();
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_USERAGENT, base::StrCat("outboxd/", Version()).c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, OnConnected);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  // A fetch is rare: keep no connection that may have gone stale by the next.
  curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
  if (!ca.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, ca.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
}

Result<std::string> JwksFetch::Get(std::chrono::milliseconds timeout) {
  body_.clear();
  too_large_ = elsewhere_ = false;
  curl_easy_setopt(easy_.get(), CURLOPT_TIMEOUT_MS,
                   std::max<long>(1, static_cast<long>(timeout.count())));
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) {
    return Status::Retry(Code::kInternal, "curl does not work");
  }
  const CURLcode code = Perform();
  curl_multi_remove_handle(multi_.get(), easy_.get());
  if (stopped_) return Status::Retry(Code::kCancelled, "stopped");
  if (code != CURLE_OK) return Failure(code);
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) {
    return Status::Retry(Code::kUnavailable, base::StrCat(host(), " answered ", status));
  }
  return std::move(body_);
}

CURLcode JwksFetch::Perform() {
  int running = 1;
  while (!stopped_ && curl_multi_perform(multi_.get(), &running) == CURLM_OK && running > 0) {
    curl_multi_poll(multi_.get(), nullptr, 0, kPollMs, nullptr);
  }
  int queued = 0;
  const CURLMsg* const message = curl_multi_info_read(multi_.get(), &queued);
  return message == nullptr ? CURLE_ABORTED_BY_CALLBACK : message->data.result;
}

void JwksFetch::Stop() {
  stopped_ = true;
  curl_multi_wakeup(multi_.get());
}

Status JwksFetch::Failure(CURLcode code) const {
  if (too_large_) {
    return Status::Retry(Code::kUnavailable, base::StrCat(host(), " answered with more than ",
                                                          kJwksBytesMax, " bytes"));
  }
  if (elsewhere_) {
    return Status::Retry(Code::kUnavailable,
                         base::StrCat(host(), " is not this machine; use https"));
  }
  return Status::Retry(code == CURLE_OPERATION_TIMEDOUT ? Code::kDeadline : Code::kUnavailable,
                       base::StrCat(host(), ": ", curl_easy_strerror(code)));
}

std::size_t JwksFetch::OnBody(char* data, std::size_t, std::size_t size, void* self) {
  auto& fetch = *static_cast<JwksFetch*>(self);
  fetch.too_large_ = fetch.body_.size() + size > kJwksBytesMax;
  if (fetch.too_large_) return 0;
  fetch.body_.append(data, size);
  return size;
}

int JwksFetch::OnConnected(void* self, char* ip, char*, int, int) {
  auto& fetch = *static_cast<JwksFetch*>(self);
  fetch.elsewhere_ = fetch.address_.only_loopback && !IsLoopback(ip);
  return fetch.elsewhere_ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

}  // namespace outbox::service
