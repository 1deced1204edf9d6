#include "sink/kafka/classify_error.h"

#include <string>
#include <utility>

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::size_t kDetailBytesMax = 300;

struct Verdict {
  Code code;
  Disposition disposition;
  std::string_view hint{};
};

constexpr std::string_view kTlsHint =
    "check tls_ca; the certificate must name the host; is this the port?";
// librdkafka's words when a broker has hung up on a request in the clear.
constexpr std::string_view kPerhapsTls = "connecting to a SSL listener?";
constexpr std::string_view kSizeHint =
    "raise kafka.message.max.bytes here and max.message.bytes of the topic";

Verdict RefusedRequest(const KafkaFailure& failure, std::string_view hint) {
  if (failure.alone) return {Code::kRejected, Disposition::kPermanent, hint};
  return {Code::kRejected, Disposition::kRetry, "refused together with others of its request"};
}

Verdict NotSent(const KafkaFailure& failure) {
  if (failure.cluster_answers) {
    return {Code::kDeadline, Disposition::kRetry,
            "the topic may be missing or its partition without a leader"};
  }
  return {Code::kUnavailable, Disposition::kSinkDown, "are the brokers up, and is this the port?"};
}

Verdict Judge(const KafkaFailure& failure) {
  switch (failure.error) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE: return RefusedRequest(failure, kSizeHint);
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
      return RefusedRequest(failure, "a compacted topic takes no empty key");
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
      return RefusedRequest(
          failure, "the topic refuses messages this old: see message.timestamp.difference.max.ms");

    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
      return {Code::kInvalidArgument, Disposition::kPermanent, "look at the option topic"};

    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
      return {Code::kRejected, Disposition::kRetry,
              "the topic has an older message format: see message.format.version"};
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return {Code::kNotFound, Disposition::kRetry,
              "create the topic, or look at the option topic"};
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return {Code::kPermission, Disposition::kRetry, "let this user write to the topic"};

    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return {Code::kPermission, Disposition::kSinkDown,
              "grant IdempotentWrite, or set kafka.enable.idempotence=false"};
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
    case RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE:
      return {Code::kPermission, Disposition::kSinkDown,
              "check user, password and the option sasl"};
    case RD_KAFKA_RESP_ERR__SSL: return {Code::kUnavailable, Disposition::kSinkDown, kTlsHint};

    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE: return NotSent(failure);

    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
      return {Code::kUnavailable, Disposition::kSinkDown,
              "are the brokers up, and is this the port?"};

    // The state of one partition: others take messages.
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
      return {Code::kUnavailable, Disposition::kRetry,
              "fewer replicas are in sync than min.insync.replicas asks for"};
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
      return {Code::kUnavailable, Disposition::kRetry, "the message's partition has no leader now"};
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
      return {Code::kUnavailable, Disposition::kRetry,
              "a disk of the partition's leader fails: see the broker's log"};

    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
    case RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED: return {Code::kUnavailable, Disposition::kSinkDown};

    // The broker has written the message; enough replicas have not.
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT: return {Code::kDeadline, Disposition::kInDoubt};

    default: return {Code::kInternal, Disposition::kRetry};
  }
}

// A broker that hangs up on a handshake, or answers with something else.
bool IsNoHandshake(std::string_view detail) {
  const auto says = [&](std::string_view what) { return detail.find(what) != detail.npos; };
  return says("state SSL_HANDSHAKE") && (says("Disconnected") || says("wrong version number"));
}

// The broker's own refusals settle what became of the message, whatever librdkafka feared.
bool IsRefusal(const Verdict& verdict) {
  return verdict.disposition == Disposition::kPermanent || verdict.code == Code::kRejected ||
         verdict.code == Code::kNotFound || verdict.code == Code::kPermission;
}

}  // namespace

bool IsRefusedRequest(rd_kafka_resp_err_t error) noexcept {
  switch (error) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP: return true;
    default: return false;
  }
}

Status ClassifyKafkaError(const KafkaFailure& failure, std::string_view servers,
                          std::string_view detail) {
  Verdict verdict = Judge(failure);
  // librdkafka reports a failed handshake as the connection's failure, too.
  if (failure.error == RD_KAFKA_RESP_ERR__TRANSPORT && detail.find("SSL") != detail.npos) {
    verdict.hint = kTlsHint;
  }
  if (detail.find(kPerhapsTls) != detail.npos) {
    verdict.hint = "does the broker speak TLS at this port? if so, add tls=true";
  } else if (IsNoHandshake(detail)) {
    verdict.hint = "does the broker speak TLS at this port? if not, leave out tls=true";
  }
  if (failure.persisted != RD_KAFKA_MSG_STATUS_NOT_PERSISTED && !IsRefusal(verdict)) {
    verdict = {verdict.code, Disposition::kInDoubt};
  }
  std::string text = StrCat("kafka at ", servers, ": ", rd_kafka_err2str(failure.error));
  if (!detail.empty()) text += StrCat(": ", base::CleanError(detail, kDetailBytesMax));
  return Status(verdict.code, verdict.disposition, std::move(text))
      .WithHint(std::string(verdict.hint))
      .WithNative(rd_kafka_err2name(failure.error));
}

}  // namespace outbox::sink
