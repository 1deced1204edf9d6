// Exchange: one request and its answer on their way through a connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "service/http/asio.h"
#include "service/http/request.h"
#include "service/http/request_parser.h"
#include "service/http/response.h"
#include "service/http/router.h"

namespace outbox::service {

// Lives on its connection's strand.
struct Exchange {
  using Clock = std::chrono::steady_clock;

  explicit Exchange(const Limits& limits) : parser(limits) {}

  const Clock::time_point started = Clock::now();
  RequestParser parser;
  RouteMatch match;
  std::string request_id;
  Response response;
  bool answered = false;   // `response` is what will be sent
  bool abandoned = false;  // the client has left: nothing will be
  bool timed_out = false;
  bool keep_alive = false;
  bool complete = false;  // the whole answer was taken by the client's side
  std::uint64_t sent = 0;

  void Answer(Response given) {
    response = std::move(given);
    answered = true;
  }
};

// A handler's call, shared by the connection that waits for it and the worker that runs it. The
// request is constant while the handler runs; the rest is touched on the connection's strand only.
struct HandlerCall {
  explicit HandlerCall(const asio::any_io_executor& executor) : timer(executor) {}

  Request request;
  Response response;
  asio::steady_timer timer;  // cancelled when it has finished
  bool finished = false;
  bool given_up = false;  // nobody waits any more
};

// Finds the route of a request whose head is there, or the answer when there is none: 404, 405, or
// what OPTIONS wants to know.
void FindRoute(const Router& router, const class Cors& cors, Exchange& exchange);

// The handler's answer; 500 when it throws.
Response CallHandler(const Handler& handler, const Request& request) noexcept;

}  // namespace outbox::service
