// ObserverList: tells several observers of everything, in their order.
//
// Threads: as RelayObserver; the list does not change.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "outbox/observer.h"

namespace outbox::relay {

class ObserverList final : public RelayObserver {
 public:
  explicit ObserverList(std::vector<std::shared_ptr<RelayObserver>> observers)
      : observers_(std::move(observers)) {}

  void OnStateChanged(std::string_view table, RelayState state, std::string_view why) override {
    for (const auto& each : observers_) each->OnStateChanged(table, state, why);
  }
  void OnLeaderChanged(std::string_view table, bool leading) override {
    for (const auto& each : observers_) each->OnLeaderChanged(table, leading);
  }
  void OnClaimed(std::string_view table, std::size_t count, Duration took) override {
    for (const auto& each : observers_) each->OnClaimed(table, count, took);
  }
  void OnPublished(const Message& message, const Status& result, Duration took) override {
    for (const auto& each : observers_) each->OnPublished(message, result, took);
  }
  void OnSettled(std::string_view table, const SettleCounts& counts, Duration took) override {
    for (const auto& each : observers_) each->OnSettled(table, counts, took);
  }
  void OnDead(const Message& message, const Status& result) override {
    for (const auto& each : observers_) each->OnDead(message, result);
  }
  void OnLeaseLost(const Message& message) override {
    for (const auto& each : observers_) each->OnLeaseLost(message);
  }
  void OnSplit(std::string_view table, std::size_t messages, std::size_t deliveries,
               std::size_t unrouted, Duration took) override {
    for (const auto& each : observers_) each->OnSplit(table, messages, deliveries, unrouted, took);
  }
  void OnStoreError(std::string_view table, std::string_view operation, const Status& error,
                    Duration retry_in) override {
    for (const auto& each : observers_) each->OnStoreError(table, operation, error, retry_in);
  }
  void OnPurged(std::string_view table, const PurgeCounts& counts, Duration took) override {
    for (const auto& each : observers_) each->OnPurged(table, counts, took);
  }
  void OnNotice(std::string_view table, std::string_view text) override {
    for (const auto& each : observers_) each->OnNotice(table, text);
  }

 private:
  const std::vector<std::shared_ptr<RelayObserver>> observers_;
};

}  // namespace outbox::relay
