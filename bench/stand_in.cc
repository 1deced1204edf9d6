#include "bench/stand_in.h"

#include <librdkafka/rdkafka.h>
// After rdkafka.h.
#include <arpa/inet.h>
#include <librdkafka/rdkafka_mock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <map>
#include <thread>

#include "base/handle.h"
#include "base/text.h"

namespace outbox::bench {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kLengthName = "content-length: ";
constexpr std::string_view kNoContent = "HTTP/1.1 204 No Content\r\n\r\n";

constexpr char kKafkaTopic[] = "outboxd-bench";

// The bytes of the first request in `text`, or 0 when it is not all there. Knows what curl sends.
std::size_t RequestBytes(std::string_view text) {
  const std::size_t head = text.find(kHeadEnd);
  if (head == std::string_view::npos) return 0;
  std::size_t body = 0;
  for (std::size_t at = 0; at < head; at = text.find("\r\n", at) + 2) {
    const std::string_view line = text.substr(at, head - at);
    if (strncasecmp(line.data(), kLengthName.data(), kLengthName.size()) != 0) continue;
    std::from_chars(line.data() + kLengthName.size(), line.data() + line.size(), body);
  }
  const std::size_t bytes = head + kHeadEnd.size() + body;
  return text.size() < bytes ? 0 : bytes;
}

// One thread for all connections: cheaper than any client.
class HttpStandIn final : public StandIn {
 public:
  static Result<std::unique_ptr<StandIn>> Start() {
    std::unique_ptr<HttpStandIn> server(new HttpStandIn);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* address = reinterpret_cast<sockaddr*>(&at);
    if (bind(server->listener_, address, size) != 0 || listen(server->listener_, 256) != 0 ||
        getsockname(server->listener_, address, &size) != 0) {
      return Status::Permanent(Code::kUnavailable, "can not listen on a loopback port");
    }
    server->port_ = ntohs(at.sin_port);
    server->Watch(server->listener_);
    server->Watch(server->stop_);
    server->thread_ = std::thread([raw = server.get()] { raw->Serve(); });
    return std::unique_ptr<StandIn>(std::move(server));
  }

  ~HttpStandIn() override {
    if (thread_.joinable()) {
      eventfd_write(stop_, 1);
      thread_.join();
    }
    for (const auto& [fd, received] : connections_) close(fd);
    for (const int fd : {listener_, stop_, epoll_}) close(fd);
  }

  std::string address() const override {
    return base::StrCat("http://127.0.0.1:", port_, "/?outbox.allow=127.0.0.1");
  }

 private:
  HttpStandIn()
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        stop_(eventfd(0, EFD_CLOEXEC)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

  void Watch(int fd) const {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  void Serve() {
    std::array<epoll_event, 64> events;
    while (true) {
      const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == stop_) return;
        if (fd == listener_) {
          Accept();
        } else if (!Answer(fd)) {
          close(fd);
          connections_.erase(fd);
        }
      }
    }
  }

  void Accept() {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_[fd];
    Watch(fd);
  }

  // False when the connection is over.
  bool Answer(int fd) {
    std::string& received = connections_[fd];
    std::array<char, 64 * 1024> buffer;
    const ssize_t count = recv(fd, buffer.data(), buffer.size(), 0);
    if (count <= 0) return false;
    received.append(buffer.data(), static_cast<std::size_t>(count));
    while (const std::size_t request = RequestBytes(received)) {
      received.erase(0, request);
      const auto sent = send(fd, kNoContent.data(), kNoContent.size(), MSG_NOSIGNAL);
      if (sent != static_cast<ssize_t>(kNoContent.size())) return false;
    }
    return true;
  }

  const int listener_;
  const int stop_;
  const int epoll_;
  int port_ = 0;
  std::map<int, std::string> connections_;  // what was received and not yet answered
  std::thread thread_;
};

class KafkaStandIn final : public StandIn {
 public:
  static Result<std::unique_ptr<StandIn>> Start() {
    std::array<char, 512> error{};
    std::unique_ptr<KafkaStandIn> cluster(new KafkaStandIn);
    rd_kafka_conf_t* conf = rd_kafka_conf_new();  // the client's, once there is one
    rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
    cluster->client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size()));
    if (cluster->client_ == nullptr) return Status::Permanent(Code::kInternal, error.data());
    cluster->cluster_.reset(rd_kafka_mock_cluster_new(cluster->client_.get(), 1));
    if (cluster->cluster_ == nullptr) {
      return Status::Permanent(Code::kInternal, "librdkafka makes no mock cluster");
    }
    // One partition, so one request and one answer at a time: the mock leaves Nagle's algorithm on,
    // which holds a second answer back for 40 ms. Real brokers do not.
    rd_kafka_mock_topic_create(cluster->cluster_.get(), kKafkaTopic, 1, 1);
    return std::unique_ptr<StandIn>(std::move(cluster));
  }

  std::string address() const override {
    return base::StrCat("kafka://", rd_kafka_mock_cluster_bootstraps(cluster_.get()),
                        "?topic=", kKafkaTopic);
  }

 private:
  KafkaStandIn() = default;

  // Destroyed in reverse: the cluster lives in its client.
  base::UniqueHandle<rd_kafka_t, rd_kafka_destroy> client_;
  base::UniqueHandle<rd_kafka_mock_cluster_t, rd_kafka_mock_cluster_destroy> cluster_;
};

}  // namespace

bool IsStandIn(std::string_view name) noexcept { return name == "http" || name == "kafka"; }

Result<std::unique_ptr<StandIn>> StartStandIn(std::string_view name) {
  if (name == "http") return HttpStandIn::Start();
  if (name == "kafka") return KafkaStandIn::Start();
  return std::unique_ptr<StandIn>();
}

}  // namespace outbox::bench
