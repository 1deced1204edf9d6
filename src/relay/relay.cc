#include "outbox/relay.h"

#include <utility>

#include "base/text.h"
#include "relay/engine.h"
#include "relay/relay_id.h"
#include "relay/start_relay.h"
#include "store/backend.h"

namespace outbox {
namespace {

constexpr std::chrono::seconds kOpenTimeout{15};

class EngineRelay final : public Relay {
 public:
  explicit EngineRelay(std::shared_ptr<relay::Engine> engine) : engine_(std::move(engine)) {}
  ~EngineRelay() override { (void)engine_->Stop(); }

  Status Stop() override { return engine_->Stop(); }
  Status Drain(Deadline deadline) override { return engine_->Drain(deadline); }
  void Wake() override { engine_->Wake(); }
  void Hold() override { engine_->Hold(true); }
  void LetGo() override { engine_->Hold(false); }
  RelayStats Stats() const override { return engine_->Stats(); }

 private:
  std::shared_ptr<relay::Engine> engine_;
};

}  // namespace

Result<std::unique_ptr<Relay>> Relay::Start(const std::string& database, RelayOptions options,
                                            std::shared_ptr<Sink> sink,
                                            std::shared_ptr<RelayObserver> observer) {
  return relay::StartRelay(database, std::move(options), std::move(sink), std::move(observer),
                           nullptr);
}

namespace relay {

store::RelayStoreOptions StoreOptionsOf(const RelayOptions& options) {
  return {.table = options.table,
          .relay_id = options.relay_id,
          .claim_mode = options.claim_mode,
          .filter = options.filter,
          .destination = options.destination,
          .completion = options.completion,
          .keep_delivered = options.retention.count() > 0,
          .async_ack = options.async_ack,
          .attempt_history = options.attempt_history};
}

Result<std::unique_ptr<Relay>> StartRelay(const std::string& database, RelayOptions options,
                                          std::shared_ptr<Sink> sink,
                                          std::shared_ptr<RelayObserver> observer,
                                          const StoreWrapper& wrap) {
  if (const auto problems = options.Problems(); !problems.empty()) {
    return Status::Invalid(base::Join(problems, "; "));
  }
  if (sink == nullptr) return Status::Invalid("sink: is null");
  if (options.relay_id.empty()) options.relay_id = MakeRelayId();

  OUTBOX_ASSIGN_OR_RETURN(const auto backend, store::OpenBackend(database));
  OUTBOX_ASSIGN_OR_RETURN(
      auto store, backend->OpenRelay(StoreOptionsOf(options), Deadline::After(kOpenTimeout)));
  if (wrap) store = wrap(std::move(store));
  // A sink that can never work is said now; one that is only away is waited for.
  const Status opened = sink->Open(Deadline::After(options.dispatch_timeout));
  if (!opened.ok() && opened.disposition() == Disposition::kPermanent) return opened;

  std::string table = backend->DisplayName(options.table);
  if (!options.destination.empty()) table += "/" + options.destination;
  return std::unique_ptr<Relay>(std::make_unique<EngineRelay>(Engine::Start(
      std::move(options), table, std::move(store), std::move(sink), std::move(observer))));
}

}  // namespace relay

}  // namespace outbox
