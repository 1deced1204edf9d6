#include "sink/kafka/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sink/body_option.h"
#include "sink/option_reader.h"
#include "sink/option_table.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr int kDefaultPort = 9092;
constexpr std::size_t kErrorBytesMax = 512;
constexpr std::size_t kTopicBytesMax = 249;
constexpr milliseconds kPropagationMax = 5s;

struct Refused {
  std::string_view property;  // with a dot at the end: all that begin so
  std::string_view why;
};

// Properties that an option of ours stands for, that would break a promise, or that have no effect
// here. The first that fits counts.
constexpr std::array kRefused{
    Refused{"bootstrap.servers", "the brokers are the hosts of the address"},
    Refused{"metadata.broker.list", "the brokers are the hosts of the address"},
    Refused{"message.timeout.ms", "use the option timeout"},
    Refused{"delivery.timeout.ms", "use the option timeout"},
    Refused{"security.protocol", "use the option tls; a user in the address means SASL"},
    Refused{"sasl.username", "the user is part of the address"},
    Refused{"sasl.password", "use the option password, password_env or password_file"},
    Refused{"sasl.mechanism", "use the option sasl"},
    Refused{"sasl.mechanisms", "use the option sasl"},
    Refused{"enable.ssl.certificate.verification", "use the option tls_verify"},
    Refused{"ssl.endpoint.identification.algorithm", "use the option tls_verify"},
    Refused{"ssl.ca.location", "use the option tls_ca"},
    Refused{"ssl.certificate.location", "use the option tls_cert"},
    Refused{"ssl.key.location", "use the option tls_key"},
    Refused{"transactional.id", "transactions are not used"},
    Refused{"delivery.report.only.error", "without reports nothing can be confirmed"},
    Refused{"enabled_events", "without reports nothing can be confirmed"},
    Refused{"queuing.strategy", "messages are sent in their order"},
    Refused{"test.", "messages would go to no broker"},
    Refused{"debug", "librdkafka's own log is not kept"},
    Refused{"log_level", "librdkafka's own log is not kept"},
    Refused{"log.", "librdkafka's own log is not kept"},
    Refused{"statistics.interval.ms", "librdkafka's own statistics are not kept"},
};

bool IsShown(std::string_view option) {
  return ViewOf("kafka", option) == base::OptionView::kShown;
}

class ConfWriter {
 public:
  explicit ConfWriter(OptionReader& options) : options_(options), conf_(rd_kafka_conf_new()) {}

  void Set(std::string_view option, const std::string& property, const std::string& value) {
    std::array<char, kErrorBytesMax> error{};
    const auto set =
        rd_kafka_conf_set(conf_.get(), property.c_str(), value.c_str(), error.data(), error.size());
    if (set == RD_KAFKA_CONF_OK) return;
    // librdkafka likes to quote the value.
    const bool tell = set == RD_KAFKA_CONF_UNKNOWN || IsShown(option);
    options_.AddProblem(option, tell ? error.data() : "has a value that librdkafka does not take");
  }
  void SetUnlessEmpty(std::string_view option, const std::string& property,
                      const std::string& value) {
    if (!value.empty()) Set(option, property, value);
  }
  void Set(std::string_view option, const std::string& property, milliseconds value) {
    Set(option, property, std::to_string(value.count()));
  }

  // A number as librdkafka has understood it.
  int Number(const char* property) const {
    std::array<char, 32> text{};
    std::size_t size = text.size();
    int number = 0;
    if (rd_kafka_conf_get(conf_.get(), property, text.data(), &size) == RD_KAFKA_CONF_OK) {
      std::from_chars(text.data(), text.data() + size, number);
    }
    return number;
  }

  KafkaConf Finish() { return std::move(conf_); }

 private:
  OptionReader& options_;
  KafkaConf conf_;
};

void SetDefaults(ConfWriter& conf, milliseconds timeout) {
  conf.Set("", "client.id", "outboxd");
  conf.Set("", "acks", "all");
  conf.Set("", "enable.idempotence", "true");
  // What a broker takes when nobody has configured it otherwise.
  conf.Set("", "message.max.bytes", "1048588");
  // Small enough that "too large" from a broker is about one message.
  conf.Set("", "batch.size", "131072");
  // A whole batch is handed over at once, and flushed.
  conf.Set("", "linger.ms", "1");
  conf.Set("", "socket.nagle.disable", "true");
  conf.Set("", "reconnect.backoff.max.ms", "1000");
  conf.Set("timeout", "message.timeout.ms", timeout);
  conf.Set("timeout", "request.timeout.ms", timeout);
  conf.Set("timeout", "socket.timeout.ms", timeout);
  // A topic that does not exist must be known as such before its messages time out: those would
  // look like a cluster that is away.
  conf.Set("timeout", "topic.metadata.propagation.max.ms", std::min(timeout / 2, kPropagationMax));
}

// The passphrase of an encrypted key is librdkafka's own property.
std::string KeyPassphrase(OptionReader& options) {
  for (auto& [property, value] : options.Prefixed("kafka.")) {
    if (property == "ssl.key.password") return value;
  }
  return "";
}

// None when the connection is not encrypted.
std::optional<TlsOptions> SetTls(ConfWriter& conf, OptionReader& options) {
  if (!options.Flag("tls", false)) {
    bool used = false;
    for (const char* const option : {"tls_verify", "tls_ca", "tls_cert", "tls_key"}) {
      used = !options.Text(option, "").empty() || used;
    }
    if (used) options.AddProblem("tls", "the tls_… options need tls=true");
    return std::nullopt;
  }
  TlsOptions tls = ReadTlsOptions(options, "", KeyPassphrase(options));
  conf.Set("tls_verify", "enable.ssl.certificate.verification", tls.verify ? "true" : "false");
  conf.Set("tls_verify", "ssl.endpoint.identification.algorithm", tls.verify ? "https" : "none");
  conf.SetUnlessEmpty("tls_ca", "ssl.ca.location", tls.ca_file);
  conf.SetUnlessEmpty("tls_cert", "ssl.certificate.location", tls.cert_file);
  conf.SetUnlessEmpty("tls_key", "ssl.key.location", tls.key_file);
  return tls;
}

struct Security {
  bool tls = false;
  bool sasl = false;
};

Security SetSecurity(ConfWriter& conf, OptionReader& options, const Authority& authority,
                     bool tls) {
  const std::string mechanism =
      options.Choice<std::string>("sasl", authority.user.empty() ? "" : "PLAIN",
                                  {{"PLAIN", "PLAIN"},
                                   {"SCRAM-SHA-256", "SCRAM-SHA-256"},
                                   {"SCRAM-SHA-512", "SCRAM-SHA-512"},
                                   {"GSSAPI", "GSSAPI"},
                                   {"OAUTHBEARER", "OAUTHBEARER"}});
  const std::string secret = options.Secret("password");
  const std::string& password = secret.empty() ? authority.password : secret;
  const bool sasl = !mechanism.empty();
  const bool by_password = mechanism == "PLAIN" || mechanism.starts_with("SCRAM");
  if (by_password && authority.user.empty()) options.AddProblem("sasl", "the address has no user");
  if (!by_password && !password.empty()) {
    options.AddProblem("password",
                       sasl ? StrCat(mechanism, " knows no password") : "the address has no user");
  }
  if (!secret.empty() && !authority.password.empty()) {
    options.AddProblem("password", "the address has a password too");
  }
  conf.Set("tls", "security.protocol",
           sasl ? (tls ? "sasl_ssl" : "sasl_plaintext") : (tls ? "ssl" : "plaintext"));
  conf.SetUnlessEmpty("sasl", "sasl.mechanisms", mechanism);
  conf.SetUnlessEmpty("", "sasl.username", authority.user);
  conf.SetUnlessEmpty("password", "sasl.password", password);
  return {.tls = tls, .sasl = sasl};
}

// Why a property may not be set; empty when it may.
std::string_view WhyRefused(std::string_view property, const Security& security) {
  for (const Refused& refused : kRefused) {
    const bool begins = refused.property.ends_with('.') && property.starts_with(refused.property);
    if (begins || property == refused.property) return refused.why;
  }
  if (!security.tls && property.starts_with("ssl.")) return "has no effect without tls=true";
  if (!security.sasl && property.starts_with("sasl.")) return "has no effect without sasl";
  return "";
}

void PassThrough(ConfWriter& conf, OptionReader& options, const Security& security) {
  for (const auto& [property, value] : options.Prefixed("kafka.")) {
    const std::string option = StrCat("kafka.", property);
    if (const std::string_view why = WhyRefused(property, security); !why.empty()) {
      options.AddProblem(option, why);
    } else {
      conf.Set(option, property, value);
    }
  }
  if (conf.Number("acks") == 0) {
    options.AddProblem("kafka.acks", "without acknowledgements nothing can be confirmed");
  }
}

// Keeps what librdkafka says of properties that a producer ignores.
void KeepWarning(const rd_kafka_t* client, int, const char* facility, const char* text) {
  if (std::string_view(facility) != "CONFWARN") return;
  if (std::string_view(text).find("will be ignored") == std::string_view::npos) return;
  *static_cast<std::string*>(rd_kafka_opaque(client)) = text;
}

// Contradictions and unreadable files show only when a client is made: one without brokers.
// `hidden` are values that no error may quote.
Status CheckTogether(const rd_kafka_conf_t* conf, const std::vector<std::string>& hidden) {
  std::string warning;  // outlives the client
  KafkaConf copy(rd_kafka_conf_dup(conf));
  rd_kafka_conf_set_opaque(copy.get(), &warning);
  rd_kafka_conf_set_log_cb(copy.get(), KeepWarning);
  std::array<char, kErrorBytesMax> error{};
  const KafkaClient client(rd_kafka_new(RD_KAFKA_PRODUCER, copy.get(), error.data(), error.size()));
  const auto refused = [&](std::string_view why) {
    const bool quotes = std::any_of(hidden.begin(), hidden.end(), [&](const std::string& value) {
      return !value.empty() && why.find(value) != std::string_view::npos;
    });
    return Status::Invalid(
        StrCat("the kafka: sink: ", quotes ? "librdkafka does not take a secret as it is" : why));
  };
  if (client == nullptr) return refused(error.data());
  (void)copy.release();  // the client's now
  if (!warning.empty()) return refused(warning);
  return Status::Ok();
}

}  // namespace

bool IsKafkaTopic(std::string_view name) noexcept {
  return !name.empty() && name != "." && name != ".." && name.size() <= kTopicBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

Result<KafkaOptions> ReadKafkaOptions(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(const Authority authority, ParseAuthority(uri, kDefaultPort));
  OptionReader options(uri);
  ConfWriter conf(options);
  KafkaOptions read;
  std::vector<std::string> servers;
  for (const Endpoint& endpoint : authority.endpoints) servers.push_back(endpoint.ToString());
  read.endpoints = authority.endpoints;
  read.servers = base::Join(servers, ",");
  if (!authority.path.empty()) options.AddProblem("", "the address has a path; use ?topic=");
  read.topic = options.Template("topic", "{topic}");
  if (!IsKafkaTopic(read.topic.Sample())) {
    options.AddProblem("topic", "can never be the name of a Kafka topic");
  }
  read.body = ReadBody(options);
  SetDefaults(conf, options.Duration("timeout", 20s, 1s, 5min));
  read.tls = SetTls(conf, options);
  PassThrough(conf, options, SetSecurity(conf, options, authority, read.tls.has_value()));
  OUTBOX_RETURN_IF_ERROR(options.Finish());
  read.batch_bytes = static_cast<std::size_t>(conf.Number("batch.size"));
  read.conf = conf.Finish();
  std::vector<std::string> hidden{authority.password, options.Secret("password")};
  for (auto& [property, value] : options.Prefixed("kafka.")) {
    if (!IsShown(StrCat("kafka.", property))) hidden.push_back(value);
  }
  OUTBOX_RETURN_IF_ERROR(CheckTogether(read.conf.get(), hidden));
  return read;
}

}  // namespace outbox::sink
