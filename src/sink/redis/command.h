// The commands this sink sends, as the bytes that go over the wire.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/message.h"
#include "sink/redis/options.h"

namespace outbox::sink {

// Appends one command to `out`.
void AppendCommand(std::span<const std::string_view> words, std::string& out);
void AppendCommand(std::initializer_list<std::string_view> words, std::string& out);

// The fields of a stream's entry, in order: id, topic, payload, then the delivery headers. A
// producer's header that is called like one of the first three gets the prefix "header:".
Headers EntryFields(const Message& message, message::BodyFormat body);

// Makes the command that adds a message to its stream. With dedupe that is a script, which adds the
// entry and remembers the id, or does nothing when it remembers it already; it returns the id of
// the entry either way. The script adds nothing if it may not remember, so an error always means
// that nothing was added. The entry is written before the key that remembers it: a server that
// crashes between the two may add a duplicate, never lose a message.
//
// Threads: used by one.
class AddCommand {
 public:
  explicit AddCommand(const RedisOptions& options);

  // `first` of a batch brings the script along; those after it name it only.
  void Append(const Message& message, std::string_view stream, bool first, std::string& out);

 private:
  const std::string maxlen_;
  const bool maxlen_exact_;
  const std::string dedupe_ms_;  // empty: no dedupe
  const message::BodyFormat body_;
  const std::string script_sha_;
  std::vector<std::string_view> words_;
};

// "outbox:dedupe:{stream}:id"; the braces keep it in the stream's slot.
std::string DedupeKey(std::string_view stream, const Uuid& id);

}  // namespace outbox::sink
