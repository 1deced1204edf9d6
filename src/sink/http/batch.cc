#include "sink/http/batch.h"

#include <algorithm>
#include <chrono>
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

Status Undecided(const Status& refusal) {
  return Status::Retry(refusal.code(), base::StrCat(refusal.message(),
                                                    " to several messages, and there was no time "
                                                    "left to find out which it was refusing"))
      .WithNative(refusal.native());
}

// Without the text of an answer that was for others.
Status NotSentAgain(const Status& down, const HttpOptions& options) {
  return Status(down.code(), Disposition::kSinkDown,
                base::StrCat(options.endpoint.ToString(), " was down before a refused batch could ",
                             "be sent again in halves"))
      .WithHint(down.hint())
      .WithNative(down.native())
      .WithRetryAfter(down.retry_after().value_or(std::chrono::milliseconds(0)));
}

bool IsSinkDown(const Status& status) { return status.disposition() == Disposition::kSinkDown; }

}  // namespace

void SendBatch(Client& client, const HttpOptions& options, std::span<const Message> batch,
               std::span<Status> results, Deadline deadline) {
  std::vector<std::string> events;
  events.reserve(batch.size());
  for (const Message& message : batch) {
    events.push_back(message::MakeBody(message, message::BodyFormat::kCloudEvents));
  }
  std::vector<Portion> portions = PortionsWithin(options.batch_bytes, events);
  while (!portions.empty()) {
    std::vector<Status> answers;
    answers.reserve(portions.size());
    for (const Portion& portion : portions) answers.push_back(results[portion.first]);
    client.Send(
        [&](std::size_t i) {
          return MakeBatchRequest(options, portions[i].Of(batch),
                                  portions[i].Of(std::span<const std::string>(events)), Now());
        },
        answers, deadline);
    const auto down = std::find_if(answers.begin(), answers.end(), IsSinkDown);
    std::vector<Portion> smaller;
    for (std::size_t i = 0; i < portions.size(); ++i) {
      const Portion& portion = portions[i];
      Status answer = answers[i];
      if (answer.disposition() == Disposition::kPermanent && portion.count > 1) {
        answer = down != answers.end() ? NotSentAgain(*down, options) : Undecided(answer);
        smaller.push_back(portion.FirstHalf());
        smaller.push_back(portion.SecondHalf());
      }
      std::ranges::fill(portion.Of(results), answer);
    }
    if (down != answers.end() || deadline.passed()) break;
    portions = std::move(smaller);
  }
}

}  // namespace outbox::sink
