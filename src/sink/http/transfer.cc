#include "sink/http/transfer.h"

#include <sys/socket.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "outbox/version.h"
#include "sink/http/connect_steps.h"

namespace outbox::sink {
namespace {

// Of an answer's body, for excerpts: more than they show, so that no secret is cut in two.
constexpr std::size_t kResponseKept = 8192;
// A longer answer is not read to its end.
constexpr std::size_t kResponseMax = std::size_t{1} << 20;
// The relay waits no longer than this.
constexpr std::chrono::seconds kRetryAfterMax = std::chrono::hours(24);

std::string HeaderLine(const std::string& name, const std::string& value) {
  // "name:" alone would take the header out.
  return value.empty() ? name + ";" : base::StrCat(name, ": ", value);
}

}  // namespace

Transfer::Transfer(const HttpOptions& options) : options_(options), easy_(curl_easy_init()) {
  CURL* const easy = easy_.get();
  curl_easy_setopt(easy, CURLOPT_URL, options_.url.c_str());
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, base::StrCat("outboxd/", Version()).c_str());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  SetConnection();
  SetSecurity();
}

void Transfer::SetConnection() {
  CURL* const easy = easy_.get();
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // A name that is still being looked up at the deadline must not be waited for.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(options_.connect_timeout.count()));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                   options_.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
  // Share a connection that may turn out to be HTTP/2 rather than open one for each request.
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, options_.multiplexed() ? 1L : 0L);
  // The environment's proxies are for people.
  curl_easy_setopt(easy, CURLOPT_PROXY, options_.proxy.c_str());
  curl_easy_setopt(easy, CURLOPT_NOPROXY, options_.proxy.empty() ? "*" : "");
}

void Transfer::SetSecurity() {
  CURL* const easy = easy_.get();
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, OnConnected);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, OnSocket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
  if (options_.observer) {
    curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, OnTls);
    curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, this);
    curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, OnTalk);
    curl_easy_setopt(easy, CURLOPT_DEBUGDATA, this);
  }
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options_.tls.verify ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options_.tls.verify ? 2L : 0L);
  if (!options_.tls.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options_.tls.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
  if (!options_.tls.cert_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLCERT, options_.tls.cert_file.c_str());
    curl_easy_setopt(easy, CURLOPT_SSLKEY, options_.tls.key_file.c_str());
  }
  if (!options_.user.empty() || !options_.password.empty()) {
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(easy, CURLOPT_USERNAME, options_.user.c_str());
    curl_easy_setopt(easy, CURLOPT_PASSWORD, options_.password.c_str());
  }
}

void Transfer::Prepare(HttpRequest request, std::chrono::milliseconds timeout,
                       std::function<void()> sent) {
  CURL* const easy = easy_.get();
  response_.clear();
  response_bytes_ = 0;
  cut_off_ = refused_ = permitted_ = connected_ = false;
  started_ = std::chrono::steady_clock::now();
  tls_began_.reset();
  error_[0] = '\0';
  body_ = std::move(request.body);
  body_sent_ = 0;
  sent_ = std::move(sent);
  messages_ = request.messages;
  // An empty value: the server need not be asked before a large body is sent.
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  for (const auto& [name, value] : request.headers) {
    headers = curl_slist_append(headers, HeaderLine(name, value).c_str());
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  headers_.reset(headers);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body_.c_str());
  // 0 would be no limit at all.
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, std::max<long>(1, static_cast<long>(timeout.count())));
  if (options_.resolve) {
    curl_slist* const resolve = curl_slist_append(nullptr, options_.resolve().c_str());
    curl_easy_setopt(easy, CURLOPT_RESOLVE, resolve);
    resolve_.reset(resolve);
  }
}

Answer Transfer::Finish(CURLcode code, std::span<const std::string_view> in_flight) {
  CURL* const easy = easy_.get();
  sent_ = nullptr;
  HttpExchange exchange{.code = code,
                        .detail = error_,
                        .blocked = code != CURLE_OK && refused_ && !permitted_,
                        .cut_off = cut_off_,
                        .body_bytes = cut_off_ ? kResponseMax : response_bytes_};
  long request_bytes = 0;
  curl_off_t retry_after = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &exchange.status);
  curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_bytes);
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after);
  // The bytes may have been for a proxy.
  exchange.sent = connected_ && request_bytes > 0;
  if (retry_after > 0) {
    exchange.retry_after =
        std::chrono::seconds(std::min<curl_off_t>(retry_after, kRetryAfterMax.count()));
  }
  const char* content_type = nullptr;
  curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &content_type);
  if (content_type != nullptr) exchange.content_type = content_type;
  if (messages_ == 1) exchange.excerpt = TellableExcerpt(response_, in_flight, options_);
  exchange.response = std::move(response_);
  Answer answer{ClassifyExchange(exchange, options_)};
  if (options_.observer && !connected_) TellNotConnected(easy, options_, tls_began_, answer.status);
  if (answer.status.disposition() == Disposition::kSinkDown && exchange.retry_after &&
      !answer.status.wants_pause()) {
    answer.hold = exchange.retry_after;
    exchange.excerpt.clear();
    exchange.body_bytes = 0;
    answer.for_others = ClassifyExchange(exchange, options_);
  }
  return answer;
}

std::size_t Transfer::OnBody(char* data, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::size_t room = kResponseKept - std::min(kResponseKept, transfer.response_.size());
  transfer.response_.append(data, std::min(room, size));
  transfer.response_bytes_ += size;
  transfer.cut_off_ = transfer.response_bytes_ > kResponseMax;
  return transfer.cut_off_ ? 0 : size;
}

curl_socket_t Transfer::OnSocket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.options_.proxy.empty() && !transfer.options_.guard.Allows(address->addr)) {
    transfer.refused_ = true;
    return CURL_SOCKET_BAD;
  }
  transfer.permitted_ = true;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

CURLcode Transfer::OnTls(CURL*, void*, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.tls_began_ = std::chrono::steady_clock::now() - transfer.started_;
  return CURLE_OK;
}

// Nothing that curl tells here is kept: only how much of the body it has sent.
int Transfer::OnTalk(CURL*, curl_infotype type, char*, std::size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  // A proxy is spoken to before.
  if (!transfer.connected_ || !transfer.sent_) return 0;
  if (type == CURLINFO_DATA_OUT) transfer.body_sent_ += size;
  const bool begun = type == CURLINFO_DATA_OUT || type == CURLINFO_HEADER_OUT;
  if (begun && transfer.body_sent_ >= transfer.body_.size()) {
    std::exchange(transfer.sent_, nullptr)();
  }
  return 0;
}

// Also for connections that are used again.
int Transfer::OnConnected(void* self, char* ip, char*, int, int) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.options_.proxy.empty() && !transfer.options_.guard.Allows(std::string_view(ip))) {
    transfer.refused_ = true;
    transfer.permitted_ = false;
    return CURL_PREREQFUNC_ABORT;
  }
  transfer.connected_ = true;
  if (transfer.options_.observer) TellConnected(transfer.easy_.get(), transfer.options_);
  return CURL_PREREQFUNC_OK;
}

}  // namespace outbox::sink
