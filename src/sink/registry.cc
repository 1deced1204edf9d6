#include "sink/registry.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sink/amqp/amqp_sink.h"
#include "sink/file/file_sink.h"
#include "sink/file/null_sink.h"
#include "sink/file/stdout_sink.h"
#include "sink/http/http_sink.h"
#include "sink/kafka/kafka_sink.h"
#include "sink/nats/nats_sink.h"
#include "sink/redis/redis_sink.h"

namespace outbox::sink {
namespace {

constexpr std::string_view kBody = "body";
constexpr std::string_view kWebhookBody = "outbox.body";
constexpr std::string_view kWebhookBatch = "outbox.batch";  // always CloudEvents
constexpr std::string_view kMandatory = "mandatory";

constexpr std::array kKinds{
    SinkKind{"stdout", "stdout:", MakeStdoutSink},
    SinkKind{"file", "file:PATH[?fsync=always|never]", MakeFileSink},
    SinkKind{"null", "null:", MakeNullSink},
    SinkKind{"amqp", "amqp://HOST[:PORT]/VHOST?exchange=NAME", MakeAmqpSink, AmqpWay, nullptr,
             kBody, kMandatory},
    SinkKind{"amqps", "amqps://HOST[:PORT]/VHOST?exchange=NAME", MakeAmqpSink, AmqpWay, nullptr,
             kBody, kMandatory},
    SinkKind{"http",
             "http://HOST[:PORT]/PATH[?outbox.OPTION=VALUE&...]",
             MakeHttpSink,
             HttpWay,
             MakeObservedHttpSink,
             kWebhookBody,
             {},
             kWebhookBatch},
    SinkKind{"https",
             "https://HOST[:PORT]/PATH[?outbox.OPTION=VALUE&...]",
             MakeHttpSink,
             HttpWay,
             MakeObservedHttpSink,
             kWebhookBody,
             {},
             kWebhookBatch},
    SinkKind{"kafka", "kafka://HOST:PORT,…[?topic=TEMPLATE]", MakeKafkaSink, KafkaWay, nullptr,
             kBody},
    SinkKind{"nats", "nats://HOST[?subject=NAME]", MakeNatsSink, NatsWay, nullptr, kBody},
    SinkKind{"natss", "natss://HOST[?subject=NAME]", MakeNatsSink, NatsWay, nullptr, kBody},
    SinkKind{"redis", "redis://HOST[/DB][?stream=NAME]", MakeRedisSink, RedisWay, nullptr, kBody},
    SinkKind{"rediss", "rediss://HOST[/DB][?stream=NAME]", MakeRedisSink, RedisWay, nullptr, kBody},
};

Status UnknownScheme(std::string_view scheme) {
  std::vector<std::string> known;
  std::vector<std::string> usages;
  for (const SinkKind& kind : kKinds) {
    known.emplace_back(kind.scheme);
    usages.emplace_back(kind.usage);
  }
  const std::string_view nearest = base::Nearest(scheme, known);
  return Status::Invalid(base::StrCat("unknown sink scheme '", scheme, ":'"))
      .WithHint(base::StrCat(nearest.empty() ? "" : base::StrCat("did you mean '", nearest, ":'? "),
                             "known sinks: ", base::Join(usages, ", ")));
}

}  // namespace

std::span<const SinkKind> SinkKinds() noexcept { return kKinds; }

const SinkKind* FindSinkKind(std::string_view scheme) noexcept {
  for (const SinkKind& kind : kKinds) {
    if (kind.scheme == scheme) return &kind;
  }
  return nullptr;
}

SinkUri WithDefaults(SinkUri uri, const OptionDefaults& defaults) {
  const auto add = [&](std::string_view option, const std::string& value) {
    const bool given = std::any_of(uri.options.begin(), uri.options.end(),
                                   [&](const auto& other) { return other.first == option; });
    if (!option.empty() && !value.empty() && !given) uri.options.emplace_back(option, value);
  };
  if (const SinkKind* kind = FindSinkKind(uri.scheme); kind != nullptr) {
    const bool decided =
        std::any_of(uri.options.begin(), uri.options.end(), [&](const auto& other) {
          return other.first == kind->body_deciding_option && other.second == "true";
        });
    if (!decided) add(kind->body_option, defaults.body);
    add(kind->mandatory_option, defaults.mandatory);
  }
  return uri;
}

Result<std::shared_ptr<Sink>> OpenSink(std::string_view text, ConnectObserver observer,
                                       const OptionDefaults& defaults) {
  OUTBOX_ASSIGN_OR_RETURN(SinkUri parsed, SinkUri::Parse(text));
  const SinkUri uri = WithDefaults(std::move(parsed), defaults);
  const SinkKind* kind = FindSinkKind(uri.scheme);
  if (kind == nullptr) return UnknownScheme(uri.scheme);
  const bool observed = observer && kind->make_observed != nullptr;
  return observed ? kind->make_observed(uri, std::move(observer)) : kind->make(uri);
}

}  // namespace outbox::sink
