// ConfirmWindow: which messages of a batch the broker has answered for, and how.
//
// A channel in confirm mode numbers what is published on it. The broker answers with those numbers,
// in any order, or with "all up to this one". What it could not route it sends back first, without
// a number, and then acknowledges it all the same: a returned message is found by its id.
//
// Threads: used by one. Knows no connection, so that it can be tested without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace outbox::sink {

enum class Answer : std::uint8_t { kNone, kConfirmed, kRefused, kUnroutable };

class ConfirmWindow {
 public:
  // `first_tag` is the number that the channel gives to the next message.
  explicit ConfirmWindow(std::uint64_t first_tag) : first_tag_(first_tag) {}

  // The message at `index` of the batch went out.
  void Sent(std::size_t index, std::string message_id);
  // The messages answered for by the tag, which leave the window. Tags from before it are ignored.
  template <typename Take>
  void Answered(std::uint64_t tag, bool multiple, bool confirmed, Take take) {
    if (tag < first_tag_) return;
    const std::size_t last = static_cast<std::size_t>(tag - first_tag_);
    for (std::size_t at = multiple ? oldest_open_ : last; at <= last && at < sent_.size(); ++at) {
      if (Close(at)) take(sent_[at].index, AnswerFor(sent_[at], confirmed));
    }
    Advance();
  }
  // The broker sent a message back; its confirm is still to come.
  void Returned(std::string_view message_id);

  // What the connection's end leaves behind: each message without an answer; kUnroutable for those
  // that were returned, which can not have been taken.
  template <typename Take>
  void Abandon(Take take) {
    for (std::size_t at = oldest_open_; at < sent_.size(); ++at) {
      if (Close(at)) take(sent_[at].index, AnswerFor(sent_[at], false, Answer::kNone));
    }
    Advance();
  }

  std::size_t open() const { return open_; }

 private:
  struct Entry {
    std::size_t index = 0;
    std::string message_id;
    bool answered = false;
    bool returned = false;
  };

  static Answer AnswerFor(const Entry& entry, bool confirmed, Answer refused = Answer::kRefused) {
    if (entry.returned) return Answer::kUnroutable;
    return confirmed ? Answer::kConfirmed : refused;
  }
  bool Close(std::size_t at);
  void Advance();

  const std::uint64_t first_tag_;
  std::deque<Entry> sent_;  // by tag; by_id_ refers to the ids in it
  std::size_t oldest_open_ = 0;
  std::size_t open_ = 0;
  std::unordered_map<std::string_view, std::size_t> by_id_;  // filled when something is returned
  std::size_t ids_known_ = 0;
};

}  // namespace outbox::sink
