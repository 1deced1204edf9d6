// What a stranger can send: request parsing, routing, query parameters, JSON bodies.
//
// The first byte of the input says in how small pieces the rest arrives. A request must mean the
// same however it is cut, so each is read twice: in pieces, and as far as possible at once.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "service/http/json_body.h"
#include "service/http/parameters.h"
#include "service/http/problem.h"
#include "service/http/request_id.h"
#include "service/http/request_parser.h"
#include "service/http/response_head.h"
#include "service/http/router.h"

namespace {

using outbox::service::RequestParser;
using State = RequestParser::State;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

outbox::service::Limits SmallLimits() {
  return {.header_bytes_max = 1024,
          .header_fields_max = 20,
          .target_bytes_max = 256,
          .body_bytes_max = 512,
          .query_parameters_max = 8};
}

struct Outcome {
  State state = State::kHead;
  std::string path, body;
  std::size_t taken = 0;
};

outbox::service::Router& TheRouter() {
  static auto& router = *[] {
    auto* const made = new outbox::service::Router();
    const auto handler = [](const outbox::service::Request&) {
      return outbox::service::Response();
    };
    for (const char* pattern : {"/", "/a", "/a/{id}", "/a/stats", "/{x}/{y}/b", "/{x}/c/{z}"}) {
      made->Add(outbox::service::Method::kGet, pattern, handler);
    }
    made->Add(outbox::service::Method::kPost, "/a/{id}", handler);
    return made;
  }();
  return router;
}

void Use(const RequestParser& parser) {
  const auto& head = parser.head();
  const auto match = TheRouter().Match(head.method, head.segments);
  for (const auto& [name, value] : match.params) Require(!value.empty(), "an empty parameter");
  (void)outbox::service::CheckParameters(head.query, {"status", "page", "page_size"});
  (void)outbox::service::IntParameter(head.query, "page", {.min = 1, .max = 9, .fallback = 1});
  (void)outbox::service::TimeParameter(head.query, "since");
  const std::string id = outbox::service::RequestId(head.headers.Find("X-Request-Id"));
  Require(!id.empty() && id.size() <= 64, "a request id out of bounds");
  outbox::service::Response response = outbox::service::Problem(404, "x", "y", head.path);
  response.headers.emplace_back("X-Echo", head.headers.Find("X-Echo"));
  outbox::service::SetInstance(response, id);
  const std::string text = ResponseHead(response, {.request_id = id});
  Require(text.find("\r\n\r\n") == text.size() - 4, "an answer with two ends");
}

Outcome Read(std::string_view bytes, std::size_t step) {
  RequestParser parser(SmallLimits());
  Outcome outcome;
  std::string buffer;
  bool more = true;
  while (more && (parser.state() == State::kHead || parser.state() == State::kBody)) {
    more = !bytes.empty();
    buffer += bytes.substr(0, step);
    bytes.remove_prefix(std::min(step, bytes.size()));
    while (true) {
      const State before = parser.state();
      const std::size_t used = parser.Put(buffer);
      Require(used <= buffer.size(), "more taken than given");
      buffer.erase(0, used);
      outcome.taken += used;
      if (before == State::kHead && parser.state() != State::kHead &&
          parser.state() != State::kFailed) {
        Use(parser);
      }
      if (used == 0 || parser.state() == State::kDone || parser.state() == State::kFailed) break;
    }
    Require(buffer.size() <= SmallLimits().header_bytes_max + step, "an unbounded buffer");
  }
  outcome.state = parser.state();
  outcome.path = parser.head().path;
  if (outcome.state == State::kDone) outcome.body = parser.TakeBody();
  if (outcome.state == State::kFailed) {
    Require(parser.refusal().status >= 400 && parser.refusal().status <= 501, "an odd refusal");
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t step = data[0] % 64 + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const Outcome whole = Read(bytes, 1024);
  const Outcome pieces = Read(bytes, step);
  const bool done = whole.state == State::kDone;
  Require(done == (pieces.state == State::kDone), "pieces mean something else");
  if (done) {
    Require(whole.body == pieces.body && whole.path == pieces.path && whole.taken == pieces.taken,
            "pieces are read differently");
    Require(whole.body.size() <= SmallLimits().body_bytes_max, "a body out of bounds");
    (void)outbox::service::ParseJson(whole.body, 8);
  }
  (void)outbox::service::ParseJson(bytes, 8);
  return 0;
}
