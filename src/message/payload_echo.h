// PayloadEcho: do texts repeat what is in payloads, however they write it?
//
//   PayloadEcho echo;
//   const std::size_t answer = echo.Add(text);
//   for (const Message& message : batch) echo.Look(message.payload);
//   if (echo.Repeats(answer)) …
//
// Both sides are compared by their letters and digits alone: white space, punctuation and case make
// no difference. Escapes of JSON, HTML and URLs are undone first, also when they are nested, and
// base64 and hexadecimal are decoded. A text repeats a payload when `run` letters or digits in a
// row are in both. Ids in the form of a UUID do not count.
//
// This finds what servers and handlers quote. It does not find what is written to deceive it: a
// text by an untrusted author must not be shown at all.
//
// Work: once through each text and each payload, whatever is in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace outbox::message {

class PayloadEcho {
 public:
  // Of texts that are our own or a handler's, which name things and use common words.
  static constexpr std::size_t kRun = 24;
  static constexpr std::size_t kRunMax = 64;

  explicit PayloadEcho(std::size_t run = kRun);

  // Adds a text to be compared, and returns its number. `known` are words that it may mention
  // although a payload has them too; only those count that are long enough to be a run.
  std::size_t Add(std::string_view text, std::span<const std::string_view> known = {});
  // Compares all texts added so far with `payload`.
  void Look(std::string_view payload);
  bool Repeats(std::size_t text) const;

 private:
  void AddRuns(std::string_view form);
  void AddDecoded(std::string_view form);
  void LookAt(std::string_view form);

  // Calls `each` with the hash of every run in `form`.
  template <typename Each>
  void ForEachHash(std::string_view form, Each each) const;

  const std::size_t run_;
  std::uint64_t oldest_ = 1;  // what the oldest letter of a run weighs in its hash

  // The runs of each text, as hashes, and whether some payload has them.
  std::vector<std::vector<std::uint64_t>> texts_;
  std::unordered_map<std::uint64_t, bool> seen_;
};

}  // namespace outbox::message
