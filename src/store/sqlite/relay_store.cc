#include "store/sqlite/relay_store.h"

#include "base/text.h"
#include "message/validate.h"
#include "store/sqlite/lease_store.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/table.h"
#include "store/sqlite/transaction_store.h"

namespace outbox::store::sqlite {
namespace {

Status CheckWritable(const Connection& connection) {
  if (!connection.read_only()) return Status::Ok();
  return Status::Permanent(Code::kPermission,
                           base::StrCat("sqlite '", connection.path(), "' is read-only"))
      .WithHint("a relay needs write permission for the file and for its folder");
}

}  // namespace

Result<std::unique_ptr<RelayStore>> OpenRelayStore(const std::string& path,
                                                   const RelayStoreOptions& options,
                                                   Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const message::TableName name, ParseTable(options.table));
  for (const std::string& pattern : options.filter.topics) {
    OUTBOX_RETURN_IF_ERROR(message::ValidateTopicPattern(pattern));
  }
  OUTBOX_ASSIGN_OR_RETURN(const auto connection,
                          Connection::Open(path, OpenMode::kExisting, deadline));
  OUTBOX_RETURN_IF_ERROR(CheckUsable(*connection, name));
  OUTBOX_RETURN_IF_ERROR(CheckWritable(*connection));

  auto table = std::make_shared<const LeaseTable>(name, options);
  if (options.claim_mode == ClaimMode::kTransaction) {
    return std::unique_ptr<RelayStore>(
        std::make_unique<TransactionStore>(path, options, std::move(table)));
  }
  return std::unique_ptr<RelayStore>(std::make_unique<LeaseStore>(path, options, std::move(table)));
}

}  // namespace outbox::store::sqlite
