#include "store/sqlite/control_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sql/sqlite.h"
#include "store/sqlite/connection_slot.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/table.h"

namespace outbox::store::sqlite {
namespace {

namespace queries = sql::sqlite;

Timestamp TimeOf(const Query& row, int column) {
  return Timestamp(std::chrono::milliseconds(row.Int(column)));
}

ListedRelay ReadRelay(const Query& row) {
  ListedRelay listed;
  listed.process = {.id = std::string(row.Text(0)),
                    .host = std::string(row.Text(1)),
                    .pid = static_cast<int>(row.Int(2)),
                    .version = std::string(row.Text(3))};
  RelayBeat& relay = listed.relay;
  relay.table = row.Text(4);
  relay.sink = row.Text(5);
  relay.state = row.Text(6);
  if (!row.IsNull(7)) relay.leading = row.Int(7) != 0;
  relay.in_flight = static_cast<std::uint64_t>(row.Int(8));
  relay.delivered = static_cast<std::uint64_t>(row.Int(9));
  relay.failed = static_cast<std::uint64_t>(row.Int(10));
  listed.started_at = TimeOf(row, 11);
  listed.beat_at = TimeOf(row, 12);
  listed.beat_age = std::chrono::milliseconds(row.Int(13));
  listed.gone = row.Int(14) != 0;
  return listed;
}

RelayPause ReadPause(const Query& row) {
  return {.table = std::string(row.Text(0)),
          .sink = std::string(row.Text(1)),
          .since = TimeOf(row, 2),
          .by = std::string(row.Text(3)),
          .reason = std::string(row.Text(4))};
}

AuditRecord ReadAudit(const Query& row) {
  return {.number = row.Int(0),
          .at = TimeOf(row, 1),
          .action = std::string(row.Text(3)),
          .table = std::string(row.Text(4)),
          .changed = static_cast<std::size_t>(row.Int(7)),
          .audit = {.actor = std::string(row.Text(2)),
                    .request_id = std::string(row.Text(8)),
                    .filter = std::string(row.Text(5)),
                    .matched = static_cast<std::size_t>(row.Int(6))}};
}

template <typename Read>
auto ReadAll(Query& query, Read read) -> Result<std::vector<decltype(read(query))>> {
  std::vector<decltype(read(query))> rows;
  while (true) {
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return rows;
    rows.push_back(read(query));
  }
}

Result<std::vector<RelayPause>> ReadPauses(Connection& on) {
  OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(Render(queries::kListPauses)));
  query.Bind(1, static_cast<std::int64_t>(kControlRowsMax));
  return ReadAll(query, ReadPause);
}

Status BeatOne(Connection& on, const ProcessInfo& process, const RelayBeat& relay,
               std::chrono::milliseconds interval) {
  OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(Render(queries::kBeatRelay)));
  query.Bind(1, process.id).Bind(2, relay.table).Bind(3, relay.sink);
  query.Bind(4, process.host).Bind(5, process.pid).Bind(6, process.version).Bind(7, relay.state);
  if (relay.leading) query.Bind(8, static_cast<std::int64_t>(*relay.leading));
  query.Bind(9, static_cast<std::int64_t>(relay.in_flight));
  query.Bind(10, static_cast<std::int64_t>(relay.delivered));
  query.Bind(11, static_cast<std::int64_t>(relay.failed)).Bind(12, interval.count());
  return query.Run().error();
}

class SqliteControlStore final : public ControlStore {
 public:
  explicit SqliteControlStore(const std::string& path) : connection_(path) {}

  Result<std::vector<RelayPause>> Beat(const ProcessInfo& process,
                                       std::span<const RelayBeat> relays,
                                       std::chrono::milliseconds interval,
                                       Deadline deadline) override {
    return Use(deadline, [&](Connection& on) -> Result<std::vector<RelayPause>> {
      OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(on));
      for (const RelayBeat& relay : relays) {
        OUTBOX_RETURN_IF_ERROR(BeatOne(on, process, relay, interval));
      }
      OUTBOX_RETURN_IF_ERROR(RemoveOld(on));
      OUTBOX_ASSIGN_OR_RETURN(auto pauses, ReadPauses(on));
      OUTBOX_RETURN_IF_ERROR(transaction.Commit());
      std::erase_if(pauses, [&](const RelayPause& pause) {
        return std::none_of(relays.begin(), relays.end(),
                            [&](const RelayBeat& relay) { return relay.table == pause.table; });
      });
      return pauses;
    });
  }

  Status Leave(const ProcessInfo& process, Deadline deadline) override {
    return Use(deadline, [&](Connection& on) -> Status {
      OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(Render(queries::kLeaveRelays)));
      return query.Bind(1, process.id).Run().error();
    });
  }

  Result<std::vector<ListedRelay>> Relays(Deadline deadline) override {
    return Use(deadline, [&](Connection& on) -> Result<std::vector<ListedRelay>> {
      OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(Render(queries::kListRelays)));
      query.Bind(1, static_cast<std::int64_t>(kControlRowsMax));
      return ReadAll(query, ReadRelay);
    });
  }

  Result<std::vector<RelayPause>> Pauses(Deadline deadline) override {
    return Use(deadline, ReadPauses);
  }

  Result<std::size_t> Pause(const RelayPause& pause, const Audit& audit,
                            Deadline deadline) override {
    return Use(deadline, [&](Connection& on) -> Result<std::size_t> {
      OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(on));
      OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(Render(queries::kPauseRelays)));
      query.Bind(1, pause.table).Bind(2, pause.sink).Bind(3, pause.by).Bind(4, pause.reason);
      OUTBOX_ASSIGN_OR_RETURN(const std::int64_t changed, query.Run());
      OUTBOX_RETURN_IF_ERROR(RecordTurn(on, "pause", pause.table, changed, audit));
      OUTBOX_RETURN_IF_ERROR(transaction.Commit());
      return static_cast<std::size_t>(changed);
    });
  }

  Result<std::size_t> Resume(const std::string& table, const std::string& sink, const Audit& audit,
                             Deadline deadline) override {
    return Use(deadline, [&](Connection& on) -> Result<std::size_t> {
      OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(on));
      OUTBOX_ASSIGN_OR_RETURN(const bool whole, IsPaused(on, table));
      if (!sink.empty() && whole) return WholeTableIsPaused(table);
      OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(Render(queries::kResumeRelays)));
      OUTBOX_ASSIGN_OR_RETURN(const std::int64_t changed, query.Bind(1, table).Bind(2, sink).Run());
      OUTBOX_RETURN_IF_ERROR(RecordTurn(on, "resume", table, changed, audit));
      OUTBOX_RETURN_IF_ERROR(transaction.Commit());
      return static_cast<std::size_t>(changed);
    });
  }

  Result<AuditPage> ListAudit(const AuditFilter& filter, Deadline deadline) override {
    return Use(deadline, [&](Connection& on) -> Result<AuditPage> {
      OUTBOX_ASSIGN_OR_RETURN(const auto place, ReadAuditPlace(filter));
      OUTBOX_ASSIGN_OR_RETURN(Query query,
                              on.Prepare(Render(filter.table.empty() ? queries::kListAudit
                                                                     : queries::kListAuditTable)));
      query.Bind(1, place.value_or(std::numeric_limits<std::int64_t>::max()));
      query.Bind(2, static_cast<std::int64_t>(filter.limit) + 1);
      if (!filter.table.empty()) query.Bind(3, filter.table);
      OUTBOX_ASSIGN_OR_RETURN(auto records, ReadAll(query, ReadAudit));
      return MakeAuditPage(std::move(records), filter.limit);
    });
  }

 private:
  template <typename Work>
  auto Use(Deadline deadline, Work work) -> decltype(work(std::declval<Connection&>())) {
    return connection_.Use(deadline,
                           [&](Connection& on) -> decltype(work(std::declval<Connection&>())) {
                             OUTBOX_ASSIGN_OR_RETURN(const bool there, HasControl(on));
                             if (!there) return ControlTablesMissing();
                             return work(on);
                           });
  }

  static Status RemoveOld(Connection& on) {
    OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(Render(queries::kRemoveOldRelays)));
    return query.Bind(1, static_cast<std::int64_t>(kOldRelaysRemovedMax)).Run().error();
  }

  static Result<bool> IsPaused(Connection& on, const std::string& table) {
    OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(Render(queries::kIsPaused)));
    return query.Bind(1, table).Step();
  }

  static Status RecordTurn(Connection& on, const char* action, const std::string& table,
                           std::int64_t changed, Audit audit) {
    if (changed == 0) return Status::Ok();
    audit.matched = static_cast<std::size_t>(changed);
    return RecordAudit(on, {.action = action,
                            .table = table,
                            .changed = static_cast<std::size_t>(changed),
                            .audit = std::move(audit)});
  }

  ConnectionSlot connection_;
};

}  // namespace

std::unique_ptr<ControlStore> OpenControlStore(const std::string& path) {
  return std::make_unique<SqliteControlStore>(path);
}

Status RecordAudit(Connection& connection, const AuditRecord& record) {
  OUTBOX_ASSIGN_OR_RETURN(const bool there, HasControl(connection));
  if (!there) return ControlTablesMissing();
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(Render(sql::sqlite::kRecordAudit)));
  query.Bind(1, record.audit.actor).Bind(2, record.action).Bind(3, record.table);
  query.Bind(4, record.audit.filter).Bind(5, static_cast<std::int64_t>(record.audit.matched));
  query.Bind(6, static_cast<std::int64_t>(record.changed)).Bind(7, record.audit.request_id);
  return query.Run().error();
}

}  // namespace outbox::store::sqlite
