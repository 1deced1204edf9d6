// Listener: accepts connections at one address and starts to serve them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "outbox/status.h"
#include "service/http/asio.h"
#include "service/http/core.h"
#include "service/http/options.h"

namespace outbox::service {

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // Bound and listening; nothing is accepted before Start.
  static Result<std::shared_ptr<Listener>> Open(asio::io_context& io, std::shared_ptr<Core> core,
                                                const ListenerOptions& options);

  Listener(asio::io_context& io, std::shared_ptr<Core> core, const ListenerOptions& options,
           std::shared_ptr<asio::ssl::context> tls);

  void Start();
  // Reads the TLS files again, for connections to come; as it was when they can not be used. Any
  // thread.
  Status ReloadTls();
  // Any thread.
  void Close();

  const ListenAddress& address() const noexcept { return address_; }

 private:
  static asio::awaitable<void> Run(std::shared_ptr<Listener> self);
  Status Bind(const ListenAddress& address);
  void Serve(tcp::socket socket);

  asio::io_context& io_;
  const std::shared_ptr<Core> core_;
  const std::shared_ptr<const Router> router_;
  const std::optional<TlsOptions> tls_files_;
  std::shared_ptr<asio::ssl::context> tls_;  // of the acceptor's strand
  tcp::acceptor acceptor_;
  ListenAddress address_;
};

}  // namespace outbox::service
