// The commands of one call, sent together, and what becomes of the replies to them.
//
// Messages travel in groups, MULTI … EXEC, where the server allows it: a group reaches its disk in
// one step, while a server that makes every write durable would otherwise wait for the disk after
// every few commands. What a stream refuses fails alone. When the server refuses a group because of
// one command, nothing of it was added, and the others are to be sent again one by one. So are
// those that name a script which the server does not have.
//
// Threads: a PipelineWriter is used by one at a time, a SentPipeline by one that holds `receiving`
// of its connection.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"
#include "sink/redis/command.h"
#include "sink/redis/connection.h"
#include "sink/redis/options.h"

namespace outbox::sink {

// What the replies said beside the results of messages.
struct PipelineReport {
  // To be sent again, each by itself: refused with their group, or for want of the script that one
  // before was to bring along.
  std::vector<std::size_t> again;
  bool groups_refused = false;  // no groups on this server, whatever is in them
};

class SentPipeline {
 public:
  // Reads the replies and puts a result for each message that has left. The connection is retired
  // when it is of no further use.
  PipelineReport Settle(RedisConnection& connection, std::span<Status> results,
                        Deadline deadline) const;
  // Instead: nobody can wait for the replies. What has left is in doubt.
  void LeaveUnanswered(std::span<Status> results) const;

 private:
  friend class PipelineWriter;

  // Messages [first, first + count) of messages_.
  struct Group {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t end = 0;  // of its last command, in bytes of the pipeline
  };
  class Replies;

  std::vector<std::size_t> messages_;  // that have a command, as indexes of the batch
  std::vector<Group> groups_;
  std::size_t whole_ = 0;  // groups that have left whole
  bool grouped_ = false;   // by MULTI … EXEC; otherwise each message is a group
  bool same_stream_ = false;
};

class PipelineWriter {
 public:
  static constexpr std::size_t kEachAlone = 0;

  // `options` must outlive it.
  explicit PipelineWriter(const RedisOptions& options) : options_(options), add_(options) {}

  // Writes the commands of the messages `which` of the batch, in groups of so many at most, or each
  // by itself, needing none of the others (kEachAlone). Messages that have none, and those that did
  // not leave, get their results; a command that was cut off has not left, as the server drops it.
  SentPipeline Send(RedisConnection& connection, std::span<const Message> batch,
                    std::span<const std::size_t> which, std::size_t group_max,
                    std::span<Status> results, Deadline deadline);

 private:
  const RedisOptions& options_;
  AddCommand add_;
  std::string buffer_;  // kept for its capacity
};

}  // namespace outbox::sink
