#include "sink/redis/classify_error.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::size_t kReplyBytesMax = 300;
constexpr std::string_view kTooManyClients = "ERR max number of clients reached";
constexpr std::string_view kNoPasswordWanted = "ERR AUTH";
constexpr std::string_view kNoPermission = "NOPERM";
constexpr std::string_view kProtocolError = "ERR Protocol error";

struct Meaning {
  std::string_view word;  // the reply's first
  Code code;
  Disposition disposition;
  std::string_view hint;
};

constexpr std::array kMeanings{
    // Credentials.
    Meaning{"NOAUTH", Code::kPermission, Disposition::kSinkDown,
            "give user and password in the address, or password_env or password_file"},
    Meaning{"WRONGPASS", Code::kPermission, Disposition::kSinkDown,
            "check user and password, and that the user is on"},
    Meaning{"DENIED", Code::kPermission, Disposition::kSinkDown,
            "the server is in protected mode: give it a password"},
    // Resources and state.
    Meaning{"OOM", Code::kUnavailable, Disposition::kSinkDown,
            "the server has reached maxmemory: raise it, or bound the streams with maxlen"},
    Meaning{"MISCONF", Code::kUnavailable, Disposition::kSinkDown,
            "the server can not save to disk and takes no writes: see its log"},
    Meaning{"LOADING", Code::kUnavailable, Disposition::kSinkDown, ""},
    Meaning{"BUSY", Code::kUnavailable, Disposition::kSinkDown, "a script keeps the server busy"},
    Meaning{"MASTERDOWN", Code::kUnavailable, Disposition::kSinkDown, ""},
    Meaning{"READONLY", Code::kUnavailable, Disposition::kSinkDown,
            "this server is a replica: name the master"},
    Meaning{"NOREPLICAS", Code::kUnavailable, Disposition::kSinkDown,
            "min-replicas-to-write is not met"},
    Meaning{"CLUSTERDOWN", Code::kUnavailable, Disposition::kSinkDown, ""},
    Meaning{"TRYAGAIN", Code::kUnavailable, Disposition::kSinkDown, ""},
    // The message's own.
    Meaning{kNoPermission, Code::kPermission, Disposition::kRetry,
            "let the user write to the stream, with dedupe also to outbox:dedupe:*"},
    Meaning{"WRONGTYPE", Code::kRejected, Disposition::kRetry,
            "the key of the stream holds something else: remove it or change stream="},
    Meaning{"MOVED", Code::kRejected, Disposition::kRetry,
            "the server is part of a Redis Cluster, which this sink does not follow"},
};

bool Says(std::string_view reply, std::string_view what) noexcept {
  return reply.find(what) != std::string_view::npos;
}

// Of the command itself, or inside a script, in the words of several versions.
bool IsForbiddenCommand(std::string_view reply) noexcept {
  return Says(reply, "permissions to run") || Says(reply, "executing the script can't run");
}

bool IsForbiddenKeyOfScript(std::string_view reply) noexcept {
  return Says(reply, "ACL failure in script") || Says(reply, "executing the script can't access");
}

// The words of a command that the server repeats, after its own: a payload is among them.
std::string_view WithoutArguments(std::string_view reply) noexcept {
  const std::size_t arguments = reply.find("with args beginning with");
  if (arguments == std::string_view::npos) return reply;
  const std::size_t end = reply.find_last_not_of(", ", arguments == 0 ? 0 : arguments - 1);
  return reply.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

// Servers before 7.0 put the place in the script before an error: "@user_script: 4: -OOM …".
std::string_view WithoutPlaceInScript(std::string_view reply) noexcept {
  constexpr std::string_view kEndOfPlace = ": -";
  if (!Says(reply, "@user_script")) return reply;
  const std::size_t end = reply.find(kEndOfPlace);
  return end == std::string_view::npos ? reply : reply.substr(end + kEndOfPlace.size());
}

// The first word of an error that is one of Redis: "WRONGTYPE".
std::string CodeOf(std::string_view error) {
  constexpr std::size_t kBytesMax = 24;
  const std::string_view word = error.substr(0, error.find(' '));
  const bool code = word.size() <= kBytesMax && std::all_of(word.begin(), word.end(), [](char c) {
                      return (c >= 'A' && c <= 'Z') || c == '_';
                    });
  return std::string(code ? word : "");
}

}  // namespace

bool IsProtocolError(std::string_view reply) noexcept { return reply.starts_with(kProtocolError); }

Status ClassifyRedisError(std::string_view reply, std::string_view peer) {
  const std::string message =
      StrCat("redis ", peer, ": ", base::CleanError(WithoutArguments(reply), kReplyBytesMax));
  const std::string_view error = WithoutPlaceInScript(reply);
  const std::string word =
      IsForbiddenKeyOfScript(reply) ? std::string(kNoPermission) : CodeOf(error);
  if (reply.starts_with(kTooManyClients)) return Status::SinkDown(message).WithNative(word);
  if (reply.starts_with(kNoPasswordWanted)) {
    return Status(Code::kPermission, Disposition::kSinkDown, message)
        .WithNative(word)
        .WithHint("the server knows no passwords: leave user and password out of the address");
  }
  if (IsForbiddenCommand(reply)) {
    return Status(Code::kPermission, Disposition::kSinkDown, message)
        .WithNative(word)
        .WithHint("let the user run XADD, with dedupe also EVAL, EVALSHA, GET and SET");
  }
  if (IsProtocolError(reply)) {
    return Status::Permanent(Code::kRejected, message)
        .WithNative(word)
        .WithHint("the message is larger than the server's proto-max-bulk-len");
  }
  const auto* const meaning = std::find_if(
      kMeanings.begin(), kMeanings.end(), [&](const Meaning& known) { return known.word == word; });
  if (meaning == kMeanings.end()) return Status::Retry(Code::kRejected, message).WithNative(word);
  return Status(meaning->code, meaning->disposition, message)
      .WithNative(word)
      .WithHint(std::string(meaning->hint));
}

}  // namespace outbox::sink
