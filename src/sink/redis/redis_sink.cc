#include "sink/redis/redis_sink.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "sink/redis/connection.h"
#include "sink/redis/options.h"
#include "sink/redis/pipeline.h"

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
    const std::lock_guard lock(sending_);
    connection_.reset();
    return Ready(deadline);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    std::unique_lock sending(sending_);
    if (const Status ready = Ready(deadline); !ready.ok()) {
      std::fill(results.begin(), results.end(), ready);
      return;
    }
    const std::shared_ptr<RedisConnection> connection = connection_;
    std::unique_lock receiving(connection->receiving(), std::defer_lock);
    // What TLS sends and receives goes through one state.
    if (options_.tls) receiving.lock();
    const SentPipeline sent = writer_.Send(*connection, batch, results, deadline);
    // Taken before another call may send: replies come in the order of the commands.
    if (!receiving) receiving.lock();
    sending.unlock();
    sent.Settle(*connection, results, deadline);
  }

  void Close(Deadline) noexcept override {
    const std::lock_guard lock(sending_);
    connection_.reset();
  }

 private:
  Status Ready(Deadline deadline) {
    if (connection_ != nullptr && !connection_->retired() && !connection_->HungUp()) {
      return Status::Ok();
    }
    connection_.reset();
    OUTBOX_ASSIGN_OR_RETURN(connection_, RedisConnection::Open(options_, deadline));
    return Status::Ok();
  }

  const RedisOptions options_;

  std::mutex sending_;  // guards all below
  std::shared_ptr<RedisConnection> connection_;
  PipelineWriter writer_;
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeRedisSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(RedisOptions options, RedisOptions::Read(uri));
  return std::shared_ptr<Sink>(std::make_shared<RedisSink>(std::move(options)));
}

}  // namespace outbox::sink
