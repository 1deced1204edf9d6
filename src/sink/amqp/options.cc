#include "sink/amqp/options.h"

#include <utility>

#include "sink/body_option.h"
#include "sink/option_reader.h"

namespace outbox::sink {
namespace {

constexpr int kPort = 5672;
constexpr int kTlsPort = 5671;
constexpr std::size_t kWindowMax = 65536;
constexpr std::size_t kMessageBytesLimit = 536870912;  // RabbitMQ takes no larger, however set up
constexpr std::chrono::minutes kHeartbeatMax{10};

void ReadLogin(const Authority& authority, OptionReader& reader, AmqpOptions& options) {
  options.user = authority.user.empty() ? "guest" : authority.user;
  options.password = reader.Secret("password");
  if (!options.password.empty() && !authority.password.empty()) {
    reader.AddProblem("password", "is given twice, in the address and as an option");
  }
  if (options.password.empty()) options.password = authority.password;
  if (options.password.empty() && options.user == "guest") options.password = "guest";
  options.vhost = authority.path.empty() ? "/" : authority.path;
}

void ReadPublishing(OptionReader& reader, AmqpOptions& options) {
  options.exchange = reader.Text("exchange", "");
  options.declare = reader.Flag("declare", false);
  options.exchange_type = reader.Choice<std::string>(
      "type", "",
      {{"topic", "topic"}, {"direct", "direct"}, {"fanout", "fanout"}, {"headers", "headers"}});
  options.routing_key = reader.Template("routing_key", "{topic}");
  const std::size_t routing_key_bytes = options.routing_key.Sample().size();
  if (routing_key_bytes > AmqpOptions::kShortTextMax) {
    reader.AddProblem("routing_key", "is too long");
  }
  if (routing_key_bytes == 0 && options.exchange.empty()) {
    reader.AddProblem("routing_key", "is empty, and names no queue for the default exchange");
  }
  // No field of an empty message looks like that of the sample.
  options.same_routing_key = options.routing_key.Sample() == options.routing_key.Render({});
  options.mandatory = reader.Flag("mandatory", true);
  options.persistent = reader.Flag("persistent", true);
  options.body = ReadBody(reader);
  options.window = reader.Number("window", options.window, 1, kWindowMax);
  options.message_bytes_max =
      reader.Number("message_bytes_max", options.message_bytes_max, 1, kMessageBytesLimit);
  if (options.exchange.size() > AmqpOptions::kShortTextMax)
    reader.AddProblem("exchange", "is too long");
  if (options.declare && options.exchange.empty()) {
    reader.AddProblem("declare", "needs an exchange to declare");
  }
  if (!options.declare && !options.exchange_type.empty()) {
    reader.AddProblem("type", "is used with declare=true only");
  }
  if (options.exchange_type.empty()) options.exchange_type = "topic";
}

}  // namespace

Result<AmqpOptions> ReadAmqpOptions(const SinkUri& uri) {
  AmqpOptions options;
  const bool tls = uri.scheme == "amqps";
  OUTBOX_ASSIGN_OR_RETURN(Authority authority, ParseAuthority(uri, tls ? kTlsPort : kPort));
  OptionReader reader(uri);
  ReadLogin(authority, reader, options);
  if (tls) options.tls = ReadTlsOptions(reader);
  ReadPublishing(reader, options);
  options.connection_name = reader.Text("connection_name", "outboxd");
  options.heartbeat = std::chrono::ceil<std::chrono::seconds>(
      reader.Duration("heartbeat", options.heartbeat, std::chrono::seconds(0), kHeartbeatMax));
  if (options.vhost.size() > AmqpOptions::kShortTextMax)
    reader.AddProblem("", "the virtual host is too long");
  OUTBOX_RETURN_IF_ERROR(reader.Finish());
  options.endpoints = std::move(authority.endpoints);
  return options;
}

}  // namespace outbox::sink
