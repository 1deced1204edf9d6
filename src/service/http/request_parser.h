// RequestParser: bytes of a connection -> one HTTP/1.0 or 1.1 request, or the answer that refuses
// it.
//
// Stricter than the protocol where two readings of one request could differ (lengths, encodings,
// hosts): what comes through here, a proxy in front has understood in the same way. Fields behind a
// chunked body (trailers) are read and dropped.
//
// No I/O and no clock: the connection feeds it, and so does a fuzzer. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/http/headers.h"
#include "service/http/limits.h"
#include "service/http/method.h"
#include "service/http/query.h"
#include "service/http/response.h"

namespace outbox::service {

struct RequestHead {
  Method method = Method::kGet;
  bool method_known = false;
  std::string target;                 // as it was sent
  std::string path;                   // of it
  std::vector<std::string> segments;  // of the path, decoded
  Query query;
  Headers headers;
  bool http11 = false;
  bool keep_alive = false;
  bool expects_continue = false;
};

class RequestParser {
 public:
  enum class State : std::uint8_t {
    kHead,    // wants more of the header
    kBody,    // the header is there; wants more of the body
    kDone,    // the request is whole
    kFailed,  // refused; the connection can not be used any further
  };

  explicit RequestParser(const Limits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Takes a prefix of `bytes` and returns its size; the rest, with more behind it, is for the next
  // call. Stops behind the header, and behind the request. `bytes` that hold more than
  // header_bytes_max + 1 and of which nothing is taken fail the request.
  std::size_t Put(std::string_view bytes);

  State state() const noexcept { return state_; }
  // Nothing is known of the request line yet, or all of it.
  const RequestHead& head() const noexcept { return head_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  // Anything has come but an empty line, one of which is passed over.
  bool begun() const noexcept { return begun_; }
  std::string TakeBody();
  // A problem. REQUIRES: kFailed.
  Response refusal() const;

 private:
  class Machine;

  std::size_t SkipEmptyLine(std::string_view bytes);
  bool MayBeHalfOfLastChunk(std::string_view rest) const;
  void FinishHead();
  Status SplitTarget();
  void Fail(int status, std::string_view code, std::string_view title, std::string_view detail);
  // `rest` is what has not been taken of a header that is too long.
  void FailHead(std::string_view rest);

  const Limits limits_;
  std::unique_ptr<Machine> machine_;
  State state_ = State::kHead;
  RequestHead head_;
  std::uint64_t bytes_ = 0;
  bool begun_ = false;
  bool empty_line_skipped_ = false;
  Response refusal_;
};

}  // namespace outbox::service
