// Transfer: one request of curl's at a time, with all its settings made once. An EventLoop has as
// many as may be in flight.
//
// Threads: used by one at a time.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "outbox/status.h"
#include "sink/http/classify_error.h"
#include "sink/http/options.h"
#include "sink/http/request.h"

namespace outbox::sink {

// What became of a request.
struct Answer {
  Status status;
  // The destination asks all requests to wait for so long, and what those are told that wait.
  std::optional<std::chrono::milliseconds> hold = {};
  Status for_others = {};
};

class Transfer {
 public:
  // `options` outlives it.
  explicit Transfer(const HttpOptions& options);
  // curl keeps its address.
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* handle() const { return easy_.get(); }

  // Makes ready to send `request`. `sent` is called once all of it has left, while curl works; only
  // for an observer, and it may be empty.
  void Prepare(HttpRequest request, std::chrono::milliseconds timeout,
               std::function<void()> sent = {});
  // What became of it: `code` is curl's, or CURLE_ABORTED_BY_CALLBACK for one that is given up.
  // `in_flight` are the bodies of all requests, this one's too: an answer may repeat any of them,
  // and is told of none. Nothing of an answer to several messages is ever told.
  Answer Finish(CURLcode code, std::span<const std::string_view> in_flight);
  // Of the request under way.
  std::string_view body() const { return body_; }

 private:
  void SetConnection();
  void SetSecurity();
  static std::size_t OnBody(char* data, std::size_t, std::size_t size, void* self);
  static curl_socket_t OnSocket(void* self, curlsocktype, curl_sockaddr* address);
  static CURLcode OnTls(CURL*, void*, void* self);
  static int OnTalk(CURL*, curl_infotype type, char*, std::size_t size, void* self);
  static int OnConnected(void* self, char* ip, char*, int, int);

  const HttpOptions& options_;
  base::UniqueHandle<CURL, curl_easy_cleanup> easy_;
  base::UniqueHandle<curl_slist, curl_slist_free_all> headers_;
  base::UniqueHandle<curl_slist, curl_slist_free_all> resolve_;
  std::string body_;
  std::size_t messages_ = 0;  // in it

  // Of the request in flight.
  std::string response_;
  std::size_t response_bytes_ = 0;
  bool cut_off_ = false;
  bool refused_ = false;    // an address
  bool permitted_ = false;  // another address
  bool connected_ = false;
  std::size_t body_sent_ = 0;
  std::function<void()> sent_;  // empty once it was called
  std::chrono::steady_clock::time_point started_;
  // Since then; only for an observer.
  std::optional<std::chrono::nanoseconds> tls_began_;
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace outbox::sink
