#include "sink/nats/connection.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "sink/nats/classify_error.h"
#include "sink/nats/message_bin.h"
#include "sink/nats/nkey.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using std::chrono::milliseconds;

constexpr const char* kClientName = "outboxd";
// How long the client may wait for a server that does not read.
constexpr milliseconds kWriteDeadline{2000};

void* ClosureOf(const AckBox& box) {
  return reinterpret_cast<void*>(box.number());  // NOLINT: never followed
}
std::shared_ptr<AckBox> BoxOf(void* closure) {
  return AckBox::Find(reinterpret_cast<std::uintptr_t>(closure));
}

void OnAnswer(natsConnection*, natsSubscription*, natsMsg* raw, void* closure) {
  NatsMessage message(raw);
  const auto box = BoxOf(closure);
  if (box == nullptr) return;
  const char* const data = natsMsg_GetData(raw);
  const std::string_view body(data == nullptr ? "" : data,
                              static_cast<std::size_t>(natsMsg_GetDataLength(raw)));
  AckBox::Ack ack{.stored = IsPlainPubAck(body), .no_responders = natsMsg_IsNoResponders(raw)};
  if (!ack.stored) ack.body = body;
  box->Put(natsMsg_GetSubject(raw), std::move(ack));
  thread_local MessageBin bin;  // the thread is this subscription's
  bin.Add(std::move(message));
}

void OnError(natsConnection*, natsSubscription*, natsStatus status, void* closure) {
  const auto box = BoxOf(closure);
  if (box == nullptr || status != NATS_NOT_PERMITTED) return;
  // This thread's error is the one it was called for; the connection's may be a later one.
  const char* const text = nats_GetLastError(nullptr);
  if (text != nullptr) box->PutDenial(text);
}

void OnGone(natsConnection*, void* closure) {
  if (const auto box = BoxOf(closure); box != nullptr) box->Break();
}

// The client's errors begin with a place in its source: "(conn.c:733): …".
std::string_view WithoutSourceLine(std::string_view text) {
  const std::size_t end = text.find("): ");
  return text.starts_with('(') && end != std::string_view::npos ? text.substr(end + 3) : text;
}

std::int64_t Milliseconds(Deadline deadline) {
  return std::max<std::int64_t>(deadline.remaining().count(), 1);
}

}  // namespace

Result<std::unique_ptr<NatsConnection>> NatsConnection::Open(const NatsOptions& options,
                                                             const Endpoint& endpoint,
                                                             const Address& address,
                                                             Deadline deadline) {
  std::unique_ptr<NatsConnection> connection(new NatsConnection(endpoint.ToString()));
  OUTBOX_RETURN_IF_ERROR(connection->Connect(options, endpoint, address, deadline));
  OUTBOX_RETURN_IF_ERROR(connection->ListenForAnswers(deadline));
  return connection;
}

Status NatsConnection::Failed(natsStatus status) const {
  const char* const detail = nats_GetLastError(nullptr);
  return ClassifyNatsError(status, detail == nullptr ? "" : WithoutSourceLine(detail), peer_);
}

Result<std::string> NatsConnection::ReadKey(std::string_view option,
                                            const std::string& path) const {
  auto key = PublicKeyOfSeedFile(path);
  if (key.ok()) return key;
  return Status(Code::kPermission, Disposition::kSinkDown,
                StrCat("nats ", peer_, ": ", option, ": ", key.error().message()))
      .WithHint(option == "nkey" ? "make one with: nk -gen user > FILE"
                                 : "make one with: nsc generate creds --name USER > FILE");
}

Result<NatsConnection::Options> NatsConnection::MakeOptions(const NatsOptions& options,
                                                            const Endpoint& endpoint,
                                                            const Address& address,
                                                            Deadline deadline) const {
  natsOptions* raw = nullptr;
  if (natsStatus status = natsOptions_Create(&raw); status != NATS_OK) return Failed(status);
  Options made(raw);
  const std::string url = StrCat("nats://", Endpoint{address.ToString(), endpoint.port}.ToString());
  void* const closure = ClosureOf(*acks_);

  natsStatus status = natsOptions_SetURL(raw, url.c_str());
  const auto then = [&](auto&& set) {
    if (status == NATS_OK) status = set();
  };
  then([&] { return natsOptions_SetName(raw, kClientName); });
  then([&] { return natsOptions_SetAllowReconnect(raw, false); });
  // Once for the connection and once for the handshake.
  then([&] {
    return natsOptions_SetTimeout(raw, std::max<std::int64_t>(Milliseconds(deadline) / 2, 1));
  });
  then([&] { return natsOptions_SetWriteDeadline(raw, kWriteDeadline.count()); });
  then([&] { return natsOptions_SetErrorHandler(raw, OnError, closure); });
  then([&] { return natsOptions_SetDisconnectedCB(raw, OnGone, closure); });
  then([&] { return natsOptions_SetClosedCB(raw, OnGone, closure); });
  if (!options.user.empty()) {
    then([&] {
      return natsOptions_SetUserInfo(raw, options.user.c_str(), options.password.c_str());
    });
  }
  if (!options.token.empty()) {
    then([&] { return natsOptions_SetToken(raw, options.token.c_str()); });
  }
  if (!options.creds_file.empty()) {
    // The client says less clearly what is wrong with a file.
    OUTBOX_RETURN_IF_ERROR(ReadKey("creds", options.creds_file).error());
    then([&] {
      return natsOptions_SetUserCredentialsFromFiles(raw, options.creds_file.c_str(), nullptr);
    });
  }
  if (!options.nkey_file.empty()) {
    OUTBOX_ASSIGN_OR_RETURN(const std::string key, ReadKey("nkey", options.nkey_file));
    then([&] { return natsOptions_SetNKeyFromSeed(raw, key.c_str(), options.nkey_file.c_str()); });
  }
  if (!options.tls || options.tls->verify) {
    // With nats: as well: the client turns to TLS by itself when the server demands it.
    then([&] { return natsOptions_SetExpectedHostname(raw, endpoint.host.c_str()); });
  }
  if (options.tls) {
    const TlsOptions& tls = *options.tls;
    then([&] { return natsOptions_SetSecure(raw, true); });
    then([&] { return natsOptions_SkipServerVerification(raw, !tls.verify); });
    if (!tls.ca_file.empty()) {
      then([&] { return natsOptions_LoadCATrustedCertificates(raw, tls.ca_file.c_str()); });
    }
    if (!tls.cert_file.empty()) {
      then([&] {
        return natsOptions_LoadCertificatesChain(raw, tls.cert_file.c_str(), tls.key_file.c_str());
      });
    }
  }
  if (status != NATS_OK) return Failed(status);
  return made;
}

Status NatsConnection::Connect(const NatsOptions& options, const Endpoint& endpoint,
                               const Address& address, Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const Options made, MakeOptions(options, endpoint, address, deadline));
  natsConnection* raw = nullptr;
  const natsStatus status = natsConnection_Connect(&raw, made.get());
  connection_.reset(raw);
  return status == NATS_OK ? Status::Ok() : Failed(status);
}

Status NatsConnection::ListenForAnswers(Deadline deadline) {
  natsInbox* inbox = nullptr;
  if (natsStatus status = natsInbox_Create(&inbox); status != NATS_OK) return Failed(status);
  inbox_ = inbox;
  natsInbox_Destroy(inbox);
  natsSubscription* raw = nullptr;
  natsStatus status = natsConnection_Subscribe(
      &raw, connection_.get(), StrCat(inbox_, ".>").c_str(), OnAnswer, ClosureOf(*acks_));
  answers_.reset(raw);
  if (status == NATS_OK) {
    status = natsConnection_FlushTimeout(connection_.get(), Milliseconds(deadline));
  }
  if (status != NATS_OK) return Failed(status);
  const char* ignored = nullptr;
  if (natsConnection_GetLastError(connection_.get(), &ignored) == NATS_NOT_PERMITTED) {
    return Status(Code::kPermission, Disposition::kSinkDown,
                  StrCat("nats ", peer_, ": this user may not subscribe to its inbox"))
        .WithHint("answers come in there: let the user subscribe to _INBOX.>");
  }
  return Status::Ok();
}

std::string NatsConnection::ReplySubject(const AckBox::Batch& batch, std::size_t index) const {
  return StrCat(inbox_, ".", batch.Address(index));
}

}  // namespace outbox::sink
