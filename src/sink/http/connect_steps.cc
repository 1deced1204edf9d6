#include "sink/http/connect_steps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "sink/net/tls_session.h"

namespace outbox::sink {
namespace {

using std::chrono::nanoseconds;

// Since the start; zero for what was not reached.
nanoseconds TimeOf(CURL* easy, CURLINFO info) {
  curl_off_t time = 0;
  curl_easy_getinfo(easy, info, &time);
  return std::chrono::microseconds(time);
}

std::string Peer(CURL* easy, const HttpOptions& options) {
  const char* ip = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &ip);
  return base::StrCat(ip == nullptr ? "" : ip, options.proxy.empty() ? "" : ", the proxy");
}

std::string Session(CURL* easy) {
  const curl_tlssessioninfo* info = nullptr;
  curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info);
  if (info == nullptr || info->backend != CURLSSLBACKEND_OPENSSL) return "";
  return info->internals == nullptr ? "" : DescribeTls(static_cast<const SSL*>(info->internals));
}

// Each step ends where the next begins.
class Teller {
 public:
  explicit Teller(const ConnectObserver& observer) : observer_(observer) {}

  void Tell(std::string_view name, nanoseconds end, std::string detail, bool ok = true) {
    observer_({.name = name,
               .detail = std::move(detail),
               .ok = ok,
               .took = std::max(end - last_, nanoseconds::zero())});
    last_ = end;
  }

 private:
  const ConnectObserver& observer_;
  nanoseconds last_{};
};

}  // namespace

void TellConnected(CURL* easy, const HttpOptions& options) {
  long made = 0;
  curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &made);
  if (made == 0) return;
  Teller teller(options.observer);
  teller.Tell("resolve", TimeOf(easy, CURLINFO_NAMELOOKUP_TIME_T), "");
  teller.Tell("connect", TimeOf(easy, CURLINFO_CONNECT_TIME_T), Peer(easy, options));
  const nanoseconds secured = TimeOf(easy, CURLINFO_APPCONNECT_TIME_T);
  if (secured.count() > 0) teller.Tell("tls", secured, Session(easy));
}

void TellNotConnected(CURL* easy, const HttpOptions& options, std::optional<nanoseconds> tls_began,
                      const Status& status) {
  const nanoseconds resolved = TimeOf(easy, CURLINFO_NAMELOOKUP_TIME_T);
  const nanoseconds ended = TimeOf(easy, CURLINFO_TOTAL_TIME_T);
  Teller teller(options.observer);
  if (resolved.count() == 0) {
    teller.Tell("resolve", ended, status.message(), false);
    return;
  }
  teller.Tell("resolve", resolved, "");
  if (!tls_began) {
    teller.Tell("connect", ended, status.message(), false);
    return;
  }
  teller.Tell("connect", *tls_began, Peer(easy, options));
  teller.Tell("tls", ended, status.message(), false);
}

}  // namespace outbox::sink
