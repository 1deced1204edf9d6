#include "sink/kafka/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sink/authority.h"
#include "sink/option_reader.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using message::BodyFormat;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr int kDefaultPort = 9092;
constexpr std::size_t kErrorBytesMax = 512;
constexpr milliseconds kPropagationMax = 5s;

// Properties that an option of ours stands for, or that would break a promise.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kRefused{{
    {"bootstrap.servers", "the brokers are the hosts of the address"},
    {"metadata.broker.list", "the brokers are the hosts of the address"},
    {"message.timeout.ms", "use the option timeout"},
    {"delivery.timeout.ms", "use the option timeout"},
    {"sasl.username", "the user is part of the address"},
    {"sasl.password", "use the option password, password_env or password_file"},
    {"transactional.id", "transactions are not used"},
}};

class ConfWriter {
 public:
  explicit ConfWriter(OptionReader& options) : options_(options), conf_(rd_kafka_conf_new()) {}

  void Set(std::string_view option, const std::string& property, const std::string& value) {
    std::array<char, kErrorBytesMax> error{};
    if (rd_kafka_conf_set(conf_.get(), property.c_str(), value.c_str(), error.data(),
                          error.size()) != RD_KAFKA_CONF_OK) {
      options_.AddProblem(option, error.data());
    }
  }
  void SetUnlessEmpty(std::string_view option, const std::string& property,
                      const std::string& value) {
    if (!value.empty()) Set(option, property, value);
  }
  void Set(std::string_view option, const std::string& property, milliseconds value) {
    Set(option, property, std::to_string(value.count()));
  }

  std::size_t Number(const char* property) const {
    std::array<char, 32> text{};
    std::size_t size = text.size();
    std::size_t number = 0;
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

// Returns whether the connection is encrypted.
bool SetTls(ConfWriter& conf, OptionReader& options) {
  const bool tls = options.Flag("tls", false);
  const bool verify = options.Flag("tls_verify", true);
  const std::string ca = options.Text("tls_ca", "");
  const std::string certificate = options.Text("tls_cert", "");
  const std::string key = options.Text("tls_key", "");
  if (!tls) {
    if (!verify || !ca.empty() || !certificate.empty() || !key.empty()) {
      options.AddProblem("tls", "the tls_… options need tls=true");
    }
    return false;
  }
  if (certificate.empty() != key.empty()) {
    options.AddProblem("tls_cert", "tls_cert and tls_key go together");
  }
  conf.Set("tls_verify", "enable.ssl.certificate.verification", verify ? "true" : "false");
  conf.Set("tls_verify", "ssl.endpoint.identification.algorithm", verify ? "https" : "none");
  conf.SetUnlessEmpty("tls_ca", "ssl.ca.location", ca);
  conf.SetUnlessEmpty("tls_cert", "ssl.certificate.location", certificate);
  conf.SetUnlessEmpty("tls_key", "ssl.key.location", key);
  return true;
}

void SetSecurity(ConfWriter& conf, OptionReader& options, const Authority& authority) {
  const bool tls = SetTls(conf, options);
  const std::string mechanism = options.Choice<std::string>(
      "sasl", authority.user.empty() ? "" : "PLAIN",
      {{"PLAIN", "PLAIN"}, {"SCRAM-SHA-256", "SCRAM-SHA-256"}, {"SCRAM-SHA-512", "SCRAM-SHA-512"}});
  const std::string secret = options.Secret("password");
  const std::string& password = secret.empty() ? authority.password : secret;
  const bool sasl = !mechanism.empty();
  if (sasl && authority.user.empty()) options.AddProblem("sasl", "the address has no user");
  if (!sasl && !password.empty()) options.AddProblem("password", "the address has no user");
  if (!secret.empty() && !authority.password.empty()) {
    options.AddProblem("password", "the address has a password too");
  }
  conf.Set("tls", "security.protocol",
           sasl ? (tls ? "sasl_ssl" : "sasl_plaintext") : (tls ? "ssl" : "plaintext"));
  conf.SetUnlessEmpty("sasl", "sasl.mechanisms", mechanism);
  conf.SetUnlessEmpty("", "sasl.username", authority.user);
  conf.SetUnlessEmpty("password", "sasl.password", password);
}

// Why a property may not be set; empty when it may.
std::string_view WhyRefused(std::string_view property, std::string_view value) {
  for (const auto& refused : kRefused) {
    if (refused.first == property) return refused.second;
  }
  const bool acks = property == "acks" || property == "request.required.acks";
  return acks && value == "0" ? "without acknowledgements nothing can be confirmed" : "";
}

void PassThrough(ConfWriter& conf, OptionReader& options) {
  for (const auto& [property, value] : options.Prefixed("kafka.")) {
    const std::string option = StrCat("kafka.", property);
    if (const std::string_view why = WhyRefused(property, value); !why.empty()) {
      options.AddProblem(option, why);
    } else {
      conf.Set(option, property, value);
    }
  }
}

// Contradictions and unreadable files show only when a client is made: one without brokers.
Status CheckTogether(const rd_kafka_conf_t* conf) {
  KafkaConf copy(rd_kafka_conf_dup(conf));
  rd_kafka_conf_set_log_cb(copy.get(), [](const rd_kafka_t*, int, const char*, const char*) {});
  std::array<char, kErrorBytesMax> error{};
  const KafkaClient client(rd_kafka_new(RD_KAFKA_PRODUCER, copy.get(), error.data(), error.size()));
  if (client == nullptr) return Status::Invalid(StrCat("the kafka: sink: ", error.data()));
  (void)copy.release();  // the client's now
  return Status::Ok();
}

}  // namespace

Result<KafkaOptions> ReadKafkaOptions(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(const Authority authority, ParseAuthority(uri, kDefaultPort));
  OptionReader options(uri);
  ConfWriter conf(options);
  KafkaOptions read;
  std::vector<std::string> servers;
  for (const Endpoint& endpoint : authority.endpoints) servers.push_back(endpoint.ToString());
  read.servers = base::Join(servers, ",");
  if (!authority.path.empty()) options.AddProblem("", "the address has a path; use ?topic=");
  read.topic = options.Template("topic", "{topic}");
  read.body = options.Choice("body", BodyFormat::kPlain,
                             {{"plain", BodyFormat::kPlain},
                              {"envelope", BodyFormat::kEnvelope},
                              {"cloudevents", BodyFormat::kCloudEvents}});
  SetDefaults(conf, options.Duration("timeout", 20s, 1s, 5min));
  SetSecurity(conf, options, authority);
  PassThrough(conf, options);
  OUTBOX_RETURN_IF_ERROR(options.Finish());
  read.batch_bytes = conf.Number("batch.size");
  read.conf = conf.Finish();
  OUTBOX_RETURN_IF_ERROR(CheckTogether(read.conf.get()));
  return read;
}

}  // namespace outbox::sink
