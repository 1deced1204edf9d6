#include "sink/redis/redis_sink.h"

#include <algorithm>
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

class RedisSink final : public Sink {
 public:
  explicit RedisSink(RedisOptions options) : options_(std::move(options)), add_(options_) {}

  std::string_view name() const noexcept override { return "redis"; }
  SinkTraits traits() const noexcept override { return {.batch_max = 1000, .concurrency = 1}; }

  Status Open(Deadline deadline) override {
    const std::lock_guard lock(mutex_);
    connection_.reset();
    return Ready(deadline);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    const std::lock_guard lock(mutex_);
    if (const Status ready = Ready(deadline); !ready.ok()) {
      std::fill(results.begin(), results.end(), ready);
      return;
    }
    const std::size_t sent = Send(batch, results, deadline);
    Settle(std::span(sent_).first(sent), results, deadline);
    if (sent < sent_.size()) CutOff(results[sent_[sent]]);
    if (buffer_.capacity() > kBufferKeptMax) buffer_ = {};
  }

  void Close(Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    connection_.reset();
  }

 private:
  Status Ready(Deadline deadline) {
    if (connection_ != nullptr && !connection_->HungUp()) return Status::Ok();
    connection_.reset();
    OUTBOX_ASSIGN_OR_RETURN(connection_, RedisConnection::Open(options_, deadline));
    return Status::Ok();
  }

  // Fills sent_ with the messages that have a command, writes the commands, and returns how many of
  // them have left whole. A command that was cut off is none: the server drops it.
  std::size_t Send(std::span<const Message> batch, std::span<Status> results, Deadline deadline) {
    sent_.clear();
    ends_.clear();
    buffer_.clear();
    Stream::Written total;
    const auto flush = [&] {
      const Stream::Written written = connection_->Send(buffer_, deadline);
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
      add_.Append(batch[i], stream, sent_.empty(), buffer_);
      queued_bytes += buffer_.size() - before;
      sent_.push_back(i);
      ends_.push_back(queued_bytes);
      if (buffer_.size() >= kWriteBytes) flush();
    }
    if (total.status.ok() && !buffer_.empty()) flush();
    if (total.status.ok()) return sent_.size();

    const auto whole = static_cast<std::size_t>(
        std::upper_bound(ends_.begin(), ends_.end(), total.bytes) - ends_.begin());
    const std::size_t first_unsent = whole < sent_.size() ? sent_[whole] : batch.size();
    for (std::size_t i = first_unsent; i < batch.size(); ++i) results[i] = total.status;
    return whole;
  }

  // Reads one reply for each message of `sent`.
  void Settle(std::span<const std::size_t> sent, std::span<Status> results, Deadline deadline) {
    bool healthy = true;
    for (std::size_t at = 0; at < sent.size(); ++at) {
      const auto reply = connection_->Receive(deadline);
      if (!reply.ok()) {
        const Status doubt = Status::InDoubt(
            reply.error().code(), StrCat("sent, but not confirmed: ", reply.error().message()));
        for (const std::size_t i : sent.subspan(at)) results[i] = doubt;
        connection_.reset();
        return;
      }
      Status& result = results[sent[at]];
      result = Judge(**reply);
      if (IsHangUp(**reply)) {
        const Status unread = Status::SinkDown(StrCat(connection_->peer(), " has hung up"));
        for (const std::size_t i : sent.subspan(at + 1)) results[i] = unread;
        connection_.reset();
        return;
      }
      healthy = healthy && result.disposition() != Disposition::kSinkDown;
    }
    // A replica, or a server that forgot our login, is left for what the name resolves to next.
    if (!healthy) connection_.reset();
  }

  // The server took only a part of a command. One that it found too large it has refused before it
  // hung up; that must not look like a server which is away, or it would be tried for ever.
  void CutOff(Status& result) {
    if (connection_ == nullptr) return;
    const auto reply = connection_->Receive(Deadline(Deadline::Clock::now()));
    if (reply.ok() && IsHangUp(**reply)) result = Judge(**reply);
    connection_.reset();
  }

  Status Judge(const redisReply& reply) const {
    if (reply.type == REDIS_REPLY_STRING) return Status::Ok();
    if (reply.type == REDIS_REPLY_ERROR) {
      return ClassifyRedisError(TextOf(reply), connection_->peer());
    }
    return Status::Retry(Code::kInternal,
                         StrCat("redis ", connection_->peer(), ": an answer that is no entry id"));
  }

  static bool IsHangUp(const redisReply& reply) {
    return reply.type == REDIS_REPLY_ERROR && IsProtocolError(TextOf(reply));
  }

  const RedisOptions options_;

  std::mutex mutex_;  // guards all below
  std::unique_ptr<RedisConnection> connection_;
  AddCommand add_;
  std::string buffer_;             // kept for its capacity
  std::vector<std::size_t> sent_;  // the messages that have a command, as indexes of the batch
  std::vector<std::size_t> ends_;  // where the command of each ends, in bytes of the pipeline
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeRedisSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(RedisOptions options, RedisOptions::Read(uri));
  return std::shared_ptr<Sink>(std::make_shared<RedisSink>(std::move(options)));
}

}  // namespace outbox::sink
