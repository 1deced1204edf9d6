#include "store/sqlite/relay_store_base.h"

#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "store/sqlite/work_watch.h"

namespace outbox::store::sqlite {

RelayStoreBase::RelayStoreBase(std::string path, const RelayStoreOptions& options,
                               std::shared_ptr<const LeaseTable> table)
    : path_(std::move(path)),
      token_prefix_(base::StrCat(options.relay_id, "/", base::RandomBits() & 0xffffffff, "-")),
      table_(std::move(table)),
      look_(path_, PrepareConnection(Commits::kDurable)),
      lease_(options.lease),
      leader_(path_, table_->leader_name()) {}

Result<bool> RelayStoreBase::Drained(Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const bool left, look_.Use(deadline, [this](Connection& connection) {
    return table_->Undrained(connection);
  }));
  return !left;
}

Result<std::unique_ptr<Watch>> RelayStoreBase::WatchForWork(std::function<void()> on_work,
                                                            Deadline deadline) {
  return WorkWatch::Start(path_, std::move(on_work), deadline);
}

Result<bool> RelayStoreBase::WorthClaiming(Deadline deadline) {
  if (!idle_) return true;
  return look_.Use(deadline, [this](Connection& connection) { return table_->Due(connection); });
}

std::string RelayStoreBase::NextToken() { return base::StrCat(token_prefix_, ++tokens_); }

ConnectionSlot::Prepare RelayStoreBase::PrepareConnection(Commits commits) const {
  return [table = table_, commits](Connection& connection) {
    if (commits == Commits::kRelaxed) OUTBOX_RETURN_IF_ERROR(connection.RelaxDurability());
    return table->Register(connection);
  };
}

}  // namespace outbox::store::sqlite
