// BlockedPipe: a sink that takes a little and then no more: a named pipe that is open and not read.
//
// A relay that delivers to it hangs in its dispatch, with its claim held, for as long as the test
// likes.
#pragma once

#include <string>

namespace outbox::testing {

class BlockedPipe {
 public:
  // The pipe holds one page (4096 bytes); a batch must be larger than that to block.
  explicit BlockedPipe(std::string path);
  ~BlockedPipe();
  BlockedPipe(const BlockedPipe&) = delete;
  BlockedPipe& operator=(const BlockedPipe&) = delete;

  std::string sink() const { return "file:" + path_; }
  // Some messages have arrived: the relay is in its dispatch.
  bool Reached() const;
  // Takes what is there now, so that the relay gets on.
  std::string Read();

 private:
  const std::string path_;
  int fd_ = -1;
};

}  // namespace outbox::testing
