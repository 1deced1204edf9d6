#include "sink/redis/pipeline.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sink/redis/classify_error.h"

namespace outbox::sink {
namespace {

using base::StrCat;

// A pipeline leaves in writes of about this size, so that large payloads are not all copied at
// once.
constexpr std::size_t kWriteBytes = std::size_t{1} << 20;
// A buffer that one huge message has grown is given back.
constexpr std::size_t kBufferKeptMax = std::size_t{8} << 20;
// The server keeps a group in memory until its last command has come.
constexpr std::size_t kGroupBytes = std::size_t{256} << 10;

bool IsQueued(const redisReply& reply) {
  return reply.type == REDIS_REPLY_STATUS && TextOf(reply) == "QUEUED";
}

Status Judge(const redisReply& reply, const std::string& peer) {
  if (reply.type == REDIS_REPLY_STRING) return Status::Ok();
  if (reply.type == REDIS_REPLY_ERROR) return ClassifyRedisError(TextOf(reply), peer);
  return Status::Retry(Code::kInternal, StrCat("redis ", peer, ": an answer that is no entry id"));
}

// For messages that were refused with their group: `cause` is another's fault.
Status RefusedWithGroup(const Status& cause) {
  const std::string text = StrCat("not added, with all of its group: ", cause.message());
  const Disposition disposition =
      cause.disposition() == Disposition::kSinkDown ? Disposition::kSinkDown : Disposition::kRetry;
  return Status(cause.code(), disposition, text).WithHint(cause.hint()).WithNative(cause.native());
}

}  // namespace

// Reads the replies to the groups of a pipeline, one group after another.
class SentPipeline::Replies {
 public:
  Replies(const SentPipeline& sent, RedisConnection& connection, std::span<Status> results)
      : sent_(sent), connection_(connection), results_(results) {}

  // Puts a result for each message of the group. False when no more replies come.
  bool Take(const Group& group, Deadline deadline) {
    queued_.clear();
    refusal_ = Status::Ok();
    std::size_t at = 0;
    bool more = !sent_.grouped_ || Next(deadline);  // of MULTI
    for (; more && at < group.count; ++at) more = TakeOne(ResultOf(group, at), deadline);
    if (more && sent_.grouped_) more = Next(deadline) && Execute();
    if (more) return true;
    for (Status* const result : queued_) *result = rest_;
    for (; at < group.count; ++at) ResultOf(group, at) = rest_;
    return false;
  }

  // The server took only a part of the group. A command that it found too large it has refused
  // before it hung up; that must not look like a server which is away, or the message would be
  // tried for ever.
  void LookForRefusal(const Group& group) {
    const Deadline now(Deadline::Clock::now());
    bool more = !sent_.grouped_ || Next(now);
    for (std::size_t at = 0; more && at < group.count; ++at) {
      more = Next(now);
      if (hung_up_) Put(ResultOf(group, at));
    }
  }

  // What becomes of messages whose replies do not come.
  const Status& rest() const noexcept { return rest_; }
  // Some result says that this server is not the one to go on with.
  bool down() const noexcept { return down_; }

 private:
  Status& ResultOf(const Group& group, std::size_t at) const {
    return results_[sent_.messages_[group.first + at]];
  }

  bool Next(Deadline deadline) {
    auto reply = connection_.Receive(deadline);
    if (!reply.ok()) {
      rest_ = Status::InDoubt(reply.error().code(),
                              StrCat("sent, but not confirmed: ", reply.error().message()));
      return false;
    }
    reply_ = *std::move(reply);
    hung_up_ = reply_->type == REDIS_REPLY_ERROR && IsProtocolError(TextOf(*reply_));
    if (!hung_up_) return true;
    // It has looked at nothing behind this, nor executed what is in the same group.
    rest_ = Status::SinkDown(StrCat(connection_.peer(), " has hung up"));
    connection_.Break(rest_);
    return false;
  }

  bool TakeOne(Status& result, Deadline deadline) {
    const bool more = Next(deadline);
    if (more && IsQueued(*reply_)) {
      queued_.push_back(&result);
    } else if (more || hung_up_) {
      Put(result);
    } else {
      result = rest_;
    }
    return more;
  }

  // True: more replies may come.
  bool Execute() {
    if (reply_->type == REDIS_REPLY_ARRAY && reply_->elements == queued_.size()) {
      for (std::size_t i = 0; i < queued_.size(); ++i) Put(*queued_[i], *reply_->element[i]);
    } else if (!queued_.empty()) {
      if (refusal_.ok()) refusal_ = Judge(*reply_, connection_.peer());
      for (Status* const result : queued_) *result = RefusedWithGroup(refusal_);
    }
    return true;
  }

  void Put(Status& result) { Put(result, *reply_); }
  void Put(Status& result, const redisReply& reply) {
    result = Judge(reply, connection_.peer());
    if (result.disposition() == Disposition::kSinkDown) down_ = true;
    if (!result.ok() && refusal_.ok()) refusal_ = result;
  }

  const SentPipeline& sent_;
  RedisConnection& connection_;
  const std::span<Status> results_;

  RedisReply reply_;  // the last one
  bool hung_up_ = false;
  Status rest_;
  bool down_ = false;
  // Of the group in hand: those whose results come with EXEC, and the first refusal.
  std::vector<Status*> queued_;
  Status refusal_;
};

void SentPipeline::Settle(RedisConnection& connection, std::span<Status> results,
                          Deadline deadline) const {
  Replies replies(*this, connection, results);
  for (std::size_t i = 0; i < whole_; ++i) {
    if (replies.Take(groups_[i], deadline)) continue;
    const Group& last = groups_[whole_ - 1];
    for (std::size_t at = groups_[i].first + groups_[i].count; at < last.first + last.count; ++at) {
      results[messages_[at]] = replies.rest();
    }
    return;
  }
  if (whole_ < groups_.size()) {
    replies.LookForRefusal(groups_[whole_]);
    connection.Break(Status::SinkDown(StrCat(connection.peer(), " took a part of a command")));
  }
  // A replica, or a server that forgot our login, is left for what the name resolves to next.
  if (replies.down()) connection.Retire();
}

SentPipeline PipelineWriter::Send(RedisConnection& connection, std::span<const Message> batch,
                                  std::span<Status> results, Deadline deadline) {
  SentPipeline sent;
  sent.grouped_ = connection.takes_groups() && options_.group > 1;
  const std::size_t group_max = sent.grouped_ ? options_.group : 1;
  SentPipeline::Group group;
  std::size_t queued_bytes = 0;  // before the buffer
  Stream::Written total;
  buffer_.clear();
  const auto flush = [&] {
    queued_bytes += buffer_.size();
    const Stream::Written written = connection.Send(buffer_, deadline);
    total.bytes += written.bytes;
    total.status = written.status;
    buffer_.clear();
  };
  const auto end_group = [&] {
    if (sent.grouped_) AppendCommand({"EXEC"}, buffer_);
    group.end = queued_bytes + buffer_.size();
    sent.groups_.push_back(std::exchange(group, {.first = sent.messages_.size()}));
  };

  for (std::size_t i = 0; i < batch.size() && total.status.ok(); ++i) {
    const std::string stream = options_.stream.Render(batch[i]);
    if (stream.empty()) {
      results[i] = Status::Invalid("the name of the stream is empty")
                       .WithHint("a field in stream= has no value in this message");
      continue;
    }
    if (sent.grouped_ && group.count == 0) AppendCommand({"MULTI"}, buffer_);
    add_.Append(batch[i], stream, sent.messages_.empty(), buffer_);
    sent.messages_.push_back(i);
    ++group.count;
    group.bytes += batch[i].payload.size();
    if (group.count == group_max || group.bytes >= kGroupBytes) end_group();
    if (buffer_.size() >= kWriteBytes) flush();
  }
  if (group.count > 0) end_group();
  if (total.status.ok() && !buffer_.empty()) flush();
  if (buffer_.capacity() > kBufferKeptMax) buffer_ = {};
  sent.whole_ = sent.groups_.size();
  if (total.status.ok()) return sent;

  // What another call sent would be taken for the rest of a command.
  connection.Retire();
  const auto cut_off = std::partition_point(
      sent.groups_.begin(), sent.groups_.end(),
      [&](const SentPipeline::Group& each) { return each.end <= total.bytes; });
  sent.whole_ = static_cast<std::size_t>(cut_off - sent.groups_.begin());
  const std::size_t first_unsent =
      cut_off == sent.groups_.end() ? batch.size() : sent.messages_[cut_off->first];
  for (std::size_t i = first_unsent; i < batch.size(); ++i) results[i] = total.status;
  return sent;
}

}  // namespace outbox::sink
