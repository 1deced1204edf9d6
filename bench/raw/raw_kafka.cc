#include <librdkafka/rdkafka.h>

#include <array>
#include <utility>

#include "base/text.h"
#include "bench/raw/raw_client.h"
#include "sink/kafka/options.h"
#include "sink/metadata.h"

namespace outbox::bench {
namespace {

constexpr int kKafkaWaitMs = 30'000;

class RawKafka final : public RawClient {
 public:
  explicit RawKafka(sink::KafkaOptions options) : options_(std::move(options)) {}

  Status Prepare(const Message& sample) override {
    topic_ = options_.topic.Render(sample);
    if (client_ != nullptr) return Status::Ok();
    sink::KafkaConf conf(rd_kafka_conf_dup(options_.conf.get()));
    std::array<char, 512> error{};
    rd_kafka_conf_set(conf.get(), "bootstrap.servers", options_.servers.c_str(), nullptr, 0);
    rd_kafka_conf_set_opaque(conf.get(), this);
    rd_kafka_conf_set_dr_msg_cb(conf.get(),
                                [](rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
                                  RawKafka& raw = *static_cast<RawKafka*>(self);
                                  --raw.open_;
                                  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
                                    raw.failure_ = message->err;
                                });
    client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), error.data(), error.size()));
    if (client_ == nullptr) return Failed("making a producer", error.data());
    (void)conf.release();  // the client's now
    return Status::Ok();
  }

  Status Send(const Message& sample, std::size_t count, std::size_t window) override {
    const Headers headers = sink::DeliveryHeaders(sample);
    for (std::size_t i = 0; i < count; ++i) {
      while (open_ >= window) rd_kafka_poll(client_.get(), kKafkaWaitMs);
      // Messages have headers of their own, and keys go round as those of the relay's messages do.
      rd_kafka_headers_t* own = rd_kafka_headers_new(headers.size());
      for (const auto& [name, value] : headers) {
        const std::string id = name == sink::kIdHeader ? Uuid::NewV7().ToString() : "";
        const std::string& text = id.empty() ? value : id;
        rd_kafka_header_add(own, name.data(), static_cast<ssize_t>(name.size()), text.data(),
                            static_cast<ssize_t>(text.size()));
      }
      const std::string key = base::StrCat("customer-", i % 1000);
      const rd_kafka_resp_err_t error = rd_kafka_producev(
          client_.get(), RD_KAFKA_V_TOPIC(topic_.c_str()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
          RD_KAFKA_V_KEY(key.data(), key.size()),
          RD_KAFKA_V_VALUE(const_cast<char*>(sample.payload.data()),  // NOLINT: it is copied
                           sample.payload.size()),
          RD_KAFKA_V_HEADERS(own), RD_KAFKA_V_END);
      if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        rd_kafka_headers_destroy(own);
        return Failed("producing", rd_kafka_err2str(error));
      }
      ++open_;
    }
    rd_kafka_flush(client_.get(), kKafkaWaitMs);
    if (open_ > 0) return Failed("waiting for reports", "they do not come in");
    if (failure_ != RD_KAFKA_RESP_ERR_NO_ERROR) return Failed("report", rd_kafka_err2str(failure_));
    return Status::Ok();
  }

 private:
  static Status Failed(std::string_view what, std::string_view why) {
    return RawFailure("kafka", what, why);
  }

  const sink::KafkaOptions options_;
  std::string topic_;
  // Reports come in while this thread polls.
  std::size_t open_ = 0;
  rd_kafka_resp_err_t failure_ = RD_KAFKA_RESP_ERR_NO_ERROR;
  sink::KafkaClient client_;
};

}  // namespace

Result<std::unique_ptr<RawClient>> MakeRawKafka(const sink::SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(sink::KafkaOptions options, sink::ReadKafkaOptions(uri));
  return std::unique_ptr<RawClient>(std::make_unique<RawKafka>(std::move(options)));
}

}  // namespace outbox::bench
