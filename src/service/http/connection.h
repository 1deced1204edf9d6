// Connection: the life of one client's connection, as a coroutine on a strand of its own.
//
//   handshake -> wait for a request -> read its head -> route -> may it have a body? (on a worker)
//   -> read that -> handler (on a worker) -> answer -> again
//
// Held by its coroutine alone; ends by itself, within its limits, whatever the client does.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <memory>
#include <string>

#include "service/http/connections.h"
#include "service/http/core.h"
#include "service/http/exchange.h"
#include "service/http/router.h"
#include "service/http/transport.h"

namespace outbox::service {

class Connection final : public Stoppable, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Core> core, std::shared_ptr<const Router> router,
             std::shared_ptr<Transport> transport, Connections::Ticket ticket, std::string remote);

  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Begins to serve. Once.
  void Start();

  void BeginStop() override;
  void Abort() override;
  void MakeRoom() override;

 private:
  using Clock = Transport::Clock;
  class Serving;

  static asio::awaitable<void> Run(std::shared_ptr<Connection> self);
  asio::awaitable<bool> AwaitRequest();
  asio::awaitable<void> Linger(const Exchange& exchange);
  asio::awaitable<Transport::Io> Fill();
  // Feeds the parser until it leaves `state`.
  asio::awaitable<void> Feed(Exchange& exchange, RequestParser::State state,
                             Clock::time_point deadline);
  asio::awaitable<void> Receive(Exchange& exchange);
  asio::awaitable<void> Handle(Exchange& exchange);
  asio::awaitable<void> AwaitHandler(Exchange& exchange, std::shared_ptr<HandlerCall> call);
  // Whoever wants to know the client before his body is read answers, or not.
  asio::awaitable<void> AskBeforeBody(Exchange& exchange);
  // Without the parameters of its path and without its body.
  std::shared_ptr<HandlerCall> MakeCall(const Exchange& exchange) const;
  asio::awaitable<void> CallOnWorker(Exchange& exchange, std::shared_ptr<HandlerCall> call,
                                     Workers& workers, Handler handler);
  bool SubmitHandler(Workers& workers, const std::shared_ptr<HandlerCall>& call, Handler handler);
  asio::awaitable<void> Respond(Exchange& exchange);
  asio::awaitable<void> Stream(Exchange& exchange);
  asio::awaitable<void> StreamEvents(Exchange& exchange, EventStream& stream);
  // Notices that a listener has left, by reading.
  static asio::awaitable<void> WatchPeer(std::shared_ptr<Connection> self);
  void WakeStream();
  void SetWaiting(bool waiting);
  void Report(const Exchange& exchange) const noexcept;

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<const Router> router_;
  const std::shared_ptr<Transport> transport_;
  Connections::Ticket ticket_;
  const std::string remote_;

  // On the strand only.
  boost::beast::flat_buffer buffer_;
  std::size_t served_ = 0;
  bool idle_ = false;
  bool waiting_ = false;  // for the client
  bool leaving_ = false;  // to make room, when the request is answered
  bool lingering_ = false;
  bool aborted_ = false;
  std::shared_ptr<HandlerCall> call_;    // the one that is waited for
  std::shared_ptr<EventStream> stream_;  // the one that is served
  asio::steady_timer stream_timer_;
  bool stream_woken_ = false;
  bool peer_watched_ = false;
  bool peer_gone_ = false;
};

}  // namespace outbox::service
