#include "sink/redis/pipeline.h"

#include <algorithm>
#include <string_view>
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
// What EXEC says of a group that was thrown away.
constexpr std::string_view kAborted = "EXECABORT ";
// What EVALSHA says when the EVAL before it was refused, or the scripts were flushed.
constexpr std::string_view kNoScript = "NOSCRIPT ";

bool IsError(const redisReply& reply, std::string_view prefix) {
  return reply.type == REDIS_REPLY_ERROR && TextOf(reply).starts_with(prefix);
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
    spoilt_ = false;
    bool more = !sent_.grouped_ || TakeMulti(deadline);
    std::size_t at = 0;
    for (; more && at < group.count; ++at) more = TakeOne(MessageOf(group, at), deadline);
    if (more && sent_.grouped_) more = TakeExec(deadline);
    if (more) return true;
    for (const std::size_t message : queued_) results_[message] = rest_;
    for (; at < group.count; ++at) results_[MessageOf(group, at)] = rest_;
    return false;
  }

  // The server took only a part of the group. A command that it found too large it has refused
  // before it hung up; that must not look like a server which is away, or the message would be
  // tried for ever.
  void LookForRefusal(const Group& group) {
    const Deadline now(Deadline::Clock::now());
    bool more = !sent_.grouped_ || TakeMulti(now);
    for (std::size_t at = 0; more && at < group.count; ++at) {
      const std::size_t message = MessageOf(group, at);
      const Status unsent = results_[message];
      more = TakeOne(message, now);
      if (!more && !hung_up_) results_[message] = unsent;
    }
  }

  // What becomes of messages whose replies do not come.
  const Status& rest() const noexcept { return rest_; }
  // Some result says that this server is not the one to go on with.
  bool down() const noexcept { return down_; }
  PipelineReport report() { return std::move(report_); }

 private:
  std::size_t MessageOf(const Group& group, std::size_t at) const {
    return sent_.messages_[group.first + at];
  }

  // The next reply to reply_. False when there is none, or it is the server's last word.
  bool Next(Deadline deadline) {
    auto reply = connection_.Receive(deadline);
    if (!reply.ok()) {
      rest_ = connection_.server_hung_up()
                  ? reply.error()
                  : Status::InDoubt(reply.error().code(),
                                    StrCat("sent, but not confirmed: ", reply.error().message()));
      return false;
    }
    reply_ = *std::move(reply);
    hung_up_ = reply_->type == REDIS_REPLY_ERROR && IsProtocolError(TextOf(*reply_));
    if (!hung_up_) return true;
    rest_ = Status::SinkDown(StrCat(connection_.peer(), " has hung up"));
    connection_.HangUp(rest_);
    return false;
  }

  // A reply that does not belong here: whose the next ones are is not known either.
  bool OutOfStep() {
    rest_ = Status::InDoubt(
        Code::kInternal, StrCat("redis ", connection_.peer(), ": an answer that is no entry id"));
    connection_.Break(rest_);
    return false;
  }

  bool TakeMulti(Deadline deadline) {
    if (!Next(deadline)) return false;
    if (reply_->type == REDIS_REPLY_STATUS) return true;
    if (reply_->type != REDIS_REPLY_ERROR) return OutOfStep();
    // Without it the commands are executed one by one.
    report_.groups_refused = true;
    return true;
  }

  bool TakeOne(std::size_t message, Deadline deadline) {
    const bool more = Next(deadline);
    if (!more) {
      results_[message] = hung_up_ ? Judge(*reply_) : rest_;
    } else if (sent_.grouped_ && reply_->type == REDIS_REPLY_STATUS) {  // QUEUED
      queued_.push_back(message);
    } else if (!Put(message, *reply_)) {
      results_[message] = rest_;
      return false;
    }
    return more;
  }

  bool TakeExec(Deadline deadline) {
    if (!Next(deadline)) return false;
    if (reply_->type == REDIS_REPLY_ERROR) {
      if (queued_.empty()) return true;  // there was no MULTI
      // One command has spoilt the group, or the server refuses groups. Sent by itself each of them
      // gets an answer of its own.
      report_.again.insert(report_.again.end(), queued_.begin(), queued_.end());
      if (!spoilt_) report_.groups_refused = true;
      // Otherwise the server may still wait for an EXEC that it takes.
      if (!IsError(*reply_, kAborted)) connection_.Retire();
      return true;
    }
    if (reply_->type != REDIS_REPLY_ARRAY || reply_->elements != queued_.size()) return OutOfStep();
    for (std::size_t i = 0; i < queued_.size(); ++i) {
      if (!Put(queued_[i], *reply_->element[i])) return false;
    }
    return true;
  }

  Status Judge(const redisReply& reply) const {
    Status status = ClassifyRedisError(TextOf(reply), connection_.peer());
    if (!sent_.same_stream_ || status.code() != Code::kPermission) return status;
    // What no message can have is the sink's state.
    return Status(status.code(), Disposition::kSinkDown, status.message())
        .WithHint(status.hint())
        .WithNative(status.native());
  }

  // False for a reply that is no answer to a command that adds.
  bool Put(std::size_t message, const redisReply& reply) {
    Status& result = results_[message];
    if (reply.type == REDIS_REPLY_STRING) {
      result = Status::Ok();
    } else if (IsError(reply, kNoScript)) {
      report_.again.push_back(message);
    } else if (reply.type == REDIS_REPLY_ERROR) {
      result = Judge(reply);
      spoilt_ = true;
      if (result.disposition() == Disposition::kSinkDown) down_ = true;
    } else {
      return OutOfStep();
    }
    return true;
  }

  const SentPipeline& sent_;
  RedisConnection& connection_;
  const std::span<Status> results_;

  RedisReply reply_;  // the last one
  bool hung_up_ = false;
  Status rest_;
  bool down_ = false;
  std::vector<std::size_t> queued_;  // of the group in hand: their results come with EXEC
  bool spoilt_ = false;              // one of the group was refused by itself
  PipelineReport report_;
};

PipelineReport SentPipeline::Settle(RedisConnection& connection, std::span<Status> results,
                                    Deadline deadline) const {
  Replies replies(*this, connection, results);
  for (std::size_t i = 0; i < whole_; ++i) {
    if (replies.Take(groups_[i], deadline)) continue;
    const Group& last = groups_[whole_ - 1];
    for (std::size_t at = groups_[i].first + groups_[i].count; at < last.first + last.count; ++at) {
      results[messages_[at]] = replies.rest();
    }
    return replies.report();
  }
  if (whole_ < groups_.size()) replies.LookForRefusal(groups_[whole_]);
  // A replica, or a server that forgot our login, is left for what the name resolves to next.
  if (replies.down()) connection.Retire();
  return replies.report();
}

void SentPipeline::LeaveUnanswered(std::span<Status> results) const {
  const Status doubt = Status::InDoubt(
      Code::kDeadline, "sent, but not confirmed: no time was left to wait for the answer");
  for (const Group& group : std::span(groups_).first(whole_)) {
    for (std::size_t i = 0; i < group.count; ++i) results[messages_[group.first + i]] = doubt;
  }
}

SentPipeline PipelineWriter::Send(RedisConnection& connection, std::span<const Message> batch,
                                  std::span<const std::size_t> which, std::size_t group_max,
                                  std::span<Status> results, Deadline deadline) {
  SentPipeline sent;
  sent.grouped_ = group_max > 1;
  sent.same_stream_ = options_.same_stream;
  SentPipeline::Group group;
  std::size_t group_bytes = 0;
  std::size_t written_bytes = 0;  // before the buffer
  Stream::Written total;
  buffer_.clear();
  const auto flush = [&] {
    written_bytes += buffer_.size();
    const Stream::Written written = connection.Send(buffer_, deadline);
    total.bytes += written.bytes;
    total.status = written.status;
    buffer_.clear();
  };
  const auto end_group = [&] {
    if (group.count == 0) return;
    if (sent.grouped_) AppendCommand({"EXEC"}, buffer_);
    group.end = written_bytes + buffer_.size();
    sent.groups_.push_back(std::exchange(group, {.first = sent.messages_.size()}));
    group_bytes = 0;
  };

  for (std::size_t at = 0; at < which.size() && total.status.ok(); ++at) {
    const Message& message = batch[which[at]];
    const std::string stream = options_.stream.Render(message);
    if (stream.empty()) {
      results[which[at]] = Status::Invalid("the name of the stream is empty")
                               .WithHint("a field in stream= has no value in this message");
      continue;
    }
    if (group.count >= group_max || group_bytes + message.payload.size() > kGroupBytes) end_group();
    if (sent.grouped_ && group.count == 0) AppendCommand({"MULTI"}, buffer_);
    // Each group brings the script along: the one before may be refused as a whole.
    const bool first =
        group_max == kEachAlone || (sent.grouped_ ? group.count == 0 : sent.messages_.empty());
    add_.Append(message, stream, first, buffer_);
    sent.messages_.push_back(which[at]);
    ++group.count;
    group_bytes += message.payload.size();
    if (buffer_.size() >= kWriteBytes) flush();
  }
  end_group();
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
  if (cut_off == sent.groups_.end()) return sent;
  const auto unsent = std::find(which.begin(), which.end(), sent.messages_[cut_off->first]);
  for (auto i = unsent; i != which.end(); ++i) results[*i] = total.status;
  return sent;
}

}  // namespace outbox::sink
