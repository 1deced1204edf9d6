#include "sink/nats/stream_lookup.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "sink/nats/denial.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using nlohmann::json;

constexpr const char* kNamesSubject = "$JS.API.STREAM.NAMES";
constexpr std::chrono::seconds kPatience{2};
constexpr std::size_t kNoWindow = std::numeric_limits<std::size_t>::max();

std::string Question(std::string_view subject) {
  return json{{"subject", subject}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

// True when the user may not ask; else all answers are there, or no more come.
bool AwaitAnswers(AckBox::Batch& answers, Deadline deadline) {
  while (!answers.WaitForAll(deadline)) {
    const auto denials = answers.TakeDenials();
    if (denials.empty()) return false;
    const bool forbidden = std::any_of(denials.begin(), denials.end(), [](const auto& text) {
      return Denial(text).Covers(kNamesSubject);
    });
    if (forbidden) return true;
  }
  return false;
}

}  // namespace

std::vector<StreamFound> LookUpStreams(NatsConnection& connection,
                                       const std::vector<std::string_view>& subjects,
                                       Deadline deadline) {
  std::vector<StreamFound> found(subjects.size(), StreamFound::kNoAnswer);
  const auto answers = connection.acks().Begin(subjects.size());
  (void)answers->TakeRoom(subjects.size(), kNoWindow, deadline);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (deadline.passed()) return found;
    const std::string reply = connection.ReplySubject(*answers, i);
    if (connection.Ask(kNamesSubject, reply, Question(subjects[i])) != NATS_OK) return found;
  }
  const Deadline patience(std::min(deadline.at(), Deadline::After(kPatience).at()));
  const bool forbidden = AwaitAnswers(*answers, patience);
  const auto acks = answers->TakeAll();
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (forbidden) {
      found[i] = StreamFound::kForbidden;
    } else if (acks[i] && !acks[i]->no_responders) {
      found[i] = ReadStreamNames(acks[i]->body);
    }
  }
  return found;
}

StreamFound ReadStreamNames(std::string_view text) {
  const json answer = json::parse(text, nullptr, false);
  if (!answer.is_object() || answer.contains("error")) return StreamFound::kNoAnswer;
  const auto streams = answer.find("streams");
  const bool some = streams != answer.end() && streams->is_array() && !streams->empty();
  return some ? StreamFound::kSome : StreamFound::kNone;
}

Status NoStream(StreamFound found, std::string_view subject, std::string_view peer) {
  const std::string where = StrCat("nats ", peer, ": ");
  const std::string create =
      StrCat("create a stream for it: nats stream add NAME --subjects '", subject, "'");
  switch (found) {
    case StreamFound::kSome:
      return Status::SinkDown(StrCat(where, "the stream of '", subject, "' does not answer"))
          .WithNative("503")
          .WithHint("it has no leader: are enough of its servers there?");
    case StreamFound::kNoAnswer:
      return Status::SinkDown(
                 StrCat(where, "neither a stream for '", subject, "' nor JetStream answers"))
          .WithNative("503")
          .WithHint("is JetStream on, for this account too, and has its cluster a leader?");
    case StreamFound::kForbidden:
      return Status::Retry(Code::kRejected,
                           StrCat(where, "no stream listens for the subject '", subject, "'"))
          .WithNative("503")
          .WithHint(StrCat(create, "; if it exists, let this user publish to ", kNamesSubject,
                           ", so that JetStream being away can be told from it"));
    case StreamFound::kNone: break;
  }
  return Status::Retry(Code::kRejected,
                       StrCat(where, "no stream listens for the subject '", subject, "'"))
      .WithNative("503")
      .WithHint(create);
}

}  // namespace outbox::sink
