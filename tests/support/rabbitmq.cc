#include "tests/support/rabbitmq.h"

#include <amqp_tcp_socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

// Debian's wrappers in /usr/sbin change the user and its home.
const std::string kPrograms = "/usr/lib/rabbitmq/bin/";
constexpr amqp_channel_t kChannel = 1;

amqp_bytes_t Bytes(const std::string& text) {
  return {.len = text.size(), .bytes = const_cast<char*>(text.data())};
}

std::string Text(amqp_bytes_t bytes) {
  return std::string(static_cast<const char*>(bytes.bytes), bytes.len);
}

[[noreturn]] void Fail(const std::string& what, const std::string& why) {
  throw std::runtime_error("RabbitMQ client: " + what + ": " + why);
}

std::string Why(const amqp_rpc_reply_t& reply) {
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
    return amqp_error_string2(reply.library_error);
  }
  if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
    return Text(static_cast<amqp_channel_close_t*>(reply.reply.decoded)->reply_text);
  }
  return "the connection was closed";
}

amqp_rpc_reply_t LogIn(amqp_connection_state_t state) {
  return amqp_login(state, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest");
}

bool LetsUsIn(const std::string& host, int port) {
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  const amqp_connection_state_t state = amqp_new_connection();
  amqp_set_handshake_timeout(state, &limit);
  const bool in = amqp_socket_open_noblock(amqp_tcp_socket_new(state), host.c_str(), port,
                                           &limit) == AMQP_STATUS_OK &&
                  LogIn(state).reply_type == AMQP_RESPONSE_NORMAL;
  amqp_destroy_connection(state);
  return in;
}

// A loopback address of this process's own: while the node is down, nobody takes its port.
std::string OwnAddress() {
  const int pid = getpid();
  return "127." + std::to_string(100 + pid / 62500 % 100) + "." +
         std::to_string(1 + pid / 250 % 250) + "." + std::to_string(1 + pid % 250);
}

RabbitMessage Copy(const amqp_message_t& from, std::string routing_key) {
  const amqp_basic_properties_t& properties = from.properties;
  RabbitMessage message{.body = Text(from.body),
                        .routing_key = std::move(routing_key),
                        .message_id = Text(properties.message_id),
                        .type = Text(properties.type),
                        .app_id = Text(properties.app_id),
                        .content_type = Text(properties.content_type),
                        .timestamp = properties.timestamp,
                        .delivery_mode = properties.delivery_mode};
  for (int i = 0; i < properties.headers.num_entries; ++i) {
    const amqp_table_entry_t& entry = properties.headers.entries[i];
    if (entry.value.kind != AMQP_FIELD_KIND_UTF8) continue;
    message.headers[Text(entry.key)] = Text(entry.value.value.bytes);
  }
  return message;
}

}  // namespace

std::unique_ptr<RabbitMq> RabbitMq::Start(const std::string& conf,
                                          std::map<std::string, std::string> files) {
  std::unique_ptr<RabbitMq> node(new RabbitMq);
  node->host_ = OwnAddress();
  const int mapper_port = node->mapper_port_.number();
  const std::string mapper = std::to_string(mapper_port);
  node->port_mapper_ =
      Process::Start({"epmd", "-address", "127.0.0.1", "-port", mapper}, {.dies_with_test = true});
  // A node that finds no port mapper starts one that outlives the test.
  if (!WaitFor([&] { return Accepts(mapper_port); })) return nullptr;
  node->environment_ = {
      {"HOME", "{folder}"},
      {"ERL_EPMD_PORT", mapper},
      {"RABBITMQ_NODENAME", "test@localhost"},
      {"RABBITMQ_NODE_IP_ADDRESS", node->host_},
      {"RABBITMQ_NODE_PORT", "{port}"},
      {"RABBITMQ_DIST_PORT", std::to_string(node->distribution_port_.number())},
      {"RABBITMQ_MNESIA_BASE", "{folder}/mnesia"},
      {"RABBITMQ_LOG_BASE", "{folder}/log"},
      {"RABBITMQ_ENABLED_PLUGINS_FILE", "{folder}/enabled_plugins"},
      {"RABBITMQ_CONFIG_FILE", "{folder}/rabbitmq.conf"},
      {"RABBITMQ_CONF_ENV_FILE", "{folder}/no-such-file"},
      // The node replaces the script that starts it, so that signals reach it.
      {"RUNNING_UNDER_SYSTEMD", "true"},
      // Idle threads leave the processor to others.
      {"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
       "+sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}"},
  };
  files["enabled_plugins"] = "[].\n";
  files["rabbitmq.conf"] = "disk_free_limit.absolute = 1MB\nlog.console = false\n" + conf;
  node->server_ =
      Server::Start({.command = {kPrograms + "rabbitmq-server"},
                     .environment = node->environment_,
                     .ready = [host = node->host_](int port) { return LetsUsIn(host, port); },
                     .files = std::move(files)});
  if (node->server_ == nullptr) return nullptr;
  node->environment_["HOME"] = node->folder();
  return node;
}

std::string RabbitMq::address() const { return "amqp://guest:guest@" + endpoint() + "/%2F"; }

ProcessOptions RabbitMq::ControlOptions() const {
  ProcessOptions options{.dies_with_test = true};
  for (const char* name : {"HOME", "ERL_EPMD_PORT", "RABBITMQ_NODENAME"}) {
    options.environment[name] = environment_.at(name);
  }
  return options;
}

bool RabbitMq::Control(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{kPrograms + "rabbitmqctl", "-q"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const Finished finished = Process::Run(command, ControlOptions());
  if (finished.exit_code == 0) return true;
  std::fprintf(stderr, "rabbitmqctl: %s%s\n", finished.standard_output.c_str(),
               finished.standard_error.c_str());
  return false;
}

std::optional<std::string> RabbitMq::Evaluate(const std::string& expression) const {
  constexpr std::string_view kStart = "{ok, ";
  ProcessOptions options = ControlOptions();
  options.standard_input = expression + ".\n";
  const std::string node = environment_.at("RABBITMQ_NODENAME");
  const Finished finished = Process::Run({"erl_call", "-sname", node, "-e"}, options);
  const std::string& said = finished.standard_output;
  if (finished.exit_code == 0 && said.starts_with(kStart)) {
    return said.substr(kStart.size(), said.rfind('}') - kStart.size());
  }
  std::fprintf(stderr, "erl_call: %s%s\n", said.c_str(), finished.standard_error.c_str());
  return std::nullopt;
}

bool RabbitMq::SetMemoryAlarm(bool on) const {
  const std::string limit = on ? "0.00001" : "0.4";
  return Evaluate("vm_memory_monitor:set_vm_memory_high_watermark(" + limit + ")") == "ok";
}

bool RabbitMq::SetDiskAlarm(bool on) const {
  const std::string limit = on ? "1000000GB" : "1MB";
  return Evaluate("rabbit_disk_monitor:set_disk_free_limit(\"" + limit + "\")") == "ok";
}

RabbitClient::RabbitClient(const RabbitMq& node) : state_(amqp_new_connection()) {
  amqp_socket_t* const socket = amqp_tcp_socket_new(state_);
  if (amqp_socket_open(socket, node.host().c_str(), node.port()) != AMQP_STATUS_OK) {
    Fail("connect", "refused");
  }
  const amqp_rpc_reply_t reply = LogIn(state_);
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) Fail("login", Why(reply));
  amqp_channel_open(state_, kChannel);
  Check("open a channel");
}

RabbitClient::~RabbitClient() { amqp_destroy_connection(state_); }

void RabbitClient::Check(const char* what) {
  const amqp_rpc_reply_t reply = amqp_get_rpc_reply(state_);
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) Fail(what, Why(reply));
  amqp_maybe_release_buffers(state_);
}

void RabbitClient::DeclareExchange(const std::string& name, const std::string& type) {
  amqp_exchange_declare(state_, kChannel, Bytes(name), Bytes(type), 0, 1, 0, 0, amqp_empty_table);
  Check("declare an exchange");
}

void RabbitClient::DeleteExchange(const std::string& name) {
  amqp_exchange_delete(state_, kChannel, Bytes(name), 0);
  Check("delete an exchange");
}

void RabbitClient::DeclareQueue(const std::string& name, std::optional<int> full_at) {
  amqp_table_entry_t arguments[2]{};
  arguments[0].key = amqp_cstring_bytes("x-max-length");
  arguments[0].value.kind = AMQP_FIELD_KIND_I32;
  arguments[0].value.value.i32 = full_at.value_or(0);
  arguments[1].key = amqp_cstring_bytes("x-overflow");
  arguments[1].value.kind = AMQP_FIELD_KIND_UTF8;
  arguments[1].value.value.bytes = amqp_cstring_bytes("reject-publish");
  const amqp_table_t table{.num_entries = full_at ? 2 : 0, .entries = arguments};
  amqp_queue_declare(state_, kChannel, Bytes(name), 0, 1, 0, 0, table);
  Check("declare a queue");
}

void RabbitClient::DeclareQuorumQueue(const std::string& name) {
  amqp_table_entry_t type{.key = amqp_cstring_bytes("x-queue-type"), .value = {}};
  type.value.kind = AMQP_FIELD_KIND_UTF8;
  type.value.value.bytes = amqp_cstring_bytes("quorum");
  amqp_queue_declare(state_, kChannel, Bytes(name), 0, 1, 0, 0,
                     {.num_entries = 1, .entries = &type});
  Check("declare a quorum queue");
}

void RabbitClient::Bind(const std::string& queue, const std::string& exchange,
                        const std::string& key) {
  amqp_queue_bind(state_, kChannel, Bytes(queue), Bytes(exchange), Bytes(key), amqp_empty_table);
  Check("bind a queue");
}

void RabbitClient::Unbind(const std::string& queue, const std::string& exchange,
                          const std::string& key) {
  amqp_queue_unbind(state_, kChannel, Bytes(queue), Bytes(exchange), Bytes(key), amqp_empty_table);
  Check("unbind a queue");
}

std::size_t RabbitClient::Count(const std::string& queue) {
  const auto* const declared =
      amqp_queue_declare(state_, kChannel, Bytes(queue), 1, 0, 0, 0, amqp_empty_table);
  const std::size_t count = declared != nullptr ? declared->message_count : 0;
  Check("count messages");
  return count;
}

std::optional<RabbitMessage> RabbitClient::Get(const std::string& queue) {
  const amqp_rpc_reply_t reply = amqp_basic_get(state_, kChannel, Bytes(queue), /*no_ack=*/1);
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) Fail("get", Why(reply));
  if (reply.reply.id != AMQP_BASIC_GET_OK_METHOD) {
    amqp_maybe_release_buffers(state_);
    return std::nullopt;
  }
  std::string key = Text(static_cast<amqp_basic_get_ok_t*>(reply.reply.decoded)->routing_key);
  amqp_message_t content{};
  const amqp_rpc_reply_t read = amqp_read_message(state_, kChannel, &content, 0);
  if (read.reply_type != AMQP_RESPONSE_NORMAL) Fail("read a message", Why(read));
  RabbitMessage message = Copy(content, std::move(key));
  amqp_destroy_message(&content);
  amqp_maybe_release_buffers(state_);
  return message;
}

}  // namespace outbox::testing
