#include "store/sqlite/split_store.h"

#include <utility>
#include <vector>

#include "sql/sqlite.h"
#include "store/sqlite/connection_slot.h"
#include "store/sqlite/lease_table.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/table.h"
#include "store/sqlite/work_watch.h"

namespace outbox::store::sqlite {
namespace {

namespace queries = sql::sqlite;

struct Candidate {
  std::int64_t seq = 0;
  std::string topic;
  std::string key;
};

class SqliteSplitStore final : public SplitStore {
 public:
  SqliteSplitStore(std::string path, const message::TableName& table, const SplitOptions& options)
      : path_(std::move(path)),
        options_(options),
        tenant_(options.filter.tenant_id ? options.filter.tenant_id->ToString() : ""),
        filter_(std::make_shared<const LeaseTable>(
            table, RelayStoreOptions{.table = options.table, .filter = options.filter})),
        candidates_(Render(table, queries::kSplitCandidates)),
        add_(Render(table, queries::kSplitAddDelivery)),
        mark_(Render(table, queries::kSplitMark)),
        unrouted_(Render(table, queries::kSplitUnrouted)),
        drop_(Render(table, queries::kSplitDrop)),
        complete_(Render(table, queries::kCompleteMessage)),
        remove_(Render(table, queries::kRemoveCompleted)),
        left_over_(Render(table, queries::kCompleteCandidates)),
        waiting_(Render(table, queries::kWaitingDestinations)),
        slot_(path_, [filter = filter_](Connection& on) { return filter->Register(on); }) {}

  Result<SplitReport> Split(const message::Routes& routes, std::size_t limit,
                            Deadline deadline) override {
    return slot_.Use(deadline, [&](Connection& on) -> Result<SplitReport> {
      // A look without the write lock: an idle splitter does not get into the producers' way.
      OUTBOX_ASSIGN_OR_RETURN(const auto look, Candidates(on, 1));
      if (look.empty()) return SplitReport{};
      OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(on));
      OUTBOX_ASSIGN_OR_RETURN(const auto candidates, Candidates(on, limit));
      OUTBOX_ASSIGN_OR_RETURN(const SplitReport report, Write(on, candidates, routes));
      OUTBOX_RETURN_IF_ERROR(transaction.Commit());
      return report;
    });
  }

  Result<std::size_t> CompleteLeftOver(std::size_t limit, Deadline deadline) override {
    return slot_.Use(deadline, [&](Connection& on) -> Result<std::size_t> {
      OUTBOX_ASSIGN_OR_RETURN(const auto look, LeftOver(on, 1));
      if (look.empty()) return std::size_t{0};
      OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(on));
      OUTBOX_ASSIGN_OR_RETURN(const auto seqs, LeftOver(on, limit));
      for (const std::int64_t seq : seqs) OUTBOX_RETURN_IF_ERROR(Complete(on, seq));
      OUTBOX_RETURN_IF_ERROR(transaction.Commit());
      return seqs.size();
    });
  }

  Result<std::vector<std::string>> WaitingDestinations(Deadline deadline) override {
    return slot_.Use(deadline, [&](Connection& on) -> Result<std::vector<std::string>> {
      std::vector<std::string> destinations;
      OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(waiting_));
      while (true) {
        OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
        if (!found) return destinations;
        destinations.emplace_back(query.Text(0));
      }
    });
  }

  Result<std::unique_ptr<Watch>> WatchForWork(std::function<void()> on_work,
                                              Deadline deadline) override {
    return WorkWatch::Start(path_, std::move(on_work), deadline);
  }
  bool watch_is_free() const noexcept override { return true; }

 private:
  Result<std::vector<Candidate>> Candidates(Connection& on, std::size_t limit) const {
    OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(candidates_));
    query.Bind(1, static_cast<std::int64_t>(limit))
        .Bind(2, options_.filter.name_space)
        .Bind(4, options_.filter.topics.empty() ? 0 : 1);
    if (options_.filter.tenant_id) query.Bind(3, tenant_);
    std::vector<Candidate> candidates;
    while (true) {
      OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
      if (!found) return candidates;
      candidates.push_back({query.Int(0), std::string(query.Text(1)), std::string(query.Text(2))});
    }
  }

  Result<SplitReport> Write(Connection& on, const std::vector<Candidate>& candidates,
                            const message::Routes& routes) const {
    SplitReport report{.messages = candidates.size()};
    for (const Candidate& candidate : candidates) {
      const auto targets = routes.For(candidate.topic);
      if (targets.empty()) {
        ++report.unrouted;
        OUTBOX_RETURN_IF_ERROR(SettleUnrouted(on, candidate.seq));
        continue;
      }
      for (const message::Routes::Target& target : targets) {
        OUTBOX_RETURN_IF_ERROR(Add(on, candidate, target));
        ++report.deliveries;
      }
      OUTBOX_ASSIGN_OR_RETURN(Query mark, on.Prepare(mark_));
      OUTBOX_RETURN_IF_ERROR(mark.Bind(1, candidate.seq).Run().error());
    }
    return report;
  }

  Status Add(Connection& on, const Candidate& candidate,
             const message::Routes::Target& target) const {
    OUTBOX_ASSIGN_OR_RETURN(Query add, on.Prepare(add_));
    add.Bind(1, candidate.seq).Bind(2, target.destination);
    if (target.ordered && !candidate.key.empty()) add.Bind(3, candidate.key);
    return add.Bind(4, target.waits_for_dead ? 1 : 0).Run().error();
  }

  Status SettleUnrouted(Connection& on, std::int64_t seq) const {
    const bool drop = options_.unrouted == message::Unrouted::kDrop;
    if (drop && !options_.keep_delivered) {
      OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(drop_));
      return query.Bind(1, seq).Run().error();
    }
    const int choice = options_.unrouted == message::Unrouted::kKeep ? 0 : drop ? 2 : 1;
    OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(unrouted_));
    return query.Bind(1, seq).Bind(2, choice).Run().error();
  }

  Result<std::vector<std::int64_t>> LeftOver(Connection& on, std::size_t limit) const {
    OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(left_over_));
    query.Bind(1, static_cast<std::int64_t>(limit));
    std::vector<std::int64_t> seqs;
    while (true) {
      OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
      if (!found) return seqs;
      seqs.push_back(query.Int(0));
    }
  }

  Status Complete(Connection& on, std::int64_t seq) const {
    OUTBOX_ASSIGN_OR_RETURN(Query complete, on.Prepare(complete_));
    complete.Bind(1, seq).Bind(2, options_.completion == Completion::kAny ? 1 : 0);
    OUTBOX_RETURN_IF_ERROR(complete.Run().error());
    if (options_.keep_delivered) return Status::Ok();
    OUTBOX_ASSIGN_OR_RETURN(Query remove, on.Prepare(remove_));
    return remove.Bind(1, seq).Run().error();
  }

  const std::string path_;
  const SplitOptions options_;
  const std::string tenant_;
  const std::shared_ptr<const LeaseTable> filter_;  // for its topic function
  const std::string candidates_;
  const std::string add_;
  const std::string mark_;
  const std::string unrouted_;
  const std::string drop_;
  const std::string complete_;
  const std::string remove_;
  const std::string left_over_;
  const std::string waiting_;
  ConnectionSlot slot_;
};

}  // namespace

Result<std::unique_ptr<SplitStore>> OpenSplitStore(const std::string& path,
                                                   const SplitOptions& options, Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const message::TableName table, ParseTable(options.table));
  OUTBOX_ASSIGN_OR_RETURN(const auto connection,
                          Connection::Open(path, OpenMode::kExisting, deadline));
  OUTBOX_RETURN_IF_ERROR(CheckUsable(*connection, table));
  return std::unique_ptr<SplitStore>(std::make_unique<SqliteSplitStore>(path, table, options));
}

}  // namespace outbox::store::sqlite
