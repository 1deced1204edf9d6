#include "store/sqlite/relay_store_base.h"

#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "store/sqlite/classify_error.h"
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

Result<Taken> RelayStoreBase::TakeWilling(Connection& connection, const ClaimRequest& request,
                                          Deadline deadline, const TakeSome& take) {
  ClaimRequest part = request;
  part.limit = refused_.Begin(request.limit);
  while (true) {
    const auto aside = refused_.Aside(RefusedRows::Clock::now());
    Result<Taken> taken = take(part, aside);
    if (taken.ok()) {
      refused_.OnClaimed();
      return taken;
    }
    if (!RefusesRow(taken.error()) || deadline.passed()) return taken;
    switch (refused_.OnRefused()) {
      case RefusedRows::Next::kFail: return taken;
      case RefusedRows::Next::kSmaller: part.limit = refused_.limit(); break;
      case RefusedRows::Next::kFindFirst: {
        OUTBOX_ASSIGN_OR_RETURN(const auto first, table_->FindFirstDue(connection, aside));
        if (!first) return taken;
        refused_.SetAside(first->seq,
                          base::StrCat("message ", first->id, " (seq ", first->seq, ")"),
                          taken.error(), RefusedRows::Clock::now());
        break;
      }
      case RefusedRows::Next::kStop: return Taken{};
    }
  }
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
