#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace outbox::testing {
namespace {

constexpr int kBacklog = 512;

std::shared_ptr<SSL_CTX> MakeTls(const Certificate& certificate) {
  std::shared_ptr<SSL_CTX> tls(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const auto memory = [](const std::string& pem) {
    return std::shared_ptr<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                BIO_free_all);
  };
  const std::shared_ptr<X509> x509(
      PEM_read_bio_X509(memory(certificate.certificate).get(), nullptr, nullptr, nullptr),
      X509_free);
  const std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(memory(certificate.key).get(), nullptr, nullptr, nullptr),
      EVP_PKEY_free);
  if (SSL_CTX_use_certificate(tls.get(), x509.get()) != 1 ||
      SSL_CTX_use_PrivateKey(tls.get(), key.get()) != 1) {
    std::abort();
  }
  return tls;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

// A connection's bytes, encrypted or not.
class HttpServer::Channel {
 public:
  Channel(int fd, SSL_CTX* tls) : fd_(fd) {
    if (tls == nullptr) return;
    ssl_.reset(SSL_new(tls), SSL_free);
    SSL_set_fd(ssl_.get(), fd);
    open_ = SSL_accept(ssl_.get()) == 1;
  }

  bool Write(const std::string& text) {
    std::size_t done = 0;
    while (open_ && done < text.size()) {
      const std::size_t left = text.size() - done;
      const ssize_t taken = ssl_ ? SSL_write(ssl_.get(), text.data() + done, static_cast<int>(left))
                                 : send(fd_, text.data() + done, left, MSG_NOSIGNAL);
      open_ = taken > 0;
      if (open_) done += static_cast<std::size_t>(taken);
    }
    return open_;
  }

  std::optional<Request> Read() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!Fill()) return std::nullopt;
    }
    Request request;
    std::size_t at = buffer_.find("\r\n");
    const std::string first = buffer_.substr(0, at);
    request.method = first.substr(0, first.find(' '));
    request.target = first.substr(request.method.size() + 1);
    request.target.resize(request.target.find(' '));
    while (at < end) {
      const std::size_t next = buffer_.find("\r\n", at + 2);
      const std::string line = buffer_.substr(at + 2, next - at - 2);
      const std::size_t colon = line.find(':');
      std::string value = line.substr(colon + 1);
      value.erase(0, value.find_first_not_of(' '));
      request.headers[Lower(line.substr(0, colon))] = value;
      at = next;
    }
    const auto length = request.headers.find("content-length");
    const std::size_t size = length == request.headers.end() ? 0 : std::stoul(length->second);
    while (buffer_.size() < end + 4 + size) {
      if (!Fill()) return std::nullopt;
    }
    request.body = buffer_.substr(end + 4, size);
    buffer_.erase(0, end + 4 + size);
    return request;
  }

  // The next close sends a reset.
  void Reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

 private:
  bool Fill() {
    char bytes[16384];
    if (!open_) return false;
    const ssize_t count =
        ssl_ ? SSL_read(ssl_.get(), bytes, sizeof bytes) : recv(fd_, bytes, sizeof bytes, 0);
    open_ = count > 0;
    if (open_) buffer_.append(bytes, static_cast<std::size_t>(count));
    return open_;
  }

  const int fd_;
  std::shared_ptr<SSL> ssl_;
  bool open_ = true;
  std::string buffer_;
};

struct HttpServer::Connection {
  int fd = -1;  // -1 once closed; guarded by the server's mutex
  std::thread thread;
};

HttpServer::HttpServer(Plan plan) : plan_(std::move(plan)), port_(plan_.address, plan_.port) {
  // OpenSSL writes without MSG_NOSIGNAL.
  signal(SIGPIPE, SIG_IGN);
  if (plan_.certificate) tls_ = MakeTls(*plan_.certificate);
}

std::unique_ptr<HttpServer> HttpServer::Start(Plan plan) {
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(plan)));
  return server->Listen() ? std::move(server) : nullptr;
}

HttpServer::~HttpServer() { Stop(); }

std::string HttpServer::url() const {
  return (plan_.certificate ? "https://" : "http://") + plan_.address + ":" +
         std::to_string(port());
}

bool HttpServer::Listen() {
  if (port() == 0) return false;
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port()));
  inet_pton(AF_INET, plan_.address.c_str(), &address.sin_addr);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, generic, sizeof address) != 0 || listen(listener_, kBacklog) != 0) {
    close(listener_);
    listener_ = -1;
    return false;
  }
  acceptor_ = std::thread([this] { Accept(); });
  return true;
}

bool HttpServer::StartAgain() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = frozen_ = false;
  }
  return Listen();
}

void HttpServer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& connection : open_) {
      if (connection->fd >= 0) shutdown(connection->fd, SHUT_RDWR);
    }
  }
  changed_.notify_all();
  if (listener_ < 0) return;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  listener_ = -1;
  // Nobody adds any now.
  for (const auto& connection : open_) connection->thread.join();
  open_.clear();
}

void HttpServer::Freeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = true;
}

void HttpServer::Thaw() {
  {
    const std::lock_guard lock(mutex_);
    frozen_ = false;
  }
  changed_.notify_all();
}

std::size_t HttpServer::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

std::vector<HttpServer::Request> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::Accept() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      close(fd);
      return;
    }
    ++connections_;
    open_.push_back(std::make_unique<Connection>());
    Connection& connection = *open_.back();
    connection.fd = fd;
    connection.thread = std::thread([this, &connection] { Serve(connection); });
  }
}

void HttpServer::Serve(Connection& connection) {
  int fd = -1;
  {
    const std::lock_guard lock(mutex_);
    fd = connection.fd;
  }
  {
    Channel channel(fd, static_cast<SSL_CTX*>(tls_.get()));
    while (const auto request = channel.Read()) {
      {
        std::unique_lock lock(mutex_);
        requests_.push_back(*request);
        changed_.wait(lock, [&] { return stopping_ || !frozen_; });
        if (stopping_) break;
      }
      if (!Answer(channel, *request)) break;
    }
  }
  const std::lock_guard lock(mutex_);
  connection.fd = -1;
  close(fd);
}

bool HttpServer::Answer(Channel& channel, const Request& request) {
  const Reply reply = plan_.handler ? plan_.handler(request) : Reply{};
  if (reply.ending == Ending::kReset) {
    channel.Reset();
    return false;
  }
  if (reply.ending == Ending::kHang) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_; });
    return false;
  }
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " + reply.reason + "\r\n";
  for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
  head += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n\r\n";
  const std::size_t sent =
      reply.ending == Ending::kCutOff ? reply.body.size() / 2 : reply.body.size();
  if (reply.per_byte.count() == 0) {
    if (!channel.Write(head + reply.body.substr(0, sent))) return false;
  } else {
    bool open = channel.Write(head);
    for (std::size_t i = 0; open && i < sent; ++i) {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, reply.per_byte, [&] { return stopping_; })) return false;
      lock.unlock();
      open = channel.Write(reply.body.substr(i, 1));
    }
    if (!open) return false;
  }
  return reply.ending == Ending::kKeep;
}

}  // namespace outbox::testing
