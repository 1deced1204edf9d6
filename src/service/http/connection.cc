#include "service/http/connection.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "service/http/problem.h"
#include "service/http/request_id.h"
#include "service/http/response_head.h"

namespace outbox::service {
namespace {

// How long a stop waits for a request that may be on its way to an idle connection.
constexpr std::chrono::milliseconds kStopGrace{100};
// A handler that answers at its deadline is still heard.
constexpr std::chrono::milliseconds kHandlerGrace{500};
constexpr std::size_t kReadBytes = 8 * 1024;
// What the kernel may hold of a stream for a listener that does not read, besides our own buffer.
constexpr int kStreamUnsentBytes = 64 * 1024;
// Not an answer but the word to read the body.
constexpr int kGoOn = 0;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::array<asio::const_buffer, 2> Parts(std::string_view first, std::string_view second = {}) {
  return {asio::const_buffer(first.data(), first.size()),
          asio::const_buffer(second.data(), second.size())};
}

Handler AskingBeforeBody(const ServerOptions& options) {
  return [ask = options.before_body](const Request& request) {
    std::optional<Response> refused = ask(request);
    return refused ? *std::move(refused) : Response{.status = kGoOn};
  };
}

// Holds the router, which has the handler, for as long as that may run.
Handler HandlerOf(const Route& route, std::shared_ptr<const Router> router) {
  return [&handler = route.handler, router = std::move(router)](const Request& request) {
    return handler(request);
  };
}

}  // namespace

Connection::Connection(std::shared_ptr<Core> core, std::shared_ptr<const Router> router,
                       std::shared_ptr<Transport> transport, Connections::Ticket ticket,
                       std::string remote)
    : core_(std::move(core)),
      router_(std::move(router)),
      transport_(std::move(transport)),
      ticket_(std::move(ticket)),
      remote_(std::move(remote)),
      buffer_(core_->options.limits.header_bytes_max + 1),
      stream_timer_(transport_->executor()) {
  if (core_->observer != nullptr) core_->observer->OnConnections(1);
}

Connection::~Connection() {
  if (core_->observer != nullptr) core_->observer->OnConnections(-1);
}

void Connection::Start() {
  ticket_.Register(weak_from_this());
  SetWaiting(true);
  asio::co_spawn(transport_->executor(), Run(shared_from_this()), asio::detached);
}

void Connection::BeginStop() {
  asio::post(transport_->executor(), [self = shared_from_this()] {
    if (self->idle_) self->transport_->SetDeadline(Clock::now() + kStopGrace);
    if (self->lingering_) {
      const auto soon = Clock::now() + self->core_->options.limits.linger_time;
      self->transport_->SetDeadline(std::min(self->transport_->deadline(), soon));
    }
    if (self->stream_ != nullptr) self->stream_->Close();
  });
}

void Connection::Abort() {
  asio::post(transport_->executor(), [self = shared_from_this()] {
    self->aborted_ = true;
    if (self->call_ != nullptr) self->call_->timer.cancel();
    self->WakeStream();
    self->transport_->Close();
  });
}

void Connection::MakeRoom() {
  if (core_->observer != nullptr) core_->observer->OnDisplaced();
  asio::post(transport_->executor(), [self = shared_from_this()] {
    self->leaving_ = true;
    if (!self->waiting_) return;
    self->aborted_ = true;
    self->transport_->Close();
  });
}

void Connection::SetWaiting(bool waiting) {
  waiting_ = waiting;
  ticket_.SetWaiting(waiting);
}

asio::awaitable<void> Connection::Run(std::shared_ptr<Connection> self) {
  const Limits& limits = self->core_->options.limits;
  Transport& transport = *self->transport_;
  transport.SetDeadline(Clock::now() + limits.header_time);
  bool open = co_await transport.Handshake();
  while (open && !self->aborted_) {
    self->SetWaiting(true);
    const bool more = co_await self->AwaitRequest();
    if (!more) break;
    Exchange exchange(limits);
    co_await self->Receive(exchange);
    if (exchange.abandoned) break;
    if (!exchange.answered) co_await self->Handle(exchange);
    if (self->aborted_) break;
    co_await self->Respond(exchange);
    self->Report(exchange);
    ++self->served_;
    open = exchange.complete && exchange.keep_alive;
    if (exchange.complete && !open && !exchange.timed_out) co_await self->Linger(exchange);
  }
  transport.Close();
}

// Whoever is still sending a body looks for the answer behind it.
asio::awaitable<void> Connection::Linger(const Exchange& exchange) {
  const Limits& limits = core_->options.limits;
  auto until = Clock::now() + limits.linger_time;
  std::size_t bytes = limits.linger_bytes_max;
  if (exchange.parser.state() == RequestParser::State::kBody && !core_->stopping) {
    until = std::max(until, exchange.started + limits.request_time);
    bytes += limits.body_bytes_max;
  }
  lingering_ = true;
  co_await transport_->Linger(until, bytes);
  lingering_ = false;
}

asio::awaitable<bool> Connection::AwaitRequest() {
  if (buffer_.size() > 0) co_return true;
  const Limits& limits = core_->options.limits;
  const auto wait = core_->stopping ? kStopGrace
                    : served_ == 0  ? limits.header_time
                                    : limits.idle_time;
  transport_->SetDeadline(Clock::now() + wait);
  idle_ = true;
  const Transport::Io io = co_await Fill();
  idle_ = false;
  co_return io.ok;
}

asio::awaitable<Transport::Io> Connection::Fill() {
  const std::size_t room = buffer_.max_size() - buffer_.size();
  const Transport::Io io = co_await transport_->Read(buffer_.prepare(std::min(kReadBytes, room)));
  buffer_.commit(io.bytes);
  co_return io;
}

asio::awaitable<void> Connection::Feed(Exchange& exchange, RequestParser::State state,
                                       Clock::time_point deadline) {
  transport_->SetDeadline(deadline);
  RequestParser& parser = exchange.parser;
  while (parser.state() == state) {
    const auto data = buffer_.data();
    buffer_.consume(parser.Put({static_cast<const char*>(data.data()), data.size()}));
    if (parser.state() == RequestParser::State::kFailed) exchange.Answer(parser.refusal());
    if (parser.state() != state) break;
    const Transport::Io io = co_await Fill();
    if (io.ok) continue;
    exchange.timed_out = io.timed_out;
    exchange.abandoned = !io.timed_out || !parser.begun();
    if (!exchange.abandoned) {
      exchange.Answer(Problem(408, "request_timeout", "The request took too long to arrive", ""));
    }
    break;
  }
}

asio::awaitable<void> Connection::Receive(Exchange& exchange) {
  const Limits& limits = core_->options.limits;
  co_await Feed(exchange, RequestParser::State::kHead, exchange.started + limits.header_time);
  SetWaiting(false);
  exchange.request_id = RequestId(exchange.parser.head().headers.Find("X-Request-Id"));
  if (exchange.answered || exchange.abandoned) co_return;
  FindRoute(*router_, core_->cors, exchange);
  if (exchange.answered || exchange.parser.state() == RequestParser::State::kDone) co_return;
  co_await AskBeforeBody(exchange);
  exchange.abandoned = aborted_;
  if (exchange.answered || exchange.abandoned) co_return;
  SetWaiting(true);
  transport_->SetDeadline(exchange.started + limits.request_time);
  if (exchange.parser.head().expects_continue && buffer_.size() == 0) {
    const Transport::Io io = co_await transport_->Write(Parts(kContinue));
    exchange.abandoned = !io.ok;
  }
  if (exchange.abandoned) co_return;
  co_await Feed(exchange, RequestParser::State::kBody, exchange.started + limits.request_time);
  SetWaiting(false);
}

asio::awaitable<void> Connection::AskBeforeBody(Exchange& exchange) {
  if (core_->options.before_body == nullptr) co_return;
  Handler ask = AskingBeforeBody(core_->options);
  co_await CallOnWorker(exchange, MakeCall(exchange), core_->workers, std::move(ask));
  if (exchange.response.status == kGoOn) exchange.answered = false;
}

std::shared_ptr<HandlerCall> Connection::MakeCall(const Exchange& exchange) const {
  const RequestHead& head = exchange.parser.head();
  const Route& route = *exchange.match.route;
  auto call = std::make_shared<HandlerCall>(transport_->executor());
  Request& request = call->request;
  request.method = head.method;
  request.path = head.path;
  request.route = route.pattern;
  request.query = head.query;
  request.headers = head.headers;
  request.remote = remote_;
  request.id = exchange.request_id;
  request.deadline =
      Deadline::After(route.options.handle_time.value_or(core_->options.limits.handle_time));
  return call;
}

asio::awaitable<void> Connection::Handle(Exchange& exchange) {
  const Route& route = *exchange.match.route;
  auto call = MakeCall(exchange);
  call->request.params = std::move(exchange.match.params);
  call->request.body = exchange.parser.TakeBody();
  if (route.options.quick) {
    exchange.Answer(CallHandler(route.handler, call->request));
    co_return;
  }
  Workers& workers = route.options.apart ? core_->apart : core_->workers;
  Handler handler = HandlerOf(route, router_);
  co_await CallOnWorker(exchange, std::move(call), workers, std::move(handler));
}

asio::awaitable<void> Connection::CallOnWorker(Exchange& exchange,
                                               std::shared_ptr<HandlerCall> call, Workers& workers,
                                               Handler handler) {
  if (SubmitHandler(workers, call, std::move(handler))) {
    co_await AwaitHandler(exchange, std::move(call));
  } else {
    exchange.Answer(RetryAfter(
        Problem(503, "overloaded", "Too much to do", "All workers are busy. Try again shortly."),
        std::chrono::seconds(1)));
  }
}

bool Connection::SubmitHandler(Workers& workers, const std::shared_ptr<HandlerCall>& call,
                               Handler handler) {
  return workers.Submit([call, handler = std::move(handler), executor = transport_->executor()] {
    Response response = call->request.deadline.passed()
                            ? RetryAfter(Problem(503, "overloaded", "Too much to do",
                                                 "No worker was free in time."),
                                         std::chrono::seconds(1))
                            : CallHandler(handler, call->request);
    asio::post(executor, [call, response = std::move(response)]() mutable {
      if (call->given_up && response.stream != nullptr) response.stream->Detach();
      call->response = std::move(response);
      call->finished = true;
      call->timer.cancel();
    });
  });
}

asio::awaitable<void> Connection::AwaitHandler(Exchange& exchange,
                                               std::shared_ptr<HandlerCall> call) {
  transport_->SetDeadline(Transport::kNever);
  call_ = call;
  call->timer.expires_at(call->request.deadline.at() + kHandlerGrace);
  while (!call->finished && !aborted_) {
    AsioError cancelled;
    co_await call->timer.async_wait(Into(cancelled));
    if (!cancelled) break;
  }
  call_ = nullptr;
  if (call->finished) {
    exchange.Answer(std::move(call->response));
  } else {
    call->given_up = true;
    exchange.Answer(Problem(504, "timeout", "It took too long",
                            "The request was given up; it may have had its effect."));
  }
}

asio::awaitable<void> Connection::Respond(Exchange& exchange) {
  const RequestParser& parser = exchange.parser;
  const RequestHead& head = parser.head();
  const Limits& limits = core_->options.limits;
  Response& response = exchange.response;
  SetInstance(response, exchange.request_id);
  core_->cors.Allow(head.headers, response.headers);
  exchange.keep_alive = parser.state() == RequestParser::State::kDone && head.keep_alive &&
                        response.stream == nullptr && !core_->stopping && !leaving_ &&
                        served_ + 1 < limits.requests_per_connection_max;
  const std::string text = ResponseHead(response, {.http11 = head.http11,
                                                   .keep_alive = exchange.keep_alive,
                                                   .tls = transport_->tls(),
                                                   .request_id = exchange.request_id});
  const bool has_body = head.method != Method::kHead && response.stream == nullptr &&
                        response.status != 204 && response.status != 304;
  transport_->SetDeadline(Clock::now() + limits.write_time);
  SetWaiting(response.stream == nullptr);
  const auto parts = Parts(text, has_body ? std::string_view(response.body) : std::string_view());
  const Transport::Io io = co_await transport_->Write(parts);
  exchange.sent += io.bytes;
  exchange.complete = io.ok;
  if (response.stream == nullptr) co_return;
  if (io.ok && head.method != Method::kHead) co_await Stream(exchange);
  response.stream->Detach();
}

// However serving ends, the stream is told.
class Connection::Serving {
 public:
  Serving(Connection& connection, const std::shared_ptr<EventStream>& stream)
      : connection_(connection) {
    connection_.stream_ = stream;
    Tell(1);
  }
  ~Serving() {
    std::exchange(connection_.stream_, nullptr)->Detach();
    Tell(-1);
  }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  void Tell(int change) const {
    const auto& observer = connection_.core_->observer;
    if (observer != nullptr) observer->OnStreams(change);
  }

  Connection& connection_;
};

asio::awaitable<void> Connection::Stream(Exchange& exchange) {
  const Serving serving(*this, exchange.response.stream);
  transport_->BoundUnsent(kStreamUnsentBytes);
  const auto executor = transport_->executor();
  stream_->Attach([weak = weak_from_this(), executor] {
    asio::post(executor, [weak] {
      if (const auto self = weak.lock()) self->WakeStream();
    });
  });
  if (core_->stopping) stream_->Close();
  peer_watched_ = true;
  asio::co_spawn(executor, WatchPeer(shared_from_this()), asio::detached);
  co_await StreamEvents(exchange, *stream_);
  // Nobody else may read when the connection says goodbye.
  while (peer_watched_) {
    transport_->Cancel();
    stream_timer_.expires_after(core_->options.limits.linger_time);
    AsioError ignored;
    co_await stream_timer_.async_wait(Into(ignored));
  }
}

asio::awaitable<void> Connection::StreamEvents(Exchange& exchange, EventStream& stream) {
  while (!peer_gone_ && !aborted_) {
    EventStream::Taken taken = stream.Take();
    if (taken.dropped) break;
    if (taken.text.empty()) {
      if (taken.closed) co_return;
      transport_->SetDeadline(Transport::kNever);
      if (!std::exchange(stream_woken_, false)) {
        stream_timer_.expires_after(stream.options().heartbeat);
        AsioError woken;
        co_await stream_timer_.async_wait(Into(woken));
        if (woken) continue;
        taken.text = ": alive\n\n";
      } else {
        continue;
      }
    }
    transport_->SetDeadline(Clock::now() + core_->options.limits.write_time);
    const Transport::Io io = co_await transport_->Write(Parts(taken.text));
    exchange.sent += io.bytes;
    if (!io.ok) break;
  }
  exchange.complete = false;
}

asio::awaitable<void> Connection::WatchPeer(std::shared_ptr<Connection> self) {
  std::array<char, 256> scratch;
  bool there = true;
  while (there) {
    const Transport::Io io = co_await self->transport_->Read(asio::buffer(scratch));
    there = io.ok;
  }
  self->peer_gone_ = true;
  self->peer_watched_ = false;
  self->WakeStream();
}

void Connection::WakeStream() {
  stream_woken_ = true;
  stream_timer_.cancel();
  // A write to a listener that is too slow would go on until its deadline.
  if (stream_ != nullptr && stream_->dropped()) transport_->Cancel();
}

void Connection::Report(const Exchange& exchange) const noexcept {
  if (core_->observer == nullptr) return;
  const RequestHead& head = exchange.parser.head();
  const Route* const route = exchange.match.route;
  try {
    core_->observer->OnRequest(
        {.method = head.method_known ? ToString(head.method) : "OTHER",
         .route = route == nullptr ? std::string_view() : std::string_view(route->pattern),
         .status = exchange.response.stream != nullptr ? 200 : exchange.response.status,
         .request_bytes = exchange.parser.bytes(),
         .response_bytes = exchange.sent,
         .took = Clock::now() - exchange.started,
         .remote = remote_,
         .request_id = exchange.request_id,
         .complete = exchange.complete,
         .stream = exchange.response.stream != nullptr,
         .cause = exchange.response.cause.ok() ? nullptr : &exchange.response.cause});
  } catch (...) {  // an observer is not worth a connection
  }
}

}  // namespace outbox::service
