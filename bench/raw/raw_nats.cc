#include <nats/nats.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/handle.h"
#include "base/text.h"
#include "bench/raw/raw_client.h"
#include "sink/metadata.h"
#include "sink/nats/options.h"

namespace outbox::bench {
namespace {

constexpr const char* kNatsStream = "outboxd_bench";
constexpr std::int64_t kNatsWaitMs = 30'000;

class RawNats final : public RawClient {
 public:
  explicit RawNats(sink::NatsOptions options) : options_(std::move(options)) {}

  // The stream is made anew: it remembers ids, and those of the round before come again.
  Status Prepare(const Message& sample) override {
    if (connection_ == nullptr) OUTBOX_RETURN_IF_ERROR(Connect());
    subject_ = options_.subject.Render(sample);
    const char* subjects[] = {subject_.c_str()};
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = kNatsStream;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    jsErrCode detail{};
    (void)js_DeleteStream(stream_.get(), kNatsStream, nullptr, &detail);
    return Check("making a stream",
                 js_AddStream(nullptr, stream_.get(), &config, nullptr, &detail));
  }

  Status Send(const Message& sample, std::size_t count, std::size_t window) override {
    OUTBOX_RETURN_IF_ERROR(UseWindow(std::min(window, options_.window)));
    const Headers headers = sink::DeliveryHeaders(sample);
    for (std::size_t i = 0; i < count; ++i) {
      natsMsg* message = nullptr;
      OUTBOX_RETURN_IF_ERROR(
          Check("making a message",
                natsMsg_Create(&message, subject_.c_str(), nullptr, sample.payload.data(),
                               static_cast<int>(sample.payload.size()))));
      natsMsgHeader_Set(message, "Nats-Msg-Id", Uuid::NewV7().ToString().c_str());
      for (const auto& [name, value] : headers) {
        natsMsgHeader_Set(message, name.c_str(), value.c_str());
      }
      const natsStatus status = js_PublishMsgAsync(stream_.get(), &message, nullptr);
      natsMsg_Destroy(message);  // null when it was sent
      OUTBOX_RETURN_IF_ERROR(Check("publishing", status));
    }
    jsPubOptions wait;
    jsPubOptions_Init(&wait);
    wait.MaxWait = kNatsWaitMs;
    OUTBOX_RETURN_IF_ERROR(
        Check("waiting for answers", js_PublishAsyncComplete(stream_.get(), &wait)));
    if (refused_ == 0) return Status::Ok();
    return RawFailure("nats", "publishing", base::StrCat(refused_.load(), " were refused"));
  }

 private:
  static Status Check(std::string_view what, natsStatus status) {
    if (status == NATS_OK) return Status::Ok();
    return RawFailure("nats", what, natsStatus_GetText(status));
  }

  static void OnRefused(jsCtx*, jsPubAckErr*, void* self) {
    ++static_cast<RawNats*>(self)->refused_;
  }

  Status Connect() {
    natsOptions* raw = nullptr;
    OUTBOX_RETURN_IF_ERROR(Check("options", natsOptions_Create(&raw)));
    const base::UniqueHandle<natsOptions, natsOptions_Destroy> options(raw);
    const std::string url = base::StrCat("nats://", options_.endpoints.front().ToString());
    natsOptions_SetURL(raw, url.c_str());
    if (!options_.user.empty()) {
      natsOptions_SetUserInfo(raw, options_.user.c_str(), options_.password.c_str());
    }
    natsConnection* connection = nullptr;
    OUTBOX_RETURN_IF_ERROR(Check("connecting", natsConnection_Connect(&connection, raw)));
    connection_.reset(connection);
    return UseWindow(options_.window);
  }

  Status UseWindow(std::size_t window) {
    jsOptions stream;
    jsOptions_Init(&stream);
    stream.PublishAsync.MaxPending = static_cast<std::int64_t>(window);
    stream.PublishAsync.ErrHandler = &RawNats::OnRefused;
    stream.PublishAsync.ErrHandlerClosure = this;
    jsCtx* context = nullptr;
    OUTBOX_RETURN_IF_ERROR(
        Check("JetStream", natsConnection_JetStream(&context, connection_.get(), &stream)));
    stream_.reset(context);
    return Status::Ok();
  }

  const sink::NatsOptions options_;
  std::string subject_;
  std::atomic<std::size_t> refused_ = 0;  // counted by the client's thread
  base::UniqueHandle<natsConnection, natsConnection_Destroy> connection_;
  base::UniqueHandle<jsCtx, jsCtx_Destroy> stream_;
};

}  // namespace

Result<std::unique_ptr<RawClient>> MakeRawNats(const sink::SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(sink::NatsOptions options, sink::NatsOptions::Read(uri));
  return std::unique_ptr<RawClient>(std::make_unique<RawNats>(std::move(options)));
}

}  // namespace outbox::bench
