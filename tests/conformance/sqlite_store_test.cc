#include "store/sqlite/backend.h"
#include "tests/conformance/store_fixture.h"
#include "tests/support/temp_folder.h"

namespace outbox::conformance {
namespace {

class SqliteFixture final : public StoreFixture {
 public:
  SqliteFixture()
      : table_(std::make_unique<BackendFixture>(
            std::move(store::OpenSqlite(folder_.File("test.db"))).value(), "orders_outbox")) {}

  std::vector<Uuid> Enqueue(const std::vector<NewMessage>& messages) override {
    return table_->Enqueue(messages);
  }
  Result<std::unique_ptr<store::RelayStore>> OpenRelay(store::RelayStoreOptions options) override {
    return table_->OpenRelay(std::move(options));
  }
  Result<std::unique_ptr<store::InspectStore>> OpenInspect() override {
    return table_->OpenInspect();
  }
  std::unique_ptr<store::ControlStore> OpenControl() override { return table_->OpenControl(); }
  std::optional<store::StoredMessage> Find(const Uuid& id) override { return table_->Find(id); }
  store::Backend* backend() override { return table_->backend(); }
  std::string table() const override { return table_->table(); }

 private:
  testing::TempFolder folder_;
  std::unique_ptr<BackendFixture> table_;
};

std::unique_ptr<StoreFixture> MakeSqliteFixture() { return std::make_unique<SqliteFixture>(); }

}  // namespace

StoreParam StoreUnderTest() { return {.name = "sqlite", .make = MakeSqliteFixture}; }

}  // namespace outbox::conformance
