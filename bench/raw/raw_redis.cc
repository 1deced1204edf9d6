#include <hiredis/hiredis.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/handle.h"
#include "bench/raw/raw_client.h"
#include "sink/metadata.h"
#include "sink/redis/options.h"

namespace outbox::bench {
namespace {

constexpr timeval kRedisWait{.tv_sec = 30, .tv_usec = 0};

class RawRedis final : public RawClient {
 public:
  explicit RawRedis(sink::RedisOptions options) : options_(std::move(options)) {}

  Status Prepare(const Message& sample) override {
    if (connection_ == nullptr) OUTBOX_RETURN_IF_ERROR(Connect());
    stream_ = options_.stream.Render(sample);
    return Run({"DEL", stream_});
  }

  Status Send(const Message& sample, std::size_t count, std::size_t window) override {
    const Headers headers = sink::DeliveryHeaders(sample);
    for (std::size_t sent = 0; sent < count;) {
      const std::size_t batch = std::min(window, count - sent);
      for (std::size_t i = 0; i < batch; ++i) {
        const std::string id = Uuid::NewV7().ToString();
        std::vector<std::string_view> words{"XADD",  stream_,      "*",       "id",          id,
                                            "topic", sample.topic, "payload", sample.payload};
        for (const auto& [name, value] : headers) words.insert(words.end(), {name, value});
        Append(words);
      }
      for (std::size_t i = 0; i < batch; ++i) OUTBOX_RETURN_IF_ERROR(ReadReply("XADD"));
      sent += batch;
    }
    return Status::Ok();
  }

 private:
  Status Connect() {
    const sink::Endpoint& at = options_.endpoints.front();
    connection_.reset(redisConnectWithTimeout(at.host.c_str(), at.port, kRedisWait));
    if (connection_ == nullptr || connection_->err != 0) {
      return RawFailure("redis", "connecting",
                        connection_ == nullptr ? "no memory" : connection_->errstr);
    }
    redisSetTimeout(connection_.get(), kRedisWait);
    if (!options_.password.empty()) {
      OUTBOX_RETURN_IF_ERROR(options_.user.empty()
                                 ? Run({"AUTH", options_.password})
                                 : Run({"AUTH", options_.user, options_.password}));
    }
    return Run({"SELECT", std::to_string(options_.db)});
  }

  Status Run(const std::vector<std::string_view>& words) {
    Append(words);
    return ReadReply(words.front());
  }

  void Append(const std::vector<std::string_view>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> lengths;
    for (const std::string_view word : words) {
      texts.push_back(word.data());
      lengths.push_back(word.size());
    }
    redisAppendCommandArgv(connection_.get(), static_cast<int>(words.size()), texts.data(),
                           lengths.data());
  }

  Status ReadReply(std::string_view what) {
    void* raw = nullptr;
    if (redisGetReply(connection_.get(), &raw) != REDIS_OK) {
      return RawFailure("redis", what, connection_->errstr);
    }
    const base::UniqueHandle<redisReply, freeReplyObject> reply(static_cast<redisReply*>(raw));
    if (reply->type == REDIS_REPLY_ERROR) return RawFailure("redis", what, reply->str);
    return Status::Ok();
  }

  const sink::RedisOptions options_;
  std::string stream_;
  base::UniqueHandle<redisContext, redisFree> connection_;
};

}  // namespace

Result<std::unique_ptr<RawClient>> MakeRawRedis(const sink::SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(sink::RedisOptions options, sink::RedisOptions::Read(uri));
  return std::unique_ptr<RawClient>(std::make_unique<RawRedis>(std::move(options)));
}

}  // namespace outbox::bench
