// MockKafka: librdkafka's mock cluster in this process, and a consumer of what arrived in a topic.
//
// Threads: used by one.
#pragma once

#include <librdkafka/rdkafka.h>
// After rdkafka.h.
#include <librdkafka/rdkafka_mock.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "outbox/message.h"
#include "tests/support/wait.h"

namespace outbox::testing {

struct KafkaArrived {
  std::string topic;
  std::optional<std::string> key;
  std::string body;
  Headers headers;
  std::int64_t timestamp_ms = 0;
  int partition = 0;
};

class MockKafka {
 public:
  static constexpr int kPartitions = 4;
  // Protocol requests, for Push.
  static constexpr std::int16_t kProduce = 0;
  static constexpr std::int16_t kInitProducerId = 22;

  explicit MockKafka(const std::string& topic = "orders.order.created.v1", int brokers = 1)
      : topic_(topic), client_(NewClient(RD_KAFKA_PRODUCER, "")) {
    cluster_ = rd_kafka_mock_cluster_new(client_.get(), brokers);
    if (cluster_ == nullptr) std::abort();
    CreateTopic(topic);
  }
  ~MockKafka() {
    consumer_.reset();
    rd_kafka_mock_cluster_destroy(cluster_);
  }
  MockKafka(const MockKafka&) = delete;
  MockKafka& operator=(const MockKafka&) = delete;

  std::string servers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  std::string uri() const { return "kafka://" + servers(); }

  void CreateTopic(const std::string& topic) {
    rd_kafka_mock_topic_create(cluster_, topic.c_str(), kPartitions, 1);
  }
  // -1 leaves a partition without a leader.
  void SetLeader(const std::string& topic, int partition, int broker) {
    rd_kafka_mock_partition_set_leader(cluster_, topic.c_str(), partition, broker);
  }
  void SetTopicError(const std::string& topic, rd_kafka_resp_err_t error) {
    rd_kafka_mock_topic_set_error(cluster_, topic.c_str(), error);
  }
  void Break(int broker = -1) { rd_kafka_mock_broker_set_down(cluster_, broker); }
  void Mend(int broker = -1) { rd_kafka_mock_broker_set_up(cluster_, broker); }
  // Every answer takes this long.
  void SetRoundTrip(int ms) { rd_kafka_mock_broker_set_rtt(cluster_, -1, ms); }
  // The next requests of this kind fail so.
  void Push(std::int16_t request, const std::vector<rd_kafka_resp_err_t>& errors) {
    rd_kafka_mock_push_request_errors_array(cluster_, request, errors.size(), errors.data());
  }

  // Everything in the topic so far, in order per partition; waits for at least `count`.
  const std::vector<KafkaArrived>& Receive(std::size_t count) {
    if (consumer_ == nullptr) StartConsumer();
    WaitFor([&] {
      while (Poll(50)) {
      }
      return arrived_.size() >= count;
    });
    return arrived_;
  }

 private:
  struct Destroy {
    void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  };
  using Client = std::unique_ptr<rd_kafka_t, Destroy>;

  static Client NewClient(rd_kafka_type_t type, const std::string& servers) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
    rd_kafka_conf_set(conf, "reconnect.backoff.max.ms", "200", nullptr, 0);
    rd_kafka_conf_set(conf, "group.id", "test", nullptr, 0);
    if (!servers.empty()) {
      rd_kafka_conf_set(conf, "bootstrap.servers", servers.c_str(), nullptr, 0);
    }
    Client client(rd_kafka_new(type, conf, nullptr, 0));
    if (client == nullptr) std::abort();
    return client;
  }

  void StartConsumer() {
    consumer_ = NewClient(RD_KAFKA_CONSUMER, servers());
    rd_kafka_poll_set_consumer(consumer_.get());
    rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(kPartitions);
    for (int partition = 0; partition < kPartitions; ++partition) {
      rd_kafka_topic_partition_list_add(list, topic_.c_str(), partition)->offset =
          RD_KAFKA_OFFSET_BEGINNING;
    }
    rd_kafka_assign(consumer_.get(), list);
    rd_kafka_topic_partition_list_destroy(list);
  }

  bool Poll(int wait_ms) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer_.get(), wait_ms);
    if (message == nullptr) return false;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) arrived_.push_back(Read(*message));
    rd_kafka_message_destroy(message);
    return true;
  }

  static KafkaArrived Read(const rd_kafka_message_t& message) {
    const auto text = [](const void* bytes, std::size_t size) {
      return std::string(static_cast<const char*>(bytes), size);
    };
    KafkaArrived arrived;
    arrived.topic = rd_kafka_topic_name(message.rkt);
    arrived.partition = message.partition;
    if (message.key != nullptr) arrived.key = text(message.key, message.key_len);
    arrived.body = text(message.payload, message.len);
    arrived.timestamp_ms = rd_kafka_message_timestamp(&message, nullptr);
    rd_kafka_headers_t* headers = nullptr;
    rd_kafka_message_headers(&message, &headers);
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         headers != nullptr &&
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      arrived.headers.emplace_back(name, text(value, size));
    }
    return arrived;
  }

  const std::string topic_;
  Client client_;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
  Client consumer_;
  std::vector<KafkaArrived> arrived_;
};

}  // namespace outbox::testing
