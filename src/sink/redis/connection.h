// RedisConnection: a logged-in connection to one server; commands out, replies in.
//
// Threads: one sends while another, which holds `receiving`, takes replies; under TLS one does
// both. Retire and retired any.
#pragma once

#include <hiredis/hiredis.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "base/turn.h"
#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/net/stream.h"
#include "sink/redis/options.h"

namespace outbox::sink {

using RedisReply = base::UniqueHandle<redisReply, freeReplyObject>;

class RedisConnection {
 public:
  // Connects to the first endpoint that lets us in: AUTH, SELECT, and a PING that shows whether the
  // server is ready. Fails with the last endpoint's kSinkDown.
  static Result<std::unique_ptr<RedisConnection>> Open(const RedisOptions& options,
                                                       Deadline deadline,
                                                       const ConnectObserver& observer = {});

  Stream::Written Send(std::string_view commands, Deadline deadline) {
    return stream_.Write(commands, deadline);
  }
  // The next reply; an error reply is a reply too. After a failure there are none any more: a late
  // one would be taken for the next command's.
  Result<RedisReply> Receive(Deadline deadline);
  // No more replies, for this reason.
  void Break(Status why);
  // The same: the server has refused to read on. What was sent behind that, it has not seen.
  void HangUp(Status why);
  bool server_hung_up() const noexcept { return server_hung_up_; }
  base::Turn& receiving() noexcept { return receiving_; }
  // Replies that were due are left unread: what comes next is nobody's.
  void Abandon() noexcept {
    Retire();
    abandoned_ = true;
  }

  // For no further commands. Replies to those sent still come.
  void Retire() noexcept { retired_ = true; }
  bool retired() const noexcept { return retired_; }

  bool HungUp() const { return stream_.HungUp(); }
  const std::string& peer() const noexcept { return stream_.peer(); }

 private:
  using Reader = base::UniqueHandle<redisReader, redisReaderFree>;

  explicit RedisConnection(Stream stream)
      : stream_(std::move(stream)), reader_(redisReaderCreate()) {}
  Status LogIn(const RedisOptions& options, Deadline deadline);
  Result<RedisReply> Read(Deadline deadline);

  Stream stream_;
  std::atomic<bool> retired_ = false;

  base::Turn receiving_;  // guards all below
  bool abandoned_ = false;
  Status broken_;
  bool server_hung_up_ = false;
  Reader reader_;
  std::array<char, 64 * 1024> buffer_;
};

// The text of an error reply, or of a string.
std::string_view TextOf(const redisReply& reply) noexcept;

}  // namespace outbox::sink
