#include "store/memory/memory_store.h"

#include "tests/conformance/attempt_suite.h"
#include "tests/conformance/control_suite.h"
#include "tests/conformance/inspect_suite.h"
#include "tests/conformance/relay_store_suite.h"

namespace outbox::conformance {
namespace {

class MemoryFixture final : public StoreFixture {
 public:
  std::vector<Uuid> Enqueue(const std::vector<NewMessage>& messages) override {
    std::vector<Uuid> ids;
    for (const NewMessage& message : messages) ids.push_back(store_.Put(message).message.id);
    return ids;
  }
  Result<std::unique_ptr<store::RelayStore>> OpenRelay(store::RelayStoreOptions options) override {
    return store_.OpenRelay(options);
  }
  Result<std::unique_ptr<store::InspectStore>> OpenInspect() override {
    return store_.OpenInspect();
  }
  std::unique_ptr<store::ControlStore> OpenControl() override { return store_.control().Open(); }
  std::optional<store::StoredMessage> Find(const Uuid& id) override { return store_.Find(id); }
  std::string table() const override { return "memory"; }

 private:
  store::MemoryStore store_;
};

std::unique_ptr<StoreFixture> MakeMemoryFixture() { return std::make_unique<MemoryFixture>(); }

OUTBOX_INSTANTIATE_RELAY_STORE_SUITE(Memory, (StoreParam{"memory", MakeMemoryFixture}));
OUTBOX_INSTANTIATE_INSPECT_SUITE(Memory, (StoreParam{"memory", MakeMemoryFixture}));
INSTANTIATE_TEST_SUITE_P(Memory, AttemptSuite,
                         ::testing::Values(StoreParam{"memory", MakeMemoryFixture}),
                         StoreParamName);
INSTANTIATE_TEST_SUITE_P(Memory, ControlSuite,
                         ::testing::Values(StoreParam{"memory", MakeMemoryFixture}),
                         StoreParamName);

}  // namespace
}  // namespace outbox::conformance
