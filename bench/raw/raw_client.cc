#include "bench/raw/raw_client.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace outbox::bench {
namespace {

struct RawKind {
  std::string_view scheme;
  Result<std::unique_ptr<RawClient>> (*make)(const sink::SinkUri& uri);
};

// Without TLS: its cost is the same on both sides.
constexpr std::array kRawKinds{RawKind{"amqp", MakeRawAmqp}, RawKind{"http", MakeRawHttp},
                               RawKind{"kafka", MakeRawKafka}, RawKind{"nats", MakeRawNats},
                               RawKind{"redis", MakeRawRedis}};

}  // namespace

Result<std::unique_ptr<RawClient>> MakeRawClient(const sink::SinkUri& uri) {
  for (const RawKind& kind : kRawKinds) {
    if (kind.scheme == uri.scheme) return kind.make(uri);
  }
  return Status::Invalid(
             base::StrCat("bench: there is nothing to compare a sink '", uri.scheme, ":' with"))
      .WithHint("give an address that begins with amqp:, http:, kafka:, nats: or redis:");
}

Status RawFailure(std::string_view kind, std::string_view what, std::string_view why) {
  return Status::Permanent(Code::kUnavailable, base::StrCat("raw ", kind, ": ", what, ": ", why));
}

}  // namespace outbox::bench
