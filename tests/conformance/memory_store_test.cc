#include "store/memory/memory_store.h"

#include "tests/conformance/store_fixture.h"

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

// What only a database can do.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AttemptTableSuite);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LaneSuite);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OperateSuite);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SplitSuite);

}  // namespace

StoreParam StoreUnderTest() {
  return {.name = "memory", .make = MakeMemoryFixture, .is_database = false};
}

}  // namespace outbox::conformance
