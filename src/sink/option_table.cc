#include "sink/option_table.h"

#include <algorithm>
#include <array>

namespace outbox::sink {
namespace {

using base::OptionView;

constexpr OptionView kSecret = OptionView::kHidden;
constexpr std::string_view kKafkaPrefix = "kafka.";
constexpr std::string_view kHeaderPrefix = "outbox.header.";

constexpr std::array kFile{KnownOption{"fsync"}};

// The plain scheme takes those before the first of TLS.
constexpr std::size_t kTlsOptions = 4;
constexpr std::array kAmqp{KnownOption{"password", kSecret},
                           KnownOption{"exchange"},
                           KnownOption{"declare"},
                           KnownOption{"type"},
                           KnownOption{"routing_key"},
                           KnownOption{"mandatory"},
                           KnownOption{"persistent"},
                           KnownOption{"body"},
                           KnownOption{"window"},
                           KnownOption{"message_bytes_max"},
                           KnownOption{"connection_name"},
                           KnownOption{"heartbeat"},
                           KnownOption{"tls_verify"},
                           KnownOption{"tls_ca"},
                           KnownOption{"tls_cert"},
                           KnownOption{"tls_key"}};
constexpr std::array kNats{KnownOption{"password", kSecret},
                           KnownOption{"token", kSecret},
                           KnownOption{"creds"},
                           KnownOption{"nkey"},
                           KnownOption{"subject"},
                           KnownOption{"stream"},
                           KnownOption{"id_suffix"},
                           KnownOption{"window"},
                           KnownOption{"body"},
                           KnownOption{"tls_verify"},
                           KnownOption{"tls_ca"},
                           KnownOption{"tls_cert"},
                           KnownOption{"tls_key"}};
constexpr std::array kRedis{KnownOption{"password", kSecret},
                            KnownOption{"stream"},
                            KnownOption{"maxlen"},
                            KnownOption{"maxlen_exact"},
                            KnownOption{"group"},
                            KnownOption{"dedupe"},
                            KnownOption{"body"},
                            KnownOption{"tls_verify"},
                            KnownOption{"tls_ca"},
                            KnownOption{"tls_cert"},
                            KnownOption{"tls_key"}};
constexpr std::array kHttp{KnownOption{"outbox.secret", kSecret},
                           KnownOption{"outbox.secret2", kSecret},
                           KnownOption{"outbox.bearer", kSecret},
                           KnownOption{"outbox.password", kSecret},
                           KnownOption{"outbox.proxy", OptionView::kAddress},
                           KnownOption{"outbox.body"},
                           KnownOption{"outbox.batch"},
                           KnownOption{"outbox.batch_max"},
                           KnownOption{"outbox.batch_bytes"},
                           KnownOption{"outbox.concurrency"},
                           KnownOption{"outbox.timeout"},
                           KnownOption{"outbox.connect_timeout"},
                           KnownOption{"outbox.http2"},
                           KnownOption{"outbox.verdicts"},
                           KnownOption{"outbox.excerpt"},
                           KnownOption{"outbox.allow"},
                           KnownOption{"outbox.tls_verify"},
                           KnownOption{"outbox.tls_ca"},
                           KnownOption{"outbox.tls_cert"},
                           KnownOption{"outbox.tls_key"}};
constexpr std::array kKafka{KnownOption{"password", kSecret},
                            KnownOption{"topic"},
                            KnownOption{"body"},
                            KnownOption{"timeout"},
                            KnownOption{"tls"},
                            KnownOption{"tls_verify"},
                            KnownOption{"tls_ca"},
                            KnownOption{"tls_cert"},
                            KnownOption{"tls_key"},
                            KnownOption{"sasl"}};
// Properties of librdkafka's, as kafka.NAME. Whatever is not here may be a key or a password.
constexpr std::array<std::string_view, 53> kKafkaProperties{
    "acks",
    "allow.auto.create.topics",
    "api.version.request",
    "api.version.request.timeout.ms",
    "batch.num.messages",
    "batch.size",
    "broker.address.family",
    "broker.address.ttl",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "compression.codec",
    "compression.level",
    "compression.type",
    "connections.max.idle.ms",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "linger.ms",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "message.copy.max.bytes",
    "message.max.bytes",
    "message.send.max.retries",
    "metadata.max.age.ms",
    "partitioner",
    "queue.buffering.backpressure.threshold",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "receive.message.max.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.required.acks",
    "request.timeout.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "sasl.kerberos.keytab",
    "sasl.kerberos.principal",
    "sasl.kerberos.service.name",
    "socket.connection.setup.timeout.ms",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "ssl.cipher.suites",
    "ssl.curves.list",
    "ssl.sigalgs.list",
    "sticky.partitioning.linger.ms",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.interval.ms"};

// A secret's NAME_env and NAME_file say where it is.
std::string_view WithoutSource(std::string_view name) {
  for (const std::string_view suffix : {"_env", "_file"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

bool IsSecret(OptionView view) { return view != OptionView::kShown; }

}  // namespace

std::span<const KnownOption> OptionsOf(std::string_view scheme) noexcept {
  const auto in_the_clear = [](std::span<const KnownOption> options) {
    return options.first(options.size() - kTlsOptions);
  };
  if (scheme == "amqp") return in_the_clear(kAmqp);
  if (scheme == "amqps") return kAmqp;
  if (scheme == "nats") return in_the_clear(kNats);
  if (scheme == "natss") return kNats;
  if (scheme == "redis") return in_the_clear(kRedis);
  if (scheme == "rediss") return kRedis;
  if (scheme == "http" || scheme == "https") return kHttp;
  if (scheme == "kafka") return kKafka;
  if (scheme == "file") return kFile;
  return {};
}

OptionView ViewOf(std::string_view scheme, std::string_view name) {
  const auto options = OptionsOf(scheme);
  const auto view = [&](std::string_view wanted) {
    const auto known = std::find_if(options.begin(), options.end(), [&](const KnownOption& option) {
      return option.name == wanted;
    });
    return known == options.end() ? nullptr : &known->view;
  };
  if (const OptionView* known = view(name)) return *known;
  const std::string_view source_of = WithoutSource(name);
  if (source_of != name) {
    const OptionView* secret = view(source_of);
    const bool header =
        !options.empty() && options.data() == kHttp.data() && source_of.starts_with(kHeaderPrefix);
    if (header || (secret != nullptr && IsSecret(*secret))) return OptionView::kShown;
  }
  const bool property = scheme == "kafka" && name.starts_with(kKafkaPrefix) &&
                        std::find(kKafkaProperties.begin(), kKafkaProperties.end(),
                                  name.substr(kKafkaPrefix.size())) != kKafkaProperties.end();
  return property ? OptionView::kShown : OptionView::kHidden;
}

std::string MaskSinkAddress(std::string_view address) { return base::MaskAddress(address, ViewOf); }

}  // namespace outbox::sink
