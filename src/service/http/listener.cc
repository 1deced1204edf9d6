#include "service/http/listener.h"

#include <utility>

#include "base/text.h"
#include "service/http/client_address.h"
#include "service/http/connection.h"
#include "service/http/problem.h"
#include "service/http/request_id.h"
#include "service/http/response_head.h"
#include "service/http/tls_context.h"

namespace outbox::service {
namespace {

// When accepting fails: out of file descriptors, most likely.
constexpr std::chrono::milliseconds kAcceptPause{100};

// An IPv4 client is the same one whichever socket it came through.
asio::ip::address Unmapped(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

Status ListenError(const ListenAddress& address, const AsioError& error) {
  return Status::Permanent(
             Code::kUnavailable,
             base::StrCat("can not listen at ", address.ToString(), ": ", error.message()))
      .WithHint("Choose an address of this machine and a port that nobody else uses.");
}

// Said to a client for whom there is no room, if it fits into the socket at once.
void TurnAway(tcp::socket& socket) {
  Response response =
      RetryAfter(Problem(503, "too_many_connections", "Too many connections", "Try again shortly."),
                 std::chrono::seconds(1));
  const std::string request_id = RequestId("");
  SetInstance(response, request_id);
  const std::string text =
      ResponseHead(response, {.keep_alive = false, .request_id = request_id}) + response.body;
  AsioError ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(text), ignored);
  socket.shutdown(tcp::socket::shutdown_send, ignored);
}

}  // namespace

Listener::Listener(asio::io_context& io, std::shared_ptr<Core> core, const ListenerOptions& options,
                   std::shared_ptr<asio::ssl::context> tls)
    : io_(io),
      core_(std::move(core)),
      router_(options.router),
      tls_files_(options.tls),
      tls_(std::move(tls)),
      acceptor_(asio::make_strand(io)) {}

Result<std::shared_ptr<Listener>> Listener::Open(asio::io_context& io, std::shared_ptr<Core> core,
                                                 const ListenerOptions& options) {
  std::shared_ptr<asio::ssl::context> tls;
  if (options.tls) {
    OUTBOX_ASSIGN_OR_RETURN(tls, MakeTlsContext(*options.tls));
  }
  auto listener = std::make_shared<Listener>(io, std::move(core), options, std::move(tls));
  OUTBOX_RETURN_IF_ERROR(listener->Bind(options.address));
  return listener;
}

Status Listener::Bind(const ListenAddress& address) {
  AsioError error;
  const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
  const asio::ip::address ip = asio::ip::make_address(host, error);
  if (error) {
    return Status::Invalid(base::StrCat("can not listen at \"", base::Truncate(host, 100),
                                        "\": it is not an address"))
        .WithHint("Write 127.0.0.1, ::1, 0.0.0.0, :: or another address of this machine.");
  }
  const tcp::endpoint endpoint(ip, address.port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return ListenError(address, error);
  const tcp::endpoint bound = acceptor_.local_endpoint(error);
  if (error) return ListenError(address, error);
  address_ = {.host = bound.address().to_string(), .port = bound.port()};
  return Status::Ok();
}

void Listener::Start() {
  asio::co_spawn(acceptor_.get_executor(), Run(shared_from_this()), asio::detached);
}

Status Listener::ReloadTls() {
  if (!tls_files_) return Status::Ok();
  OUTBOX_ASSIGN_OR_RETURN(auto tls, MakeTlsContext(*tls_files_));
  asio::post(acceptor_.get_executor(), [self = shared_from_this(), tls = std::move(tls)]() mutable {
    self->tls_ = std::move(tls);
  });
  return Status::Ok();
}

void Listener::Close() {
  asio::post(acceptor_.get_executor(), [self = shared_from_this()] {
    AsioError ignored;
    self->acceptor_.close(ignored);
  });
}

asio::awaitable<void> Listener::Run(std::shared_ptr<Listener> self) {
  asio::steady_timer pause(self->acceptor_.get_executor());
  while (self->acceptor_.is_open()) {
    AsioError error;
    tcp::socket socket =
        co_await self->acceptor_.async_accept(asio::make_strand(self->io_), Into(error));
    if (!error) {
      self->Serve(std::move(socket));
    } else if (error != asio::error::operation_aborted && self->acceptor_.is_open()) {
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(Into(error));
    }
  }
}

void Listener::Serve(tcp::socket socket) {
  AsioError error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error || core_->stopping) return;
  const ListenAddress remote{.host = Unmapped(peer.address()).to_string(), .port = peer.port()};
  try {
    auto ticket = core_->connections.Admit(ClientOf(remote.host));
    if (!ticket) {
      if (core_->observer != nullptr) core_->observer->OnTurnedAway();
      if (tls_ == nullptr) TurnAway(socket);
      return;
    }
    auto transport = std::make_shared<Transport>(std::move(socket), tls_);
    std::make_shared<Connection>(core_, router_, std::move(transport), *std::move(ticket),
                                 remote.ToString())
        ->Start();
  } catch (const std::exception&) {  // out of memory: this client is not served
  }
}

}  // namespace outbox::service
