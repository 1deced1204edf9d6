// JwksFetch: the text behind a key set's URL.
//
// One GET: certificates checked, no redirects, no proxy of the environment, 200 only, at most 256
// KiB. With plain http the connection itself must lead to this machine, whatever the name says.
//
// Threads: Get by one at a time; Stop by any.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <chrono>
#include <string>

#include "base/handle.h"
#include "outbox/status.h"
#include "service/auth/jwks_address.h"

namespace outbox::service {

class JwksFetch {
 public:
  // `url` is one that ParseJwksAddress takes; `ca` a file, or empty.
  JwksFetch(const std::string& url, const std::string& ca);
  JwksFetch(const JwksFetch&) = delete;
  JwksFetch& operator=(const JwksFetch&) = delete;

  // Fails with kUnavailable, kDeadline or kCancelled; the error names the host.
  Result<std::string> Get(std::chrono::milliseconds timeout);
  // A Get under way, and every later one, fails at once.
  void Stop();

  const std::string& host() const { return address_.host; }

 private:
  static std::size_t OnBody(char* data, std::size_t, std::size_t size, void* self);
  static int OnConnected(void* self, char* ip, char*, int, int);
  CURLcode Perform();
  Status Failure(CURLcode code) const;

  const JwksAddress address_;
  base::UniqueHandle<CURLM, curl_multi_cleanup> multi_;
  base::UniqueHandle<CURL, curl_easy_cleanup> easy_;
  std::atomic<bool> stopped_{false};
  std::string body_;
  bool too_large_ = false;
  bool elsewhere_ = false;
};

}  // namespace outbox::service
