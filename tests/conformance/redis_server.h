// A Redis server of a test's own, and a client that looks into it.
#pragma once

#include <hiredis/hiredis.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/handle.h"
#include "base/text.h"
#include "tests/support/certificates.h"
#include "tests/support/server.h"
#include "tests/support/wait.h"

namespace outbox::testing {

class RedisServer {
 public:
  // Every write is on disk before it is answered. User app, password secret.
  static std::unique_ptr<RedisServer> Start(const std::string& more_config = {}) {
    std::unique_ptr<RedisServer> server(new RedisServer);
    if (!server->StartWith(more_config, [](int port) { return Accepts(port); })) return nullptr;
    return server;
  }

  // The same with TLS on a second port.
  static std::unique_ptr<RedisServer> StartWithTls(const std::string& more_config = {}) {
    std::unique_ptr<RedisServer> server(new RedisServer);
    server->certificates_ = std::make_unique<Certificates>();
    if (!server->certificates_->ok()) return nullptr;
    const int tls_port = server->tls_port_.number();
    const std::string config = base::StrCat(
        "tls-port ", tls_port, "\ntls-cert-file ", server->certificates_->File("server.pem"),
        "\ntls-key-file ", server->certificates_->File("server.key"), "\ntls-ca-cert-file ",
        server->certificates_->File("ca.pem"), "\n", more_config);
    const auto ready = [tls_port](int port) { return Accepts(port) && Accepts(tls_port); };
    if (!server->StartWith(config, ready)) return nullptr;
    return server;
  }

  Server& process() { return *server_; }
  std::string address() const { return base::StrCat("127.0.0.1:", server_->port()); }
  std::string tls_address() const { return base::StrCat("127.0.0.1:", tls_port_.number()); }
  std::string ca_file() const { return certificates_->File("ca.pem"); }
  const Certificates& certificates() const { return *certificates_; }

  struct Entry {
    std::vector<std::pair<std::string, std::string>> fields;

    std::string Field(const std::string& name) const {
      for (const auto& [known, value] : fields) {
        if (known == name) return value;
      }
      return "";
    }
  };

  // Runs a command; integers and nil become text. Empty when the server is away.
  std::string Ask(const std::vector<std::string>& words) {
    const Reply reply = Command(words);
    if (reply == nullptr) return "";
    if (reply->type == REDIS_REPLY_INTEGER) return std::to_string(reply->integer);
    return reply->str != nullptr ? std::string(reply->str, reply->len) : "";
  }
  // The entries of a stream, in their order.
  std::vector<Entry> Entries(const std::string& stream) {
    const Reply reply = Command({"XRANGE", stream, "-", "+"});
    std::vector<Entry> entries;
    if (reply == nullptr || reply->type != REDIS_REPLY_ARRAY) return entries;
    for (std::size_t i = 0; i < reply->elements; ++i) {
      const redisReply& fields = *reply->element[i]->element[1];
      Entry entry;
      for (std::size_t f = 0; f + 1 < fields.elements; f += 2) {
        entry.fields.emplace_back(Text(*fields.element[f]), Text(*fields.element[f + 1]));
      }
      entries.push_back(std::move(entry));
    }
    return entries;
  }

 private:
  using Context = base::UniqueHandle<redisContext, redisFree>;
  using Reply = base::UniqueHandle<redisReply, freeReplyObject>;

  RedisServer() = default;

  bool StartWith(const std::string& more_config, std::function<bool(int port)> ready) {
    server_ = Server::Start({.command = {"redis-server", "{folder}/redis.conf"},
                             .ready = std::move(ready),
                             .files = {{"redis.conf",
                                        "port {port}\nbind 127.0.0.1\ndir {folder}\nsave \"\"\n"
                                        "appendonly yes\nappendfsync always\n"
                                        "user app on >secret ~* &* +@all\n" +
                                            more_config}}});
    return server_ != nullptr;
  }

  static std::string Text(const redisReply& reply) { return {reply.str, reply.len}; }

  Reply Command(const std::vector<std::string>& words) {
    const Context context(redisConnectWithTimeout("127.0.0.1", server_->port(), {.tv_sec = 10}));
    if (context == nullptr || context->err != 0) return nullptr;
    redisSetTimeout(context.get(), {.tv_sec = 10});
    std::vector<const char*> texts;
    std::vector<std::size_t> lengths;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      lengths.push_back(word.size());
    }
    return Reply(static_cast<redisReply*>(redisCommandArgv(
        context.get(), static_cast<int>(words.size()), texts.data(), lengths.data())));
  }

  std::unique_ptr<Certificates> certificates_;
  std::unique_ptr<Server> server_;
  const ReservedPort tls_port_;
};

}  // namespace outbox::testing
