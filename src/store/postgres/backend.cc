#include "store/postgres/backend.h"

#include "message/table_name.h"
#include "message/validate.h"
#include "store/postgres/address.h"
#include "store/postgres/clean_store.h"
#include "store/postgres/control_store.h"
#include "store/postgres/inspect_store.h"
#include "store/postgres/migrator.h"
#include "store/postgres/relay_store.h"
#include "store/postgres/schema_script.h"
#include "store/postgres/session.h"
#include "store/postgres/split_store.h"

namespace outbox::store::postgres {
namespace {

class PostgresBackend final : public Backend {
 public:
  explicit PostgresBackend(Address address)
      : address_(std::make_shared<const Address>(std::move(address))) {}

  Dialect dialect() const noexcept override { return Dialect::kPostgres; }
  std::string description() const override { return address_->description(); }
  bool local() const override { return address_->local(); }

  Result<std::unique_ptr<RelayStore>> OpenRelay(const RelayStoreOptions& options,
                                                Deadline deadline) override {
    for (const std::string& pattern : options.filter.topics) {
      OUTBOX_RETURN_IF_ERROR(message::ValidateTopicPattern(pattern));
    }
    OUTBOX_ASSIGN_OR_RETURN(auto table, Parse(options.table));
    auto store = std::make_unique<PostgresRelayStore>(address_, std::move(table), options);
    OUTBOX_RETURN_IF_ERROR(store->Check(deadline));
    return {std::move(store)};
  }

  Result<std::unique_ptr<SplitStore>> OpenSplit(const SplitOptions& options,
                                                Deadline deadline) override {
    OUTBOX_ASSIGN_OR_RETURN(auto table, Parse(options.table));
    auto store = std::make_unique<PostgresSplitStore>(address_, std::move(table), options);
    OUTBOX_RETURN_IF_ERROR(store->Check(deadline));
    return {std::move(store)};
  }

  Result<std::unique_ptr<InspectStore>> OpenInspect(const std::string& table,
                                                    Deadline deadline) override {
    OUTBOX_ASSIGN_OR_RETURN(auto name, Parse(table));
    auto store = std::make_unique<PostgresInspectStore>(address_, std::move(name));
    OUTBOX_RETURN_IF_ERROR(store->Check(deadline));
    return {std::move(store)};
  }

  Result<std::unique_ptr<CleanStore>> OpenClean(const std::string& table,
                                                Deadline deadline) override {
    OUTBOX_ASSIGN_OR_RETURN(auto name, Parse(table));
    auto store = std::make_unique<PostgresCleanStore>(address_, name);
    OUTBOX_RETURN_IF_ERROR(store->Check(deadline));
    return {std::move(store)};
  }

  std::unique_ptr<ControlStore> OpenControl() override {
    return std::make_unique<PostgresControlStore>(address_);
  }

  Result<std::unique_ptr<Migrator>> OpenMigrator(Deadline deadline) override {
    auto migrator = std::make_unique<PostgresMigrator>(address_);
    OUTBOX_RETURN_IF_ERROR(migrator->Open(deadline));
    return {std::move(migrator)};
  }

  Result<std::string> PrintMigration(const MigrateOptions& options,
                                     const PrintOptions& print) const override {
    OUTBOX_ASSIGN_OR_RETURN(const message::TableName table, Parse(options.table));
    return CompleteScript(table, options, print);
  }

  Result<std::unique_ptr<Session>> OpenSession(Deadline deadline) override {
    auto session = std::make_unique<PostgresSession>(address_);
    OUTBOX_RETURN_IF_ERROR(session->Open(deadline));
    return {std::move(session)};
  }

 private:
  static Result<message::TableName> Parse(const std::string& table) {
    return message::TableName::Parse(table, "public");
  }

  const std::shared_ptr<const Address> address_;
};

}  // namespace

Result<std::unique_ptr<Backend>> OpenPostgres(const std::string& dsn) {
  OUTBOX_ASSIGN_OR_RETURN(Address address, Address::Parse(dsn));
  return {std::make_unique<PostgresBackend>(std::move(address))};
}

}  // namespace outbox::store::postgres
