// For tests of one sink against its server: messages, a call to publish them, and a producer that
// never stops.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "outbox/sink.h"

namespace outbox::testing {

inline Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

inline std::vector<Message> Messages(std::size_t count, const std::string& payload = "{}") {
  std::vector<Message> messages(count);
  for (Message& message : messages) {
    message.id = Uuid::NewV7();
    message.topic = "orders.order.created.v1";
    message.payload = payload;
    message.attempt = 1;
  }
  return messages;
}

inline std::vector<Status> Publish(Sink& sink, const std::vector<Message>& messages,
                                   Deadline deadline = Soon()) {
  std::vector<Status> results(messages.size(), Status::NotAttempted());
  sink.Publish(messages, results, deadline);
  return results;
}

// Publishes without end from a thread of its own, again what was not confirmed.
class Producer {
 public:
  static constexpr std::size_t kWindow = 50;

  explicit Producer(std::shared_ptr<Sink> sink)
      : sink_(std::move(sink)), thread_([this] { Run(); }) {}
  ~Producer() { Stop(); }

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::size_t confirmed() const { return confirmed_count_; }
  // After Stop.
  const std::set<std::string>& ids() const { return ids_; }

 private:
  void Run() {
    while (!stop_) {
      auto messages = Messages(kWindow);
      while (!messages.empty() && !stop_) {
        const auto results = Publish(*sink_, messages);
        std::vector<Message> again;
        for (std::size_t i = 0; i < messages.size(); ++i) {
          if (results[i].ok()) {
            ids_.insert(messages[i].id.ToString());
          } else {
            EXPECT_NE(results[i].disposition(), Disposition::kPermanent) << results[i].ToString();
            again.push_back(messages[i]);
          }
        }
        confirmed_count_ = ids_.size();
        if (!again.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        messages = std::move(again);
      }
    }
  }

  const std::shared_ptr<Sink> sink_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> confirmed_count_ = 0;
  std::set<std::string> ids_;
  std::thread thread_;
};

}  // namespace outbox::testing
