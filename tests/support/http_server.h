// HttpServer: a web server inside the test, which answers as the test says and remembers what it
// was asked. HTTP/1.1 with kept-alive connections, with TLS when given a certificate.
//
// Threads: a thread of its own for each connection; all methods may be called from any thread. The
// handler is called from several at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/certificate.h"
#include "tests/support/reserved_port.h"

namespace outbox::testing {

class HttpServer {
 public:
  struct Request {
    std::string method;
    std::string target;                          // "/path?query"
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
  };

  enum class Ending {
    kKeep,    // the connection stays open
    kClose,   // closed after the answer
    kReset,   // reset instead of an answer
    kCutOff,  // closed before the end of the body
    kHang,    // no answer, until the server stops
  };
  struct Reply {
    int status = 200;
    std::map<std::string, std::string> headers = {};
    std::string body = {};
    Ending ending = Ending::kKeep;
    // Waited before each byte of the body.
    std::chrono::milliseconds per_byte{0};
    std::string reason = "Test";
  };
  using Handler = std::function<Reply(const Request&)>;

  struct Plan {
    Handler handler = {};  // 200 for everything when not given
    std::optional<Certificate> certificate = {};
    std::string address = "127.0.0.1";
    int port = 0;  // a free one
  };

  // Null when it can not listen.
  static std::unique_ptr<HttpServer> Start(Plan plan);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_.number(); }
  // "http://127.0.0.1:PORT"
  std::string url() const;

  // Goes away with all its connections; comes back on the same port.
  void Stop();
  bool StartAgain();
  // Frozen, it keeps its connections and answers nothing.
  void Freeze();
  void Thaw();

  // Since the start: connections taken, and requests in the order of their arrival.
  std::size_t connections() const;
  std::vector<Request> requests() const;

 private:
  class Channel;
  struct Connection;

  explicit HttpServer(Plan plan);
  bool Listen();
  void Accept();
  void Serve(Connection& connection);
  // False when the connection is to be closed.
  bool Answer(Channel& channel, const Request& request);

  const Plan plan_;
  std::shared_ptr<void> tls_;  // an SSL_CTX
  const ReservedPort port_;
  int listener_ = -1;
  std::thread acceptor_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool frozen_ = false;
  std::size_t connections_ = 0;
  std::vector<Request> requests_;
  std::list<std::unique_ptr<Connection>> open_;
};

}  // namespace outbox::testing
