// The commands of one call, sent together, and what becomes of the replies to them.
//
// Messages travel in groups, MULTI … EXEC, where the server allows it: a group reaches its disk in
// one step, while a server that makes every write durable would otherwise wait for the disk after
// every few commands. A group is added as a whole or not at all; what a stream refuses fails alone.
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

class SentPipeline {
 public:
  // Reads the replies and puts a result for each message that has left. The connection is retired
  // when it is of no further use.
  void Settle(RedisConnection& connection, std::span<Status> results, Deadline deadline) const;

 private:
  friend class PipelineWriter;

  // Messages [first, first + count) of messages_.
  struct Group {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t bytes = 0;  // of their payloads
    std::size_t end = 0;    // of its last command, in bytes of the pipeline
  };
  class Replies;

  std::vector<std::size_t> messages_;  // that have a command, as indexes of the batch
  std::vector<Group> groups_;
  std::size_t whole_ = 0;  // groups that have left whole
  bool grouped_ = false;   // by MULTI … EXEC
};

class PipelineWriter {
 public:
  // `options` must outlive it.
  explicit PipelineWriter(const RedisOptions& options) : options_(options), add_(options) {}

  // Writes the commands of the batch. Messages that have none, and those that did not leave, get
  // their results; a command that was cut off has not left, as the server drops it.
  SentPipeline Send(RedisConnection& connection, std::span<const Message> batch,
                    std::span<Status> results, Deadline deadline);

 private:
  const RedisOptions& options_;
  AddCommand add_;
  std::string buffer_;  // kept for its capacity
};

}  // namespace outbox::sink
