#include "bench/relay_run.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/text.h"
#include "outbox/relay.h"
#include "relay/lane_store.h"
#include "relay/relay_id.h"
#include "relay/splitter.h"
#include "relay/start_relay.h"
#include "sink/registry.h"
#include "store/backend.h"

namespace outbox::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::minutes kDrainTimeout{5};
constexpr std::chrono::seconds kOpenTimeout{30};
constexpr std::string_view kOnlySink = "only";

// Notes the moment at which the last expected message is settled.
class DeliveryCount final : public RelayObserver {
 public:
  explicit DeliveryCount(std::size_t expected) : expected_(expected) {}

  void OnSettled(std::string_view, const SettleCounts& counts, Duration) override {
    const std::lock_guard lock(mutex_);
    delivered_ += counts.delivered;
    if (delivered_ < expected_ || done_at_) return;
    done_at_ = steady_clock::now();
    done_.notify_all();
  }

  std::optional<steady_clock::time_point> Wait() {
    std::unique_lock lock(mutex_);
    done_.wait_for(lock, kDrainTimeout, [&] { return done_at_.has_value(); });
    return done_at_;
  }

 private:
  const std::size_t expected_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t delivered_ = 0;
  std::optional<steady_clock::time_point> done_at_;
};

RelayOptions OptionsOf(const Scratch& scratch, const DrainPlan& plan) {
  RelayOptions options{.table = scratch.table()};
  options.claim_mode = plan.mode;
  options.batch_size = plan.batch;
  options.attempt_history = plan.history;
  options.window = plan.window;
  options.async_ack = plan.async_ack;
  if (!plan.keep) options.retention = std::chrono::milliseconds::zero();
  return options;
}

}  // namespace

std::string Describe(const DrainPlan& plan) {
  std::string text =
      base::StrCat(ToString(plan.mode), plan.keep ? ", kept" : ", deleted", ", batch ", plan.batch);
  if (plan.window != RelayOptions{}.window) text += base::StrCat(", window ", plan.window);
  if (plan.async_ack) text += ", async ack";
  return text;
}

Result<double> RelayRate(const Scratch& scratch, const DrainPlan& plan, std::size_t count,
                         std::shared_ptr<Sink> sink) {
  const RelayOptions options = OptionsOf(scratch, plan);
  if (sink == nullptr) {
    OUTBOX_ASSIGN_OR_RETURN(sink, sink::OpenSink("null:"));
  }
  const auto counter = std::make_shared<DeliveryCount>(count);

  const auto start = steady_clock::now();
  OUTBOX_ASSIGN_OR_RETURN(const auto relay,
                          Relay::Start(scratch.address(), options, std::move(sink), counter));
  const auto end = counter->Wait();
  OUTBOX_RETURN_IF_ERROR(relay->Stop());
  if (!end) return Status::Retry(Code::kDeadline, "the relay did not drain the table in time");
  return static_cast<double>(count) / std::chrono::duration<double>(*end - start).count();
}

Result<double> RoutedRate(const Scratch& scratch, const DrainPlan& plan, std::size_t count) {
  RelayOptions options = OptionsOf(scratch, plan);
  options.destination = kOnlySink;
  options.relay_id = relay::MakeRelayId();
  const std::vector<std::string> lanes{options.destination};
  const auto board = std::make_shared<relay::LaneBoard>(lanes, steady_clock::now());
  OUTBOX_ASSIGN_OR_RETURN(auto sink, sink::OpenSink("null:"));
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, store::OpenBackend(scratch.address()));
  const auto counter = std::make_shared<DeliveryCount>(count);
  const auto on_lane = [&](std::unique_ptr<store::RelayStore> store) {
    return std::make_unique<relay::LaneStore>(
        std::move(store), board, relay::LaneStoreOptions{.destination = options.destination});
  };

  const auto start = steady_clock::now();
  OUTBOX_ASSIGN_OR_RETURN(const auto relay, relay::StartRelay(scratch.address(), options,
                                                              std::move(sink), counter, on_lane));
  board->OnLeft(options.destination, [&] { relay->Wake(); });
  OUTBOX_ASSIGN_OR_RETURN(auto store,
                          backend->OpenSplit({.table = options.table,
                                              .keep_delivered = plan.keep,
                                              .lanes = {relay::StoreOptionsOf(options)}},
                                             Deadline::After(kOpenTimeout)));
  const auto splitter = relay::Splitter::Start(
      std::move(store), message::Routes({{.topics = "#", .destinations = lanes}}),
      {.table = options.table, .batch_size = options.batch_size}, [&] { relay->Wake(); }, counter,
      board);
  const auto end = counter->Wait();
  splitter->Stop();
  OUTBOX_RETURN_IF_ERROR(relay->Stop());
  if (!end) return Status::Retry(Code::kDeadline, "the relay did not drain the table in time");
  return static_cast<double>(count) / std::chrono::duration<double>(*end - start).count();
}

}  // namespace outbox::bench
