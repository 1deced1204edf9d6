// AckBox: where the answers to published messages are collected, batch by batch.
//
// The client calls back from threads of its own, some after a connection is gone. Its callbacks
// therefore know a box by number and find none when it no longer exists. Several batches may be
// open at a time: one is being sent while another waits for its last answers.
//
// Threads: any; a batch is used by the one that has begun it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/deadline.h"

namespace outbox::sink {

class AckBox : public std::enable_shared_from_this<AckBox> {
 public:
  struct Ack {
    bool stored = false;  // by a stream; body is left empty
    bool no_responders = false;
    bool denied = false;
    std::string body;
  };
  class Batch;

  static std::shared_ptr<AckBox> Make();
  // Null when it no longer exists.
  static std::shared_ptr<AckBox> Find(std::uintptr_t number);
  ~AckBox();
  AckBox(const AckBox&) = delete;
  AckBox& operator=(const AckBox&) = delete;

  std::uintptr_t number() const noexcept { return number_; }

  // Room for the answers to `count` messages.
  std::unique_ptr<Batch> Begin(std::size_t count);

  // An answer has come to a subject that ends in an address of a batch.
  void Put(std::string_view subject, Ack ack);
  // The server has refused a publish; `text` quotes the subject. It is the publishers who know
  // which messages these are.
  void PutDenial(std::string_view text);
  // The connection is gone: no answer comes any more.
  void Break();
  bool broken() const;

 private:
  struct Answers {
    std::uint64_t batch = 0;
    std::vector<std::optional<Ack>> acks;
    std::size_t sent = 0;
    std::size_t answered = 0;
    bool all_sent = false;  // its publisher waits for the last answer
    std::vector<std::string> denials;
    std::condition_variable changed;
  };

  explicit AckBox(std::uintptr_t number) : number_(number) {}
  void PutLocked(Answers& answers, std::size_t index, Ack ack);

  const std::uintptr_t number_;

  mutable std::mutex mutex_;  // guards all below
  std::uint64_t last_batch_ = 0;
  std::list<Answers> batches_;  // those begun and not ended
  std::size_t open_ = 0;        // messages sent and not answered, of all batches
  // A publisher waits until so few are open.
  std::size_t room_at_ = 0;
  std::condition_variable room_;
  bool broken_ = false;
};

// The answers to the messages of one call. Ends the batch when destroyed: answers that come later
// are no longer wanted.
class AckBox::Batch {
 public:
  Batch(std::shared_ptr<AckBox> box, Answers& answers)
      : box_(std::move(box)), answers_(answers), prefix_(std::to_string(answers.batch) + ".") {}
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // The last two tokens of the subject that the answer to a message comes to: "batch.index".
  std::string Address(std::size_t index) const { return prefix_ + std::to_string(index); }

  // Waits until fewer than `window` messages of all batches have no answer, the connection is gone,
  // something is denied, or the deadline has passed. Returns how many of `wanted` messages there is
  // room for; they count as sent.
  std::size_t TakeRoom(std::size_t wanted, std::size_t window, Deadline deadline);
  // So many of them were not sent after all.
  void GiveBack(std::size_t count);
  // Waits until every message sent has its answer, or as above. True when they have.
  bool WaitForAll(Deadline deadline);

  void Put(std::size_t index, Ack ack);
  // Some message has been answered that nobody listens.
  bool AnyUnheard() const;
  // By message; none where no answer has come.
  std::vector<std::optional<Ack>> TakeAll();
  std::vector<std::string> TakeDenials();

 private:
  const std::shared_ptr<AckBox> box_;
  Answers& answers_;  // guarded by the box's mutex
  const std::string prefix_;
};

}  // namespace outbox::sink
