#include "sink/redis/connection.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "sink/redis/classify_error.h"
#include "sink/redis/command.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::string_view kClientName = "outboxd";
constexpr const char* kTlsHint = "does the server want TLS at this port? if so, write rediss:";

// Commands that a narrow ACL or an old server may refuse without harm to delivery.
bool Dispensable(std::string_view error) {
  return error.starts_with("NOPERM ") || error.starts_with("ERR unknown ");
}

}  // namespace

std::string_view TextOf(const redisReply& reply) noexcept { return {reply.str, reply.len}; }

Result<std::unique_ptr<RedisConnection>> RedisConnection::Open(const RedisOptions& options,
                                                               Deadline deadline,
                                                               const ConnectObserver& observer) {
  Status last;
  std::size_t left = options.endpoints.size();
  for (const Endpoint& endpoint : options.endpoints) {
    const Deadline share = Deadline::After(deadline.remaining() / static_cast<long>(left--));
    auto stream = Stream::Connect(endpoint, options.tls, share, observer);
    last = stream.error();
    if (!stream.ok()) continue;
    std::unique_ptr<RedisConnection> connection(new RedisConnection(*std::move(stream)));
    last = connection->LogIn(options, share);
    if (last.ok()) return connection;
    if (last.hint().empty() && !options.tls) last = Status(last).WithHint(kTlsHint);
  }
  return last;
}

Status RedisConnection::LogIn(const RedisOptions& options, Deadline deadline) {
  std::string commands;
  std::vector<bool> needed;
  if (!options.password.empty()) {
    if (options.user.empty()) {
      AppendCommand({"AUTH", options.password}, commands);
    } else {
      AppendCommand({"AUTH", options.user, options.password}, commands);
    }
    needed.push_back(true);
  }
  if (options.db != 0) {
    AppendCommand({"SELECT", std::to_string(options.db)}, commands);
    needed.push_back(true);
  }
  AppendCommand({"CLIENT", "SETNAME", kClientName}, commands);
  AppendCommand({"PING"}, commands);
  needed.insert(needed.end(), 2, false);

  OUTBOX_RETURN_IF_ERROR(Send(commands, deadline).status);
  Status refused;
  for (const bool necessary : needed) {
    const auto reply = Receive(deadline);
    // A server that refuses may hang up at once.
    if (!reply.ok()) return refused.ok() ? reply.error() : refused;
    if ((*reply)->type != REDIS_REPLY_ERROR || !refused.ok()) continue;
    if (!necessary && Dispensable(TextOf(**reply))) continue;
    const Status told = ClassifyRedisError(TextOf(**reply), peer());
    // Whatever it is, without a login nothing can be delivered.
    refused = Status(told.code(), Disposition::kSinkDown, told.message())
                  .WithHint(told.hint())
                  .WithNative(told.native());
  }
  return refused;
}

Result<RedisReply> RedisConnection::Receive(Deadline deadline) {
  if (!broken_.ok()) return broken_;
  if (abandoned_) return Status::SinkDown(StrCat(peer(), ": the call before gave its replies up"));
  auto reply = Read(deadline);
  if (!reply.ok()) Break(reply.error());
  return reply;
}

void RedisConnection::Break(Status why) {
  Retire();
  if (broken_.ok()) broken_ = std::move(why);
}

void RedisConnection::HangUp(Status why) {
  Break(std::move(why));
  server_hung_up_ = true;
}

Result<RedisReply> RedisConnection::Read(Deadline deadline) {
  while (true) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
      return Status::SinkDown(StrCat(peer(), " does not speak the Redis protocol"))
          .WithHint("redis: is in the clear, rediss: is TLS");
    }
    if (reply != nullptr) return RedisReply(static_cast<redisReply*>(reply));
    OUTBOX_ASSIGN_OR_RETURN(const std::size_t got, stream_.Read(buffer_, deadline));
    if (redisReaderFeed(reader_.get(), buffer_.data(), got) != REDIS_OK) {
      return Status::SinkDown(StrCat(peer(), ": out of memory"));
    }
  }
}

}  // namespace outbox::sink
