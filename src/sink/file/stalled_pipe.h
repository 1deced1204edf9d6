// What the tests of sinks that write lines share: a pipe whose reader stalls until it is told.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "outbox/sink.h"

namespace outbox::sink {

class PipeReader {
 public:
  explicit PipeReader(int fd) : fd_(fd) { fcntl(fd_, F_SETFL, O_NONBLOCK); }
  PipeReader(const PipeReader&) = delete;
  PipeReader& operator=(const PipeReader&) = delete;
  ~PipeReader() { close(fd_); }

  // Whether there is something to read.
  bool Reached() const {
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    return poll(&waiting, 1, 0) > 0;
  }
  // All there is, until nothing has come for a moment.
  void Read() {
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    char bytes[65536];
    while (poll(&waiting, 1, 300) > 0) {
      const ssize_t got = read(fd_, bytes, sizeof bytes);
      if (got <= 0) return;
      text_.append(bytes, static_cast<std::size_t>(got));
    }
  }
  // All that a call writes, and its results.
  std::vector<Status> ReadUntilReady(std::future<std::vector<Status>>& call) {
    while (call.wait_for(std::chrono::seconds(0)) != std::future_status::ready) Read();
    Read();
    return call.get();
  }
  // The seq of each line so far that is a JSON object.
  std::vector<std::int64_t> Sequences() const {
    std::vector<std::int64_t> sequences;
    for (const std::string& line : base::Split(text_, '\n')) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object()) sequences.push_back(json.at("seq"));
    }
    return sequences;
  }

 private:
  const int fd_;
  std::string text_;
};

// More than a pipe holds.
inline std::vector<Message> ManyLines(std::int64_t first = 1) {
  std::vector<Message> messages(200);
  for (Message& message : messages) {
    message.seq = first++;
    message.payload = "\"" + std::string(2000, 'x') + "\"";
  }
  return messages;
}

inline std::vector<Status> PublishWithin(Sink& sink, std::span<const Message> messages,
                                         std::chrono::milliseconds patience) {
  std::vector<Status> results(messages.size(), Status::NotAttempted());
  sink.Publish(messages, results, Deadline::After(patience));
  return results;
}

}  // namespace outbox::sink
