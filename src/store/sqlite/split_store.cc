#include "store/sqlite/split_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"
#include "sql/sqlite.h"
#include "store/lane_rooms.h"
#include "store/sqlite/connection_slot.h"
#include "store/sqlite/lease_claim.h"
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
  std::int64_t attempts = 0;
  std::string last_error;
  bool split_before = false;
  bool cut_off = false;  // its lease has expired
  bool in_doubt = false;
};

// A relay for which messages are leased in their own rows.
struct Lane {
  std::shared_ptr<const LeaseTable> table;
  std::shared_ptr<SettleSlot> settle;
  std::string destination;
  std::string token_prefix;
  std::uint64_t claims_made = 0;
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
        note_cut_off_(Render(table, queries::kSplitNoteCutOff)),
        add_(Render(table, queries::kSplitAddDelivery)),
        mark_(Render(table, queries::kSplitMark)),
        unrouted_(Render(table, queries::kSplitUnrouted)),
        drop_(Render(table, queries::kSplitDrop)),
        complete_(Render(table, queries::kCompleteMessage)),
        remove_(Render(table, queries::kRemoveCompleted)),
        left_over_(Render(table, queries::kCompleteCandidates)),
        waiting_(Render(table, queries::kWaitingDestinations)),
        slot_(path_, [filter = filter_](Connection& on) { return filter->Register(on); }) {
    for (const RelayStoreOptions& relay : options.lanes) {
      lanes_.push_back(
          {.table = std::make_shared<const LeaseTable>(table, relay, LeasedRows::kMessages),
           .settle = std::make_shared<SettleSlot>(path_, relay.async_ack),
           .destination = relay.destination,
           .token_prefix =
               base::StrCat(relay.relay_id, "/", base::RandomBits() & 0xffffffff, "-")});
    }
  }

  Result<SplitReport> Split(const message::Routes& routes, const SplitRequest& request,
                            Deadline deadline) override {
    return slot_.Use(deadline, [&](Connection& on) -> Result<SplitReport> {
      // A look without the write lock: an idle splitter does not get into the producers' way.
      OUTBOX_ASSIGN_OR_RETURN(const auto look, Candidates(on, 1));
      if (look.empty()) return SplitReport{};
      OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(on));
      OUTBOX_ASSIGN_OR_RETURN(const auto candidates, Candidates(on, request.limit));
      OUTBOX_ASSIGN_OR_RETURN(SplitReport report, Write(on, candidates, routes, request));
      OUTBOX_RETURN_IF_ERROR(transaction.Commit());
      return report;
    });
  }

  Result<LeftOverReport> CompleteLeftOver(std::int64_t after_seq, std::size_t limit,
                                          Deadline deadline) override {
    return slot_.Use(deadline, [&](Connection& on) -> Result<LeftOverReport> {
      LeftOverReport report;
      OUTBOX_ASSIGN_OR_RETURN(const auto seqs, LeftOver(on, after_seq, limit, report));
      if (seqs.empty()) return report;
      OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(on));
      for (const std::int64_t seq : seqs) {
        OUTBOX_ASSIGN_OR_RETURN(const bool completed, Complete(on, seq));
        if (completed) ++report.completed;
      }
      OUTBOX_RETURN_IF_ERROR(transaction.Commit());
      return report;
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
      candidates.push_back({.seq = query.Int(0),
                            .topic = std::string(query.Text(1)),
                            .key = std::string(query.Text(2)),
                            .attempts = query.Int(3),
                            .last_error = std::string(query.Text(4)),
                            .split_before = query.Int(5) != 0,
                            .cut_off = query.Int(6) != 0,
                            .in_doubt = query.Int(7) != 0});
    }
  }

  Result<SplitReport> Write(Connection& on, const std::vector<Candidate>& candidates,
                            const message::Routes& routes, const SplitRequest& request) {
    using Way = LaneRooms::Way;
    SplitReport report{.found = candidates.size()};
    LaneRooms rooms(request.lanes);
    std::vector<std::vector<std::int64_t>> leased(request.lanes.size());
    for (const Candidate& candidate : candidates) {
      const auto targets = routes.For(candidate.topic);
      const auto [way, lane] = rooms.Decide(targets, candidate.key, candidate.split_before);
      if (candidate.cut_off && way != Way::kWait) {
        OUTBOX_RETURN_IF_ERROR(NoteCutOff(on, candidate, targets));
      }
      switch (way) {
        case Way::kLane: leased[lane].push_back(candidate.seq); break;
        case Way::kWait: ++report.left_alone; break;
        case Way::kUnrouted:
          ++report.messages;
          ++report.unrouted;
          OUTBOX_RETURN_IF_ERROR(SettleUnrouted(on, candidate.seq));
          break;
        case Way::kDeliveries:
          ++report.messages;
          report.deliveries += targets.size();
          OUTBOX_RETURN_IF_ERROR(AddDeliveries(on, candidate, targets));
          break;
      }
    }
    for (std::size_t lane = 0; lane < leased.size(); ++lane) {
      if (leased[lane].empty()) continue;
      OUTBOX_ASSIGN_OR_RETURN(auto claim, Lease(on, request.lanes[lane], leased[lane]));
      report.claims.push_back({request.lanes[lane].destination, std::move(claim)});
    }
    return report;
  }

  Status NoteCutOff(Connection& on, const Candidate& candidate,
                    std::span<const message::Routes::Target> targets) const {
    if (options_.attempt_history == AttemptHistory::kOff) return Status::Ok();
    OUTBOX_ASSIGN_OR_RETURN(Query note, on.Prepare(note_cut_off_));
    // With several, routes have changed since: which one it was is not known.
    note.Bind(1, candidate.seq).Bind(2, targets.size() == 1 ? targets.front().destination : "");
    return note.Run().error();
  }

  // The claim is good once the transaction has been committed.
  Result<std::unique_ptr<Claim>> Lease(Connection& on, const LaneRequest& request,
                                       const std::vector<std::int64_t>& seqs) {
    const auto lane = std::ranges::find(lanes_, request.destination, &Lane::destination);
    OUTBOX_CHECK(lane != lanes_.end());
    std::string token = base::StrCat(lane->token_prefix, ++lane->claims_made);
    OUTBOX_ASSIGN_OR_RETURN(Taken taken, lane->table->TakeThese(on, token, request.claim, seqs));
    return MakeLeaseClaim(lane->table, lane->settle, std::move(token), std::move(taken));
  }

  Status AddDeliveries(Connection& on, const Candidate& candidate,
                       std::span<const message::Routes::Target> targets) const {
    // Attempts made in the message's own row were for its only destination.
    const bool tried = targets.size() == 1 && candidate.attempts > 0;
    for (const message::Routes::Target& target : targets) {
      OUTBOX_ASSIGN_OR_RETURN(Query add, on.Prepare(add_));
      add.Bind(1, candidate.seq).Bind(2, target.destination);
      if (target.ordered && !candidate.key.empty()) add.Bind(3, candidate.key);
      add.Bind(4, target.waits_for_dead ? 1 : 0).Bind(5, tried ? candidate.attempts : 0);
      if (tried && !candidate.last_error.empty()) add.Bind(6, candidate.last_error);
      add.Bind(7, tried && candidate.in_doubt ? 1 : 0);
      OUTBOX_RETURN_IF_ERROR(add.Run().error());
    }
    OUTBOX_ASSIGN_OR_RETURN(Query mark, on.Prepare(mark_));
    return mark.Bind(1, candidate.seq).Run().error();
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

  // Those that should be complete; the others are only counted.
  Result<std::vector<std::int64_t>> LeftOver(Connection& on, std::int64_t after_seq,
                                             std::size_t limit, LeftOverReport& report) const {
    OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(left_over_));
    query.Bind(1, after_seq)
        .Bind(2, static_cast<std::int64_t>(limit))
        .Bind(3, options_.completion == Completion::kAny ? 1 : 0);
    std::vector<std::int64_t> seqs;
    while (true) {
      OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
      if (!found) return seqs;
      ++report.looked_at;
      report.last_seq = query.Int(0);
      if (query.Int(1) != 0) seqs.push_back(query.Int(0));
    }
  }

  Result<bool> Complete(Connection& on, std::int64_t seq) const {
    OUTBOX_ASSIGN_OR_RETURN(Query complete, on.Prepare(complete_));
    complete.Bind(1, seq)
        .Bind(2, options_.completion == Completion::kAny ? 1 : 0)
        .Bind(3, static_cast<std::int64_t>(options_.last_error_bytes_max));
    OUTBOX_ASSIGN_OR_RETURN(const std::int64_t changed, complete.Run());
    if (!options_.keep_delivered) {
      OUTBOX_ASSIGN_OR_RETURN(Query remove, on.Prepare(remove_));
      OUTBOX_RETURN_IF_ERROR(remove.Bind(1, seq).Run().error());
    }
    return changed > 0;
  }

  const std::string path_;
  const SplitOptions options_;
  const std::string tenant_;
  const std::shared_ptr<const LeaseTable> filter_;  // for its topic function
  const std::string candidates_;
  const std::string note_cut_off_;
  const std::string add_;
  const std::string mark_;
  const std::string unrouted_;
  const std::string drop_;
  const std::string complete_;
  const std::string remove_;
  const std::string left_over_;
  const std::string waiting_;
  ConnectionSlot slot_;
  std::vector<Lane> lanes_;
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
