#include "sink/redis/redis_sink.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "base/turn.h"
#include "sink/redis/connection.h"
#include "sink/redis/options.h"
#include "sink/redis/pipeline.h"
#include "sink/sent_observer.h"

namespace outbox::sink {
namespace {

class RedisSink final : public Sink {
 public:
  explicit RedisSink(RedisOptions options) : options_(std::move(options)), writer_(options_) {}

  std::string_view name() const noexcept override { return "redis"; }
  SinkTraits traits() const noexcept override {
    return {.batch_max = 1000, .concurrency = options_.tls ? 1U : 2U};
  }

  Status Open(Deadline deadline) override {
    const std::unique_lock sending(sending_, deadline.at());
    if (!sending) return TooLate();
    connection_.reset();
    group_max_ = options_.group;
    return Ready(deadline);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    std::vector<std::size_t> all(batch.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto again = Add(batch, all, Grouping::kAllowed, results, deadline);
    if (!again.empty()) (void)Add(batch, again, Grouping::kNone, results, deadline);
  }

  void Close(Deadline deadline) noexcept override {
    const std::unique_lock sending(sending_, deadline.at());
    if (sending) connection_.reset();
  }

 private:
  enum class Grouping : std::uint8_t { kAllowed, kNone };

  // Returns those that were refused only because of others, and got no result.
  std::vector<std::size_t> Add(std::span<const Message> batch, std::span<const std::size_t> which,
                               Grouping grouping, std::span<Status> results, Deadline deadline) {
    std::unique_lock sending(sending_, deadline.at());
    const Status ready = !sending || deadline.passed() ? TooLate() : Ready(deadline);
    if (!ready.ok()) return Refuse(which, ready, results);
    const std::shared_ptr<RedisConnection> connection = connection_;
    std::unique_lock receiving(connection->receiving(), std::defer_lock);
    // What TLS sends and receives goes through one state.
    if (options_.tls && !receiving.try_lock_until(deadline.at())) {
      return Refuse(which, TooLate(), results);
    }
    const std::size_t group_max =
        grouping == Grouping::kNone ? PipelineWriter::kEachAlone : group_max_.load();
    const SentPipeline sent = Send(*connection, batch, which, group_max, results, deadline);
    SentObserver::Tell();
    // Taken before another call may send: replies come in the order of the commands.
    if (!receiving && !receiving.try_lock_until(deadline.at())) {
      connection->Retire();  // nobody reads what comes behind the replies of that other call
      sent.LeaveUnanswered(results);
      return {};
    }
    sending.unlock();
    PipelineReport report = Settle(*connection, sent, results, deadline);
    if (report.groups_refused) group_max_ = 1;
    return std::move(report.again);
  }

  // What is thrown (there is no memory) must not leave replies for the next call to take.
  SentPipeline Send(RedisConnection& connection, std::span<const Message> batch,
                    std::span<const std::size_t> which, std::size_t group_max,
                    std::span<Status> results, Deadline deadline) {
    try {
      return writer_.Send(connection, batch, which, group_max, results, deadline);
    } catch (...) {
      connection.Retire();
      throw;
    }
  }
  static PipelineReport Settle(RedisConnection& connection, const SentPipeline& sent,
                               std::span<Status> results, Deadline deadline) {
    try {
      return sent.Settle(connection, results, deadline);
    } catch (...) {
      connection.Abandon();
      throw;
    }
  }

  static std::vector<std::size_t> Refuse(std::span<const std::size_t> which, const Status& why,
                                         std::span<Status> results) {
    for (const std::size_t i : which) results[i] = why;
    return {};
  }
  static Status TooLate() {
    return Status(Code::kDeadline, Disposition::kSinkDown, "not sent: no time was left for it");
  }

  Status Ready(Deadline deadline) {
    if (connection_ != nullptr && !connection_->retired() && !connection_->HungUp()) {
      return Status::Ok();
    }
    connection_.reset();
    OUTBOX_ASSIGN_OR_RETURN(connection_, RedisConnection::Open(options_, deadline));
    return Status::Ok();
  }

  const RedisOptions options_;
  // 1 when the server refuses groups, until it is opened anew.
  std::atomic<std::size_t> group_max_ = options_.group;

  base::Turn sending_;  // guards all below
  std::shared_ptr<RedisConnection> connection_;
  PipelineWriter writer_;
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeRedisSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(RedisOptions options, RedisOptions::Read(uri));
  return std::shared_ptr<Sink>(std::make_shared<RedisSink>(std::move(options)));
}

Result<Way> RedisWay(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(RedisOptions options, RedisOptions::Read(uri));
  return Way{.endpoints = std::move(options.endpoints),
             .tls = std::move(options.tls),
             .instead = "write rediss:"};
}

}  // namespace outbox::sink
