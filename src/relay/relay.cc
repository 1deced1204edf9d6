#include "outbox/relay.h"

#include <thread>
#include <utility>

#include "base/detached_thread.h"
#include "base/text.h"
#include "relay/engine.h"
#include "relay/relay_id.h"
#include "relay/start_relay.h"
#include "store/backend.h"

namespace outbox {
namespace {

constexpr std::chrono::seconds kOpenTimeout{15};
constexpr std::chrono::seconds kSinkOpenTimeout{2};
// A thread for each.
constexpr std::size_t kConcurrencyMax = 1024;

Status Check(const RelayOptions& options, const std::shared_ptr<Sink>& sink) {
  if (const auto problems = options.Problems(); !problems.empty()) {
    return Status::Invalid(base::Join(problems, "; "));
  }
  if (sink == nullptr) return Status::Invalid("sink: is null");
  const SinkTraits traits = sink->traits();
  if (traits.concurrency < 1 || traits.concurrency > kConcurrencyMax) {
    return Status::Invalid(base::StrCat("sink: its concurrency, ", traits.concurrency,
                                        ", is not between 1 and ", kConcurrencyMax));
  }
  return traits.batch_max >= 1 ? Status::Ok() : Status::Invalid("sink: its batch_max is 0");
}

class EngineRelay final : public Relay {
 public:
  explicit EngineRelay(std::shared_ptr<relay::Engine> engine) : engine_(std::move(engine)) {}
  ~EngineRelay() override {
    (void)engine_->Stop();
    if (!engine_->IsOwnThread()) return;
    // Somebody has to wait for the threads, and it can not be one of them.
    base::Detach([engine = engine_] { (void)engine->Stop(); });
  }

  Status Stop() override { return engine_->Stop(); }
  Status Drain(Deadline deadline) override { return engine_->Drain(deadline); }
  void Wake() override { engine_->Wake(); }
  void Pause() override { engine_->Pause(true); }
  void Resume() override { engine_->Pause(false); }
  RelayStats Stats() const override { return engine_->Stats(); }

 private:
  std::shared_ptr<relay::Engine> engine_;
};

}  // namespace

Result<std::unique_ptr<Relay>> Relay::Start(const std::string& database, RelayOptions options,
                                            std::shared_ptr<Sink> sink,
                                            std::shared_ptr<RelayObserver> observer) {
  OUTBOX_RETURN_IF_ERROR(Check(options, sink));
  relay::SinkOpening opening = relay::OpenAtStart(sink);
  const Status opened = opening.Await();
  if (opened.disposition() == Disposition::kPermanent) return opened;
  return relay::StartRelay(database, std::move(options), std::move(sink), std::move(observer),
                           nullptr, std::move(opening));
}

namespace relay {

store::RelayStoreOptions StoreOptionsOf(const RelayOptions& options) {
  return {.table = options.table,
          .relay_id = options.relay_id,
          .lease = options.lease,
          .claim_mode = options.claim_mode,
          .filter = options.filter,
          .destination = options.destination,
          .completion = options.completion,
          .keep_delivered = options.retention.count() > 0,
          .async_ack = options.async_ack,
          .attempt_history = options.attempt_history,
          .last_error_bytes_max = options.last_error_bytes_max};
}

SinkOpening OpenAtStart(std::shared_ptr<Sink> sink) {
  return {std::move(sink), Deadline::After(kSinkOpenTimeout)};
}

Result<std::unique_ptr<Relay>> StartRelay(const std::string& database, RelayOptions options,
                                          std::shared_ptr<Sink> sink,
                                          std::shared_ptr<RelayObserver> observer,
                                          const StoreWrapper& wrap, SinkOpening opening) {
  OUTBOX_RETURN_IF_ERROR(Check(options, sink));
  if (options.relay_id.empty()) options.relay_id = MakeRelayId();
  OUTBOX_ASSIGN_OR_RETURN(OpenedStore opened, OpenStore(database, options));
  if (wrap) opened.store = wrap(std::move(opened.store));
  return StartRelay(std::move(opened), std::move(options), std::move(sink), std::move(observer),
                    std::move(opening));
}

Result<OpenedStore> OpenStore(const std::string& database, const RelayOptions& options) {
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, store::OpenBackend(database));
  OUTBOX_ASSIGN_OR_RETURN(
      auto store, backend->OpenRelay(StoreOptionsOf(options), Deadline::After(kOpenTimeout)));
  std::string table = backend->DisplayName(options.table);
  if (!options.destination.empty()) table += "/" + options.destination;
  return OpenedStore{std::move(store), std::move(table)};
}

Result<std::unique_ptr<Relay>> StartRelay(OpenedStore store, RelayOptions options,
                                          std::shared_ptr<Sink> sink,
                                          std::shared_ptr<RelayObserver> observer,
                                          SinkOpening opening) {
  OUTBOX_RETURN_IF_ERROR(Check(options, sink));
  OUTBOX_ASSIGN_OR_RETURN(
      auto engine, Engine::Start(std::move(options), std::move(store.table), std::move(store.store),
                                 std::move(sink), std::move(observer), std::move(opening)));
  return std::unique_ptr<Relay>(std::make_unique<EngineRelay>(std::move(engine)));
}

}  // namespace relay

}  // namespace outbox
