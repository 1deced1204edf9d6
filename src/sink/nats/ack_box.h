// AckBox: where the answers to published messages are collected.
//
// The client calls back from threads of its own, some after a connection is gone. Its callbacks
// therefore know a box by number and find none when it no longer exists.
//
// Threads: any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/deadline.h"

namespace outbox::sink {

class AckBox {
 public:
  struct Ack {
    bool no_responders = false;
    bool denied = false;
    std::string body;
  };

  static std::shared_ptr<AckBox> Make();
  // Null when it no longer exists.
  static std::shared_ptr<AckBox> Find(std::uintptr_t number);
  ~AckBox();
  AckBox(const AckBox&) = delete;
  AckBox& operator=(const AckBox&) = delete;

  std::uintptr_t number() const noexcept { return number_; }

  // Begins a batch of `count` messages; answers to an earlier one are no longer wanted.
  void Begin(std::size_t count);
  // The last two tokens of the subject that the answer to a message comes to: "batch.index".
  std::string Address(std::size_t index) const;

  // An answer has come to a subject that ends in an address.
  void Put(std::string_view subject, Ack ack);
  void PutAt(std::size_t index, Ack ack);
  // The server has refused a publish; `text` quotes the subject. It is the publisher who knows
  // which messages these are.
  void PutDenial(std::string text);
  // The connection is gone: no answer comes any more.
  void Break();

  // Waits until at most `open_max` of the first `sent` messages have no answer, the connection is
  // gone, something is denied, or the deadline has passed. True when few enough are open.
  bool WaitForAnswers(std::size_t sent, std::size_t open_max, Deadline deadline);
  bool broken() const;
  std::optional<Ack> Take(std::size_t index);
  std::vector<std::string> TakeDenials();

 private:
  explicit AckBox(std::uintptr_t number) : number_(number) {}
  void PutLocked(std::size_t index, Ack ack);

  const std::uintptr_t number_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::uint64_t batch_ = 0;
  std::vector<std::optional<Ack>> acks_;
  std::size_t answered_ = 0;
  std::size_t wanted_ = 0;  // whoever waits, waits for so many answers
  std::vector<std::string> denials_;
  bool broken_ = false;
};

}  // namespace outbox::sink
