// A NATS server with JetStream of a test's own, and a client that looks into its streams.
#pragma once

#include <nats/nats.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/handle.h"
#include "base/text.h"
#include "tests/support/certificates.h"
#include "tests/support/server.h"
#include "tests/support/wait.h"

namespace outbox::testing {

class NatsServer {
 public:
  // Users app (may do everything) and narrow (publishes orders.> only), password secret.
  static std::unique_ptr<NatsServer> Start(const std::string& more_config = {}) {
    return StartWith("jetstream { store_dir: \"{folder}/store\" }\n" + more_config);
  }
  static std::unique_ptr<NatsServer> StartWithoutJetStream() { return StartWith({}); }

  static std::unique_ptr<NatsServer> StartWithTls() {
    auto certificates = std::make_unique<Certificates>();
    if (!certificates->ok()) return nullptr;
    auto server =
        Start(base::StrCat("tls { cert_file: \"", certificates->File("server.pem"),
                           "\", key_file: \"", certificates->File("server.key"), "\" }\n"));
    if (server != nullptr) server->certificates_ = std::move(certificates);
    return server;
  }

  Server& process() { return *server_; }
  int port() const { return server_->port(); }
  std::string address() const { return base::StrCat("127.0.0.1:", server_->port()); }
  std::string ca_file() const { return certificates_->File("ca.pem"); }

  struct Stored {
    std::map<std::string, std::string> headers;
    std::string body;
  };

  // `change` may set more of the stream's configuration.
  bool AddStream(const std::string& name, const std::string& subject,
                 const std::function<void(jsStreamConfig&)>& change = {}) {
    const Client client(*this);
    if (client.js == nullptr) return false;
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = name.c_str();
    const char* subjects[] = {subject.c_str()};
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    if (change != nullptr) change(config);
    jsStreamInfo* info = nullptr;
    const natsStatus status = js_AddStream(&info, client.js.get(), &config, nullptr, nullptr);
    jsStreamInfo_Destroy(info);
    return status == NATS_OK;
  }

  // What the stream holds, in order. Empty when the server is away.
  std::vector<Stored> Messages(const std::string& stream, std::size_t at_least = 0) {
    const Client client(*this);
    std::vector<Stored> all;
    if (client.js == nullptr) return all;
    jsStreamInfo* info = nullptr;
    if (js_GetStreamInfo(&info, client.js.get(), stream.c_str(), nullptr, nullptr) != NATS_OK) {
      return all;
    }
    const auto state = info->State;
    jsStreamInfo_Destroy(info);
    if (state.Msgs < at_least) return all;
    for (std::uint64_t seq = state.FirstSeq; state.Msgs > 0 && seq <= state.LastSeq; ++seq) {
      natsMsg* raw = nullptr;
      if (js_GetMsg(&raw, client.js.get(), stream.c_str(), seq, nullptr, nullptr) == NATS_OK) {
        all.push_back(Read(raw));
      }
    }
    return all;
  }

 private:
  using Options = base::UniqueHandle<natsOptions, natsOptions_Destroy>;

  static constexpr std::int64_t kAnswerMs = 30'000;

  // A connection for one question.
  struct Client {
    explicit Client(const NatsServer& server) {
      natsOptions* raw = nullptr;
      natsOptions_Create(&raw);
      const Options options(raw);
      natsOptions_SetURL(raw, base::StrCat("nats://", server.address()).c_str());
      natsOptions_SetUserInfo(raw, "app", "secret");
      natsOptions_SetAllowReconnect(raw, false);
      natsOptions_SetTimeout(raw, kAnswerMs);
      if (server.certificates_ != nullptr) {
        natsOptions_SetSecure(raw, true);
        natsOptions_SkipServerVerification(raw, true);
      }
      natsConnection* made = nullptr;
      if (natsConnection_Connect(&made, raw) != NATS_OK) return;
      connection.reset(made);
      jsOptions patient;
      jsOptions_Init(&patient);
      patient.Wait = kAnswerMs;
      jsCtx* context = nullptr;
      natsConnection_JetStream(&context, made, &patient);
      js.reset(context);
    }
    base::UniqueHandle<natsConnection, natsConnection_Destroy> connection;
    base::UniqueHandle<jsCtx, jsCtx_Destroy> js;
  };

  NatsServer() = default;

  static std::unique_ptr<NatsServer> StartWith(const std::string& config) {
    std::unique_ptr<NatsServer> server(new NatsServer);
    server->server_ = Server::Start(
        {.command = {"nats-server", "-c", "{folder}/nats.conf"},
         .files = {{"nats.conf",
                    "listen: 127.0.0.1:{port}\n"
                    "authorization { users = [\n"
                    "  { user: app, password: secret }\n"
                    "  { user: narrow, password: secret,\n"
                    "    permissions: { publish: \"orders.>\", subscribe: \"_INBOX.>\" } }\n"
                    "  { user: deaf, password: secret,\n"
                    "    permissions: { publish: \">\", subscribe: \"nothing\" } }\n"
                    "] }\n" +
                        config}}});
    if (server->server_ == nullptr) return nullptr;
    return server;
  }

  static Stored Read(natsMsg* raw) {
    const base::UniqueHandle<natsMsg, natsMsg_Destroy> message(raw);
    Stored stored{.body = std::string(natsMsg_GetData(raw),
                                      static_cast<std::size_t>(natsMsg_GetDataLength(raw)))};
    const char** keys = nullptr;
    int count = 0;
    if (natsMsgHeader_Keys(raw, &keys, &count) != NATS_OK) return stored;
    for (int i = 0; i < count; ++i) {
      const char* value = nullptr;
      natsMsgHeader_Get(raw, keys[i], &value);
      stored.headers[keys[i]] = value == nullptr ? "" : value;
    }
    free(static_cast<void*>(keys));
    return stored;
  }

  std::unique_ptr<Certificates> certificates_;
  std::unique_ptr<Server> server_;
};

}  // namespace outbox::testing
