#include "sink/nats/classify_error.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::size_t kTextBytesMax = 300;

struct Meaning {
  int error_code;
  Code code;
  Disposition disposition;
  std::string_view hint;
};

constexpr std::string_view kFull = "the account or the server has no room left";

constexpr std::array kMeanings{
    // The state of the server, its account or its cluster.
    Meaning{JSAccountResourcesExceededErr, Code::kUnavailable, Disposition::kSinkDown, kFull},
    Meaning{JSInsufficientResourcesErr, Code::kUnavailable, Disposition::kSinkDown, kFull},
    Meaning{JSMemoryResourcesExceededErr, Code::kUnavailable, Disposition::kSinkDown, kFull},
    Meaning{JSStorageResourcesExceededErr, Code::kUnavailable, Disposition::kSinkDown, kFull},
    Meaning{JSClusterNotAvailErr, Code::kUnavailable, Disposition::kSinkDown, ""},
    Meaning{JSClusterNotLeaderErr, Code::kUnavailable, Disposition::kSinkDown, ""},
    Meaning{JSNotEnabledErr, Code::kUnavailable, Disposition::kSinkDown, ""},
    Meaning{JSNotEnabledForAccountErr, Code::kUnavailable, Disposition::kSinkDown, ""},
    Meaning{JSStreamOfflineErr, Code::kUnavailable, Disposition::kSinkDown, ""},
    Meaning{JSStreamStoreFailedErr, Code::kUnavailable, Disposition::kSinkDown,
            "the stream could not store it: look into the server's log, and at its disk"},
    // The message's own.
    Meaning{JSStreamMessageExceedsMaximumErr, Code::kRejected, Disposition::kPermanent,
            "the message is larger than the stream's max_msg_size"},
    Meaning{JSStreamNotMatchErr, Code::kRejected, Disposition::kRetry,
            "another stream than that of stream= has the subject"},
};

// What the leader of a stream, or who was it, says of that stream.
constexpr std::array kOneStream{JSClusterNotAvailErr, JSClusterNotLeaderErr, JSStreamOfflineErr};
constexpr std::string_view kNoResponders = "503";

// One stream is full, or one subject of it: other streams still take messages.
bool IsFullStream(int error_code, std::string_view description) {
  return error_code == JSStreamStoreFailedErr && description.starts_with("maximum ");
}

// Of an answer that may be anybody's: what is missing or of another type is 0 or empty.
int NumberIn(const nlohmann::json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_number_integer() ? found->get<int>() : 0;
}
std::string TextIn(const nlohmann::json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string Text(std::string_view peer, std::string_view what) {
  return StrCat("nats ", peer, ": ", base::CleanError(what, kTextBytesMax));
}

}  // namespace

Status ClassifyNatsError(natsStatus status, std::string_view detail, std::string_view peer) {
  const std::string message = Text(peer, detail.empty() ? natsStatus_GetText(status) : detail);
  switch (status) {
    case NATS_MAX_PAYLOAD:
      return Status::Permanent(Code::kRejected, message)
          .WithHint("the message is larger than the server's max_payload");
    case NATS_INVALID_SUBJECT: return Status::Permanent(Code::kInvalidArgument, message);
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
      return Status(Code::kPermission, Disposition::kSinkDown, message)
          .WithHint("check user and password, token, creds or nkey");
    case NATS_SECURE_CONNECTION_REQUIRED:
      return Status::SinkDown(message).WithHint("the server wants TLS: write natss:");
    case NATS_SECURE_CONNECTION_WANTED:
      return Status::SinkDown(message).WithHint("the server has no TLS: write nats:");
    case NATS_SSL_ERROR:
      return Status::SinkDown(message).WithHint(
          "with natss:, name the server's certificate authority with tls_ca=FILE, and the server "
          "as "
          "its certificate does");
    case NATS_TIMEOUT: return {Code::kDeadline, Disposition::kSinkDown, message};
    default: return Status::SinkDown(message);
  }
}

Status ClassifyPubAck(std::string_view json, std::string_view peer) {
  const auto answer = nlohmann::json::parse(json, nullptr, false);
  if (!answer.is_object()) {
    return Status::Retry(Code::kInternal, Text(peer, "an answer that is none of JetStream's"))
        .WithHint("something other than a stream listens on the subject");
  }
  const auto error = answer.find("error");
  if (error == answer.end()) {
    if (answer.contains("stream") && answer.contains("seq")) return Status::Ok();
    return Status::Retry(Code::kInternal, Text(peer, "an answer that confirms nothing"))
        .WithHint("something other than a stream listens on the subject");
  }
  const int code = NumberIn(*error, "err_code");
  const std::string description = TextIn(*error, "description");
  const std::string message = Text(peer, description);
  const std::string native = std::to_string(code);
  if (IsFullStream(code, description)) {
    return Status::Retry(Code::kRejected, message)
        .WithNative(native)
        .WithHint("the stream is full and discards what is new: raise its limits, or purge it");
  }
  const auto* const meaning =
      std::find_if(kMeanings.begin(), kMeanings.end(),
                   [&](const Meaning& known) { return known.error_code == code; });
  if (meaning == kMeanings.end()) {
    return Status::Retry(Code::kRejected, message).WithNative(native);
  }
  return Status(meaning->code, meaning->disposition, message)
      .WithNative(native)
      .WithHint(std::string(meaning->hint));
}

bool IsPlainPubAck(std::string_view json) noexcept {
  const auto skip = [&](std::string_view expected) {
    const bool there = json.starts_with(expected);
    if (there) json.remove_prefix(expected.size());
    return there;
  };
  const auto skip_while = [&](auto wanted) {
    const auto* const end = std::find_if_not(json.begin(), json.end(), wanted);
    const auto count = static_cast<std::size_t>(end - json.begin());
    json.remove_prefix(count);
    return count > 0;
  };
  return skip(R"({"stream":")") && skip_while([](char c) { return c != '"' && c != '\\'; }) &&
         skip(R"(",)") && (skip(" "), true) && skip(R"("seq":)") &&
         skip_while([](char c) { return c >= '0' && c <= '9'; }) && json == "}";
}

Status MessageTooLarge(std::size_t bytes, std::size_t bytes_max, std::string_view peer) {
  return Status::Permanent(Code::kRejected,
                           Text(peer, StrCat("the message has ", bytes,
                                             " bytes with its headers, more than the "
                                             "server's max_payload of ",
                                             bytes_max)))
      .WithHint("raise max_payload in the server's configuration, or enqueue less in a message");
}

bool IsStreamAway(const Status& result) {
  if (result.disposition() != Disposition::kSinkDown) return false;
  const std::string& native = result.native();
  return native == kNoResponders ||
         std::any_of(kOneStream.begin(), kOneStream.end(),
                     [&](int code) { return native == std::to_string(code); });
}

Status PublishDenied(std::string_view subject, std::string_view peer) {
  return Status::Retry(Code::kPermission,
                       Text(peer, StrCat("this user may not publish to '", subject, "'")))
      .WithHint("give the user the permission to publish there");
}

}  // namespace outbox::sink
