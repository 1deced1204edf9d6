#include "service/http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "service/http/percent.h"
#include "service/http/problem.h"

namespace outbox::service {
namespace {

namespace beast_http = boost::beast::http;
constexpr std::size_t kEmptyLineBytes = 2;
constexpr std::size_t kShortestLastChunk = 5;  // "0", CRLF, CRLF
using BeastView = boost::beast::string_view;
using BeastError = boost::beast::error_code;

std::string_view View(BeastView text) noexcept { return {text.data(), text.size()}; }

bool IsLengthMistake(const BeastError& error) {
  return error == beast_http::error::bad_content_length ||
         error == beast_http::error::multiple_content_length ||
         error == beast_http::error::bad_transfer_encoding;
}

bool IsChunkMistake(const BeastError& error) {
  return error == beast_http::error::bad_chunk || error == beast_http::error::bad_chunk_extension;
}

std::string_view Explain(const BeastError& error) {
  if (error == beast_http::error::bad_method || error == beast_http::error::bad_target) {
    return "The request line is not METHOD TARGET VERSION.";
  }
  if (error == beast_http::error::bad_version) return "The version must be HTTP/1.0 or HTTP/1.1.";
  if (IsLengthMistake(error)) {
    return "The length of the body is not clear: send one Content-Length, or chunks.";
  }
  if (IsChunkMistake(error)) return "The chunks of the body are broken.";
  return "A header field is broken.";
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// One number, and no other reading of it: no list, no octal.
bool IsLength(std::string_view text) {
  return text == "0" ||
         (!text.empty() && text.front() != '0' && std::all_of(text.begin(), text.end(), IsDigit));
}

// One name or address, perhaps with a port; a client that knows none sends an empty one.
bool IsHost(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-._~%:[]").find(c) != std::string_view::npos;
  });
}

std::uintptr_t Address(const char* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

// What Beast's state machine has found. It is told of one request only.
class RequestParser::Machine final : public beast_http::basic_parser<true> {
 public:
  Machine(RequestHead& head, std::size_t fields_max) : head_(head), fields_max_(fields_max) {}

  bool started() const noexcept { return started_; }
  bool too_many_fields() const noexcept { return fields_ > fields_max_; }
  // Before each put: what is put.
  void Look(std::string_view input) noexcept { input_ = input; }
  std::string body;

 private:
  void on_request_impl(beast_http::verb, BeastView method, BeastView target, int version,
                       BeastError&) override {
    started_ = true;
    const auto known = ParseMethod(View(method));
    head_.method_known = known.has_value();
    head_.method = known.value_or(Method::kGet);
    head_.target = View(target);
    head_.http11 = version == 11;
  }
  void on_response_impl(int, BeastView, int, BeastError&) override {}
  void on_field_impl(beast_http::field, BeastView name, BeastView value,
                     BeastError& error) override {
    if (++fields_ > fields_max_ || !OnOneLine(View(name), View(value))) {
      error = beast_http::error::bad_field;
    } else if (!is_header_done()) {
      head_.headers.Add(View(name), View(value));
    }
  }
  void on_header_impl(BeastError&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, BeastError&) override {}
  std::size_t on_body_impl(BeastView bytes, BeastError&) override {
    body += View(bytes);
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, BeastView, BeastError&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, BeastError&) override {
    body += View(bytes);
    return bytes.size();
  }
  void on_finish_impl(BeastError&) override {}

  // Beast joins a value that goes on in the next line (obs-fold): elsewhere, or from there on.
  bool OnOneLine(std::string_view name, std::string_view value) const noexcept {
    const char* const begin = name.data() + name.size();
    const char* const end = input_.data() + input_.size();
    if (Address(value.data()) < Address(begin) || Address(value.data()) > Address(end)) {
      return false;
    }
    return std::find(begin, value.data(), '\n') == value.data();
  }

  RequestHead& head_;
  const std::size_t fields_max_;
  std::string_view input_;
  std::size_t fields_ = 0;
  bool started_ = false;
};

RequestParser::RequestParser(const Limits& limits)
    : limits_(limits), machine_(std::make_unique<Machine>(head_, limits.header_fields_max)) {
  machine_->header_limit(static_cast<std::uint32_t>(limits.header_bytes_max));
  // Checked here, where the difference between the two ways to send a body is known.
  machine_->body_limit(boost::none);
}

RequestParser::~RequestParser() = default;

std::size_t RequestParser::Put(std::string_view bytes) {
  std::size_t used = SkipEmptyLine(bytes);
  while (begun_ && used < bytes.size() && (state_ == State::kHead || state_ == State::kBody)) {
    if (MayBeHalfOfLastChunk(bytes.substr(used))) break;
    BeastError error;
    machine_->Look(bytes.substr(used));
    const std::size_t took =
        machine_->put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), error);
    used += took;
    bytes_ += took;
    const bool wants_more = error == beast_http::error::need_more;
    // The machine forgets what it has taken, and so would let a header grow line by line.
    const std::size_t waiting = wants_more ? bytes.size() - used : 0;
    const bool head_too_long =
        state_ == State::kHead && bytes_ + waiting > limits_.header_bytes_max;
    if (head_too_long || error == beast_http::error::header_limit || machine_->too_many_fields()) {
      FailHead(bytes.substr(used));
    } else if (error == beast_http::error::body_limit) {
      Fail(413, "body_too_large", "The body is too large",
           base::StrCat("At most ", limits_.body_bytes_max, " bytes."));
    } else if (wants_more) {
      if (waiting > limits_.header_bytes_max) {
        Fail(400, "bad_request", "The request can not be read",
             Explain(beast_http::error::bad_chunk));
      }
      break;
    } else if (error) {
      Fail(400, "bad_request", "The request can not be read", Explain(error));
    } else if (state_ == State::kHead && machine_->is_header_done()) {
      FinishHead();
      break;
    } else if (machine_->is_done()) {
      state_ = State::kDone;
    }
  }
  return used;
}

// Beast asserts that it never sees the last chunk twice with less than all of it, which is not so
// when that is the first chunk too. Whatever begins like it has more bytes to come.
bool RequestParser::MayBeHalfOfLastChunk(std::string_view rest) const {
  return state_ == State::kBody && machine_->chunked() && rest.size() < kShortestLastChunk &&
         rest.starts_with('0');
}

// RFC 9112 2.2: some clients send one after a body.
std::size_t RequestParser::SkipEmptyLine(std::string_view bytes) {
  if (begun_ || bytes.empty()) return 0;
  if (bytes == "\r" && !empty_line_skipped_) return 0;
  const bool skip = bytes.starts_with("\r\n") && !empty_line_skipped_;
  empty_line_skipped_ = empty_line_skipped_ || skip;
  begun_ = !skip || bytes.size() > kEmptyLineBytes;
  return skip ? kEmptyLineBytes : 0;
}

std::string RequestParser::TakeBody() { return std::move(machine_->body); }

Response RequestParser::refusal() const { return refusal_; }

void RequestParser::Fail(int status, std::string_view code, std::string_view title,
                         std::string_view detail) {
  state_ = State::kFailed;
  refusal_ = Problem(status, code, title, detail);
}

void RequestParser::FailHead(std::string_view rest) {
  if (!machine_->started() && rest.find("\r\n") == std::string_view::npos) {
    Fail(414, "target_too_long", "The request's target is too long",
         base::StrCat("At most ", limits_.target_bytes_max, " bytes."));
  } else {
    Fail(431, "header_too_large", "The header is too large",
         base::StrCat("At most ", limits_.header_bytes_max, " bytes and ",
                      limits_.header_fields_max, " fields."));
  }
}

Status RequestParser::SplitTarget() {
  std::string_view target = head_.target;
  if (target.starts_with("http://") || target.starts_with("https://")) {
    target.remove_prefix(
        std::min(target.find_first_of("/?", target.find("://") + 3), target.size()));
    if (target.empty()) target = "/";
  }
  const std::size_t question = target.find('?');
  head_.path = target.substr(0, question);
  auto segments = SplitPath(head_.path);
  if (!segments) {
    return Status::Invalid(
        "The path must begin with a slash and be UTF-8, percent-encoded, "
        "without \".\" and \"..\".");
  }
  head_.segments = *std::move(segments);
  if (question != std::string_view::npos) {
    OUTBOX_ASSIGN_OR_RETURN(
        head_.query, Query::Parse(target.substr(question + 1), limits_.query_parameters_max));
  }
  return Status::Ok();
}

void RequestParser::FinishHead() {
  constexpr std::string_view kUnreadable = "The request can not be read";
  const Headers& headers = head_.headers;
  const std::size_t hosts = headers.Count("Host");
  const std::string_view coding = headers.Find("Transfer-Encoding");
  const std::string_view expect = headers.Find("Expect");
  const std::string_view length_text = headers.Find("Content-Length");
  const auto length = machine_->content_length();
  head_.keep_alive = machine_->keep_alive();
  head_.expects_continue = head_.http11 && EqualsIgnoringCase(expect, "100-continue");
  state_ = machine_->is_done() ? State::kDone : State::kBody;

  if (head_.target.size() > limits_.target_bytes_max) {
    Fail(414, "target_too_long", "The request's target is too long",
         base::StrCat("At most ", limits_.target_bytes_max, " bytes."));
  } else if (hosts > 1 || (hosts == 0 && head_.http11)) {
    Fail(400, "bad_request", kUnreadable, "There must be one Host field.");
  } else if (!IsHost(headers.Find("Host"))) {
    Fail(400, "bad_request", kUnreadable, "Host must be one name or address.");
  } else if (headers.Count("Authorization") > 1) {
    Fail(400, "bad_request", kUnreadable, "There must be one Authorization field at most.");
  } else if (headers.Count("Content-Length") > 1 || headers.Count("Transfer-Encoding") > 1 ||
             (!coding.empty() && !head_.http11) || (length && !IsLength(length_text))) {
    Fail(400, "bad_request", kUnreadable, Explain(beast_http::error::bad_content_length));
  } else if (headers.Count("Transfer-Encoding") == 1 && !EqualsIgnoringCase(coding, "chunked")) {
    Fail(501, "not_implemented", "Not implemented", "The only Transfer-Encoding is chunked.");
  } else if (!head_.method_known) {
    Fail(501, "not_implemented", "Not implemented", "This method is not known here.");
  } else if (headers.Count("Expect") > 1 ||
             (!expect.empty() && !EqualsIgnoringCase(expect, "100-continue"))) {
    Fail(417, "expectation_failed", "Expectation failed", "The only Expect is 100-continue.");
  } else if (length && *length > limits_.body_bytes_max) {
    Fail(413, "body_too_large", "The body is too large",
         base::StrCat("At most ", limits_.body_bytes_max, " bytes."));
  } else if (const Status target = SplitTarget(); !target.ok()) {
    Fail(400, "bad_request", kUnreadable, target.message());
  } else {
    machine_->body_limit(limits_.body_bytes_max);
  }
}

}  // namespace outbox::service
