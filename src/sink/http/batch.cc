#include "sink/http/batch.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "message/envelope.h"
#include "sink/http/request.h"

namespace outbox::sink {
namespace {

// Messages [first, first + count) of the batch, in one request.
struct Portion {
  std::size_t first = 0;
  std::size_t count = 0;

  template <typename T>
  std::span<T> Of(std::span<T> all) const {
    return all.subspan(first, count);
  }
  Portion FirstHalf() const { return {first, count / 2}; }
  Portion SecondHalf() const { return {first + count / 2, count - count / 2}; }
};

std::vector<Portion> PortionsWithin(std::size_t bytes_max, std::span<const std::string> events) {
  std::vector<Portion> portions;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t with_comma = events[i].size() + 1;
    if (portions.empty() || bytes + with_comma > bytes_max) {
      portions.push_back({.first = i});
      bytes = 1;  // the brackets, less the comma that the first has too many
    }
    ++portions.back().count;
    bytes += with_comma;
  }
  return portions;
}

// Refused for what is in it, whichever of its messages that is.
bool IsRefused(const Status& answer) { return answer.code() == Code::kRejected; }

// A probe of a single message will be decided.
Status Undecided(const Status& refusal) {
  return Status(Code::kDeadline, Disposition::kSinkDown,
                base::StrCat(refusal.message(),
                             " to several messages, and there was no time left to find out which "
                             "it was refusing"))
      .WithNative(refusal.native());
}

}  // namespace

void SendBatch(Client& client, const HttpOptions& options, std::span<const Message> batch,
               std::span<Status> results, Deadline deadline) {
  std::vector<std::string> events;
  events.reserve(batch.size());
  for (const Message& message : batch) {
    events.push_back(message::MakeBody(message, message::BodyFormat::kCloudEvents));
  }
  // The next is the last.
  std::vector<Portion> portions = PortionsWithin(options.batch_bytes, events);
  std::reverse(portions.begin(), portions.end());
  std::optional<Status> refusal;
  bool decided = false;
  while (!portions.empty()) {
    const Portion portion = portions.back();
    const Status answer =
        client.Send(MakeBatchRequest(options, portion.Of(batch),
                                     portion.Of(std::span<const std::string>(events)), Now()),
                    deadline);
    const bool down = answer.disposition() == Disposition::kSinkDown;
    if (down && answer.code() == Code::kNotAttempted && (decided || refusal)) break;
    if (!down && IsRefused(answer) && portion.count > 1) {
      refusal = answer;
      portions.back() = portion.SecondHalf();
      portions.push_back(portion.FirstHalf());
      continue;
    }
    portions.pop_back();
    std::ranges::fill(portion.Of(results), answer);
    decided = true;
    if (down) break;
  }
  if (!decided && refusal) std::ranges::fill(results, Undecided(*refusal));
}

}  // namespace outbox::sink
