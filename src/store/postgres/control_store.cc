#include "store/postgres/control_store.h"

#include "sql/postgres.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;

// A table that is not there: what kNotFound means to these statements.
Status ExplainMissing(const Status& status) {
  return status.code() == Code::kNotFound ? ControlTablesMissing() : status;
}

std::vector<RelayPause> ReadPauses(const Rows& rows) {
  std::vector<RelayPause> pauses;
  pauses.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    pauses.push_back({.table = std::string(rows.Text(row, 0)),
                      .sink = std::string(rows.Text(row, 1)),
                      .since = rows.Time(row, 2),
                      .by = std::string(rows.Text(row, 3)),
                      .reason = std::string(rows.Text(row, 4))});
  }
  return pauses;
}

ListedRelay ReadRelay(const Rows& rows, int row) {
  ListedRelay listed;
  listed.process = {.id = std::string(rows.Text(row, 0)),
                    .host = std::string(rows.Text(row, 1)),
                    .pid = rows.Int4(row, 2),
                    .version = std::string(rows.Text(row, 3))};
  RelayBeat& relay = listed.relay;
  relay.table = rows.Text(row, 4);
  relay.sink = rows.Text(row, 5);
  relay.state = rows.Text(row, 6);
  if (!rows.null(row, 7)) relay.leading = rows.Bool(row, 7);
  relay.in_flight = static_cast<std::uint64_t>(rows.Int8(row, 8));
  relay.delivered = static_cast<std::uint64_t>(rows.Int8(row, 9));
  relay.failed = static_cast<std::uint64_t>(rows.Int8(row, 10));
  listed.started_at = rows.Time(row, 11);
  listed.beat_at = rows.Time(row, 12);
  listed.beat_age = std::chrono::milliseconds(rows.Int8(row, 13));
  listed.gone = rows.Bool(row, 14);
  return listed;
}

AuditRecord ReadAudit(const Rows& rows, int row) {
  return {.number = rows.Int8(row, 0),
          .at = rows.Time(row, 1),
          .action = std::string(rows.Text(row, 3)),
          .table = std::string(rows.Text(row, 4)),
          .changed = static_cast<std::size_t>(rows.Int8(row, 7)),
          .audit = {.actor = std::string(rows.Text(row, 2)),
                    .request_id = std::string(rows.Text(row, 8)),
                    .filter = std::string(rows.Text(row, 5)),
                    .matched = static_cast<std::size_t>(rows.Int8(row, 6))}};
}

// The relays' columns, one array each.
void AddRelays(Params& params, std::span<const RelayBeat> relays) {
  std::vector<std::string> tables, sinks, states;
  std::vector<std::int16_t> leading;
  std::vector<std::int64_t> in_flight, delivered, failed;
  for (const RelayBeat& relay : relays) {
    tables.push_back(relay.table);
    sinks.push_back(relay.sink);
    states.push_back(relay.state);
    leading.push_back(relay.leading ? static_cast<std::int16_t>(*relay.leading) : std::int16_t{-1});
    in_flight.push_back(static_cast<std::int64_t>(relay.in_flight));
    delivered.push_back(static_cast<std::int64_t>(relay.delivered));
    failed.push_back(static_cast<std::int64_t>(relay.failed));
  }
  params.TextArray(tables).TextArray(sinks).TextArray(states).Int2Array(leading);
  params.Int8Array(in_flight).Int8Array(delivered).Int8Array(failed);
}

}  // namespace

Status RecordAudit(Connection& connection, const AuditRecord& record, Deadline deadline,
                   Connection::SessionId session) {
  static const Statement& kRecord = *new Statement(queries::kRecordAudit);
  Params params;
  params.Text(record.audit.actor).Text(record.action).Text(record.table).Text(record.audit.filter);
  params.Int8(static_cast<std::int64_t>(record.audit.matched));
  params.Int8(static_cast<std::int64_t>(record.changed)).Text(record.audit.request_id);
  return ExplainMissing(connection.Execute(kRecord, params, deadline, session).error());
}

Result<Rows> PostgresControlStore::Ask(const Statement& statement, const Params& params,
                                       Deadline deadline) {
  Result<Rows> rows = connection_.Execute(statement, params, deadline);
  if (!rows.ok()) return ExplainMissing(rows.error());
  return rows;
}

Result<std::vector<RelayPause>> PostgresControlStore::Beat(const ProcessInfo& process,
                                                           std::span<const RelayBeat> relays,
                                                           std::chrono::milliseconds interval,
                                                           Deadline deadline) {
  static const Statement& kBeat = *new Statement(queries::kBeatRelays);
  Params params;
  params.Text(process.id).Text(process.host).Int4(process.pid).Text(process.version);
  params.Int8(interval.count());
  AddRelays(params, relays);
  params.Int8(static_cast<std::int64_t>(kOldRelaysRemovedMax));
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, Ask(kBeat, params, deadline));
  return ReadPauses(rows);
}

Status PostgresControlStore::Leave(const ProcessInfo& process, Deadline deadline) {
  static const Statement& kLeave = *new Statement(queries::kLeaveRelays);
  Params params;
  params.Text(process.id);
  return Ask(kLeave, params, deadline).error();
}

Result<std::vector<ListedRelay>> PostgresControlStore::Relays(Deadline deadline) {
  static const Statement& kList = *new Statement(queries::kListRelays);
  Params params;
  params.Int8(static_cast<std::int64_t>(kControlRowsMax));
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, Ask(kList, params, deadline));
  std::vector<ListedRelay> relays;
  relays.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) relays.push_back(ReadRelay(rows, row));
  return relays;
}

Result<std::vector<RelayPause>> PostgresControlStore::Pauses(Deadline deadline) {
  static const Statement& kList = *new Statement(queries::kListPauses);
  Params params;
  params.Int8(static_cast<std::int64_t>(kControlRowsMax));
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, Ask(kList, params, deadline));
  return ReadPauses(rows);
}

Result<std::size_t> PostgresControlStore::Pause(const RelayPause& pause, const Audit& audit,
                                                Deadline deadline) {
  static const Statement& kPause = *new Statement(queries::kPauseRelays);
  Params params;
  params.Text(pause.table).Text(pause.sink).Text(pause.by).Text(pause.reason);
  params.Text(audit.filter).Text(audit.request_id);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, Ask(kPause, params, deadline));
  return static_cast<std::size_t>(rows.Int8(0, 0));
}

Result<std::size_t> PostgresControlStore::Resume(const std::string& table, const std::string& sink,
                                                 const Audit& audit, Deadline deadline) {
  static const Statement& kIsPaused = *new Statement(queries::kIsPaused);
  static const Statement& kResume = *new Statement(queries::kResumeRelays);
  if (!sink.empty()) {
    Params whole;
    whole.Text(table);
    OUTBOX_ASSIGN_OR_RETURN(const Rows paused, Ask(kIsPaused, whole, deadline));
    if (paused.Bool(0, 0)) return WholeTableIsPaused(table);
  }
  Params params;
  params.Text(table).Text(sink).Text(audit.actor).Text(audit.filter).Text(audit.request_id);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, Ask(kResume, params, deadline));
  return static_cast<std::size_t>(rows.Int8(0, 0));
}

Result<AuditPage> PostgresControlStore::ListAudit(const AuditFilter& filter, Deadline deadline) {
  static const Statement& kList = *new Statement(queries::kListAudit);
  static const Statement& kListTable = *new Statement(queries::kListAuditTable);
  OUTBOX_ASSIGN_OR_RETURN(const auto place, ReadAuditPlace(filter));
  Params params;
  place ? params.Int8(*place) : params.Null();
  params.Int8(static_cast<std::int64_t>(filter.limit) + 1);
  if (!filter.table.empty()) params.Text(filter.table);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows,
                          Ask(filter.table.empty() ? kList : kListTable, params, deadline));
  std::vector<AuditRecord> records;
  records.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) records.push_back(ReadAudit(rows, row));
  return MakeAuditPage(std::move(records), filter.limit);
}

}  // namespace outbox::store::postgres
