#include "sink/amqp/amqp_sink.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sink/amqp/alarm.h"
#include "sink/amqp/batch_publisher.h"
#include "sink/amqp/connection.h"
#include "sink/amqp/options.h"

namespace outbox::sink {
namespace {

using std::chrono::milliseconds;

// Waits end this much before a call's deadline, so that the call has returned when it passes.
constexpr milliseconds kReserveMax{100};
// An idle connection's heartbeat is a few bytes. A broker that does not take them is gone.
constexpr milliseconds kBeatTimeout{1000};

Deadline WithReserve(Deadline deadline) {
  return Deadline(deadline.at() - std::min(kReserveMax, deadline.remaining() / 4));
}

class AmqpSink final : public Sink {
 public:
  explicit AmqpSink(AmqpOptions options)
      : options_(std::move(options)), idle_([this] { return Beat(); }) {}
  ~AmqpSink() override { idle_.Clear(); }

  std::string_view name() const noexcept override { return "rabbitmq"; }
  SinkTraits traits() const noexcept override {
    return {.batch_max = options_.window, .concurrency = 1};
  }

  Status Open(Deadline deadline) override {
    const std::unique_lock call(call_, std::try_to_lock);
    if (!call.owns_lock()) return Busy();
    idle_.Clear();
    Status status = Ready(WithReserve(deadline));
    KeepAlive();
    return status;
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    if (batch.empty()) return;
    const std::unique_lock call(call_, std::try_to_lock);
    if (!call.owns_lock()) {
      std::fill(results.begin(), results.end(), Busy());
      return;
    }
    idle_.Clear();
    PublishAll(batch, results, deadline);
    KeepAlive();
  }

  void Close(Deadline deadline) noexcept override {
    const std::unique_lock call(call_, std::try_to_lock);
    if (!call.owns_lock()) return;
    idle_.Clear();
    if (connection_ != nullptr) connection_->Close(deadline);
    connection_.reset();
  }

 private:
  Status Busy() const {
    return Status::SinkDown(base::StrCat("RabbitMQ at ", options_.endpoints[endpoint_].ToString(),
                                         ": an earlier call still hangs"));
  }

  // A connection that works as far as can be known.
  Status Ready(Deadline deadline) {
    if (connection_ != nullptr && !Listen(deadline).ok()) connection_.reset();
    if (connection_ != nullptr) return Status::Ok();
    return Connect(deadline);
  }

  // Takes what the broker has said since the last call; answers to earlier batches come too late.
  Status Listen(Deadline deadline) {
    const auto guard = connection_->Guard(deadline);
    for (;;) {
      OUTBOX_ASSIGN_OR_RETURN(const BrokerEvent event,
                              connection_->Next(Deadline::After(milliseconds(0))));
      if (event.kind == BrokerEvent::Kind::kNothing) return Status::Ok();
    }
  }

  // Each host gets its share of the time.
  Status Connect(Deadline deadline) {
    Status status;
    for (std::size_t left = options_.endpoints.size(); left > 0; --left) {
      const auto share = deadline.remaining() / static_cast<int>(left);
      auto connection =
          Connection::Open(options_, options_.endpoints[endpoint_], Deadline::After(share));
      if (connection.ok()) {
        connection_ = *std::move(connection);
        return Status::Ok();
      }
      status = connection.error();
      endpoint_ = (endpoint_ + 1) % options_.endpoints.size();
    }
    return status;
  }

  void PublishAll(std::span<const Message> batch, std::span<Status> results, Deadline deadline) {
    PublishCall call{.batch = batch, .results = results, .refused = {}};
    std::deque<std::vector<std::size_t>> to_send(1, std::vector<std::size_t>(batch.size()));
    std::iota(to_send[0].begin(), to_send[0].end(), std::size_t{0});
    while (!to_send.empty()) {
      const std::vector<std::size_t> which = std::move(to_send.front());
      to_send.pop_front();
      Leftover left = PublishSome(call, which, deadline);
      // Those in doubt by themselves: they have passed before, and nothing can put them in doubt
      // once more.
      if (!left.untaken.empty()) to_send.push_front(std::move(left.untaken));
      if (!left.in_doubt.empty()) to_send.push_front(std::move(left.in_doubt));
    }
  }

  Leftover PublishSome(PublishCall& call, std::span<const std::size_t> which, Deadline deadline) {
    if (const Status status = Ready(WithReserve(deadline)); !status.ok()) {
      for (const std::size_t index : which) call.PutUntaken(index, status);
      return {};
    }
    BatchPublisher publisher(options_, *connection_, call, which);
    Status status;
    {
      const auto guard = connection_->Guard(deadline);
      status = publisher.Run(WithReserve(deadline));
    }
    if (!status.ok()) connection_.reset();
    return publisher.TakeLeftover();
  }

  Deadline NextBeat() const { return Deadline::After(milliseconds(options_.heartbeat) / 2); }

  void KeepAlive() {
    if (connection_ != nullptr && options_.heartbeat.count() > 0) idle_.Set(NextBeat());
  }

  // On the alarm's thread, while no call is under way: every call clears the alarm first.
  std::optional<Deadline> Beat() {
    if (!Listen(Deadline::After(kBeatTimeout)).ok()) {
      connection_.reset();
      return std::nullopt;
    }
    return NextBeat();
  }

  const AmqpOptions options_;
  std::mutex call_;  // held by the call under way
  // The one in use, or the next to try. Others read it while a call hangs.
  std::atomic<std::size_t> endpoint_ = 0;
  std::unique_ptr<Connection> connection_;
  Alarm idle_;
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeAmqpSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(AmqpOptions options, ReadAmqpOptions(uri));
  return std::shared_ptr<Sink>(std::make_shared<AmqpSink>(std::move(options)));
}

Result<Way> AmqpWay(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(AmqpOptions options, ReadAmqpOptions(uri));
  if (options.tls) options.tls->instead = "write amqp:";
  return Way{.endpoints = std::move(options.endpoints),
             .tls = std::move(options.tls),
             .instead = "write amqps:"};
}

}  // namespace outbox::sink
