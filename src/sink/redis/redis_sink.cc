#include "sink/redis/redis_sink.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sink/redis/classify_error.h"
#include "sink/redis/command.h"
#include "sink/redis/connection.h"
#include "sink/redis/options.h"

namespace outbox::sink {
namespace {

using base::StrCat;

// A pipeline leaves in writes of about this size, so that large payloads are not all copied at
// once.
constexpr std::size_t kWriteBytes = std::size_t{1} << 20;
// A buffer that one huge message has grown is given back.
constexpr std::size_t kBufferKeptMax = std::size_t{8} << 20;

// The commands of one call, and what has left of them.
struct Pipeline {
  std::vector<std::size_t> messages;  // that have a command, as indexes of the batch
  std::vector<std::size_t> ends;      // where the command of each ends, in bytes of the pipeline
  std::size_t whole = 0;              // commands that have left whole
};

class RedisSink final : public Sink {
 public:
  explicit RedisSink(RedisOptions options) : options_(std::move(options)), add_(options_) {}

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
    const Pipeline sent = Send(*connection, batch, results, deadline);
    // Taken before another call may send: replies come in the order of the commands.
    if (!receiving) receiving.lock();
    sending.unlock();
    Settle(*connection, std::span(sent.messages).first(sent.whole), results, deadline);
    if (sent.whole < sent.messages.size()) {
      CutOff(*connection, results[sent.messages[sent.whole]]);
    }
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

  // Writes the commands of the batch; messages that have none, and those that did not leave, get
  // their results. A command that was cut off has not left: the server drops it.
  Pipeline Send(RedisConnection& connection, std::span<const Message> batch,
                std::span<Status> results, Deadline deadline) {
    Pipeline pipeline;
    pipeline.messages.reserve(batch.size());
    pipeline.ends.reserve(batch.size());
    buffer_.clear();
    Stream::Written total;
    const auto flush = [&] {
      const Stream::Written written = connection.Send(buffer_, deadline);
      total.bytes += written.bytes;
      total.status = written.status;
      buffer_.clear();
    };
    std::size_t queued_bytes = 0;
    for (std::size_t i = 0; i < batch.size() && total.status.ok(); ++i) {
      const std::string stream = options_.stream.Render(batch[i]);
      if (stream.empty()) {
        results[i] = Status::Invalid("the name of the stream is empty")
                         .WithHint("a field in stream= has no value in this message");
        continue;
      }
      const std::size_t before = buffer_.size();
      add_.Append(batch[i], stream, pipeline.messages.empty(), buffer_);
      queued_bytes += buffer_.size() - before;
      pipeline.messages.push_back(i);
      pipeline.ends.push_back(queued_bytes);
      if (buffer_.size() >= kWriteBytes) flush();
    }
    if (total.status.ok() && !buffer_.empty()) flush();
    if (buffer_.capacity() > kBufferKeptMax) buffer_ = {};
    pipeline.whole = pipeline.messages.size();
    if (total.status.ok()) return pipeline;

    // What another call sent would be taken for the rest of a command.
    connection.Retire();
    const auto& ends = pipeline.ends;
    pipeline.whole = static_cast<std::size_t>(
        std::upper_bound(ends.begin(), ends.end(), total.bytes) - ends.begin());
    const std::size_t first_unsent = pipeline.whole < pipeline.messages.size()
                                         ? pipeline.messages[pipeline.whole]
                                         : batch.size();
    for (std::size_t i = first_unsent; i < batch.size(); ++i) results[i] = total.status;
    return pipeline;
  }

  // Reads one reply for each message of `sent`.
  static void Settle(RedisConnection& connection, std::span<const std::size_t> sent,
                     std::span<Status> results, Deadline deadline) {
    bool healthy = true;
    for (std::size_t at = 0; at < sent.size(); ++at) {
      const auto reply = connection.Receive(deadline);
      if (!reply.ok()) {
        const Status doubt = Status::InDoubt(
            reply.error().code(), StrCat("sent, but not confirmed: ", reply.error().message()));
        for (const std::size_t i : sent.subspan(at)) results[i] = doubt;
        return;
      }
      Status& result = results[sent[at]];
      result = Judge(connection, **reply);
      if (IsHangUp(**reply)) {
        const Status unread = Status::SinkDown(StrCat(connection.peer(), " has hung up"));
        for (const std::size_t i : sent.subspan(at + 1)) results[i] = unread;
        connection.Break(unread);
        return;
      }
      healthy = healthy && result.disposition() != Disposition::kSinkDown;
    }
    // A replica, or a server that forgot our login, is left for what the name resolves to next.
    if (!healthy) connection.Retire();
  }

  // The server took only a part of a command. One that it found too large it has refused before it
  // hung up; that must not look like a server which is away, or it would be tried for ever.
  static void CutOff(RedisConnection& connection, Status& result) {
    const auto reply = connection.Receive(Deadline(Deadline::Clock::now()));
    if (reply.ok() && IsHangUp(**reply)) result = Judge(connection, **reply);
    connection.Break(Status::SinkDown(StrCat(connection.peer(), " took a part of a command")));
  }

  static Status Judge(const RedisConnection& connection, const redisReply& reply) {
    if (reply.type == REDIS_REPLY_STRING) return Status::Ok();
    if (reply.type == REDIS_REPLY_ERROR) {
      return ClassifyRedisError(TextOf(reply), connection.peer());
    }
    return Status::Retry(Code::kInternal,
                         StrCat("redis ", connection.peer(), ": an answer that is no entry id"));
  }

  static bool IsHangUp(const redisReply& reply) {
    return reply.type == REDIS_REPLY_ERROR && IsProtocolError(TextOf(reply));
  }

  const RedisOptions options_;

  std::mutex sending_;  // guards all below
  std::shared_ptr<RedisConnection> connection_;
  AddCommand add_;
  std::string buffer_;  // kept for its capacity
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeRedisSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(RedisOptions options, RedisOptions::Read(uri));
  return std::shared_ptr<Sink>(std::make_shared<RedisSink>(std::move(options)));
}

}  // namespace outbox::sink
