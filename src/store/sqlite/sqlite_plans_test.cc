// Every query is served by the index its file names, and none of them sorts.
#include "sql/sqlite.h"
#include "store/sqlite/lease_table.h"
#include "store/sqlite/table.h"
#include "store/sqlite/test_database.h"

namespace outbox::store::sqlite {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Plan(Connection& connection, std::string_view sql) {
  const auto table = ParseTable(TestDatabase::kTable);
  auto query = connection.Prepare("EXPLAIN QUERY PLAN " + Render(*table, sql));
  EXPECT_OK(query);
  std::string plan;
  while (true) {
    const auto found = query->Step();
    EXPECT_OK(found);
    if (!found.ok() || !*found) return plan;
    plan += std::string(query->Text(3)) + "\n";
  }
}

TEST(Plans, UseTheIndexTheQueryNames) {
  TestDatabase database;
  const auto connection = database.Connect();
  const LeaseTable leases(*ParseTable(TestDatabase::kTable), RelayStoreOptions{});
  ASSERT_OK(leases.Register(*connection));
  const std::vector<std::pair<std::string_view, std::string>> expected = {
      {sql::sqlite::kClaim, "orders_outbox_claim"},
      {sql::sqlite::kFirstDue, "orders_outbox_claim"},
      {sql::sqlite::kPeekDue, "orders_outbox_claim"},
      {sql::sqlite::kUndrained, "orders_outbox_claim"},
      {sql::sqlite::kClaimDelivery, "PRIMARY KEY (seq=? AND destination=?)"},
      {sql::sqlite::kClaimDelivery, "orders_outbox_delivery_order"},
      {sql::sqlite::kDueDeliveries, "orders_outbox_delivery_claim"},
      {sql::sqlite::kFirstOfKey, "orders_outbox_delivery_order"},
      {sql::sqlite::kReadClaimed, "PRIMARY KEY (seq=? AND destination=?)"},
      {sql::sqlite::kPeekDueDelivery, "orders_outbox_delivery_claim"},
      {sql::sqlite::kUndrainedDelivery, "orders_outbox_delivery_claim"},
      {sql::sqlite::kSplitCandidates, "orders_outbox_claim"},
      {sql::sqlite::kSplitCandidates, "PRIMARY KEY (seq=?)"},
      {sql::sqlite::kSplitLease, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kSplitNoteCutOff, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kCompleteCandidates, "orders_outbox_claim (available_at=? AND seq>?)"},
      {sql::sqlite::kCompleteCandidates, "PRIMARY KEY (seq=?)"},
      {sql::sqlite::kWaitingDestinations, "orders_outbox_delivery_claim"},
      {sql::sqlite::kListDeliveries, "PRIMARY KEY"},
      {sql::sqlite::kListAttempts, "orders_outbox_attempt_message"},
      {sql::sqlite::kNoteAttempt, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kBuryExhausted, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kSettleKept, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kSettleDeleted, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kSettleRetry, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kSettleDead, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kSettleReleased, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kExtendLease, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kListLive, "orders_outbox_claim"},
      {sql::sqlite::kListDead, "orders_outbox_claim (available_at=? AND seq>?)"},
      {sql::sqlite::kListDelivered, "orders_outbox_processed"},
      {sql::sqlite::kListAggregate, "orders_outbox_aggregate"},
      {sql::sqlite::kListTenant, "orders_outbox_tenant_live"},
      {sql::sqlite::kListTenant, "orders_outbox_tenant_history"},
      {sql::sqlite::kPlaceTenant, "COVERING INDEX orders_outbox_tenant_live"},
      {sql::sqlite::kPlaceTenant, "COVERING INDEX orders_outbox_tenant_history"},
      {sql::sqlite::kCountTenant, "orders_outbox_tenant_live"},
      {sql::sqlite::kCountTenant, "orders_outbox_tenant_history"},
      {sql::sqlite::kStatsTenant, "orders_outbox_tenant_live"},
      {sql::sqlite::kStatsTenantDelivered, "COVERING INDEX orders_outbox_tenant_history"},
      {sql::sqlite::kTargetTenant, "orders_outbox_tenant_live"},
      {sql::sqlite::kGetMessage, "orders_outbox_id"},
      {sql::sqlite::kStatsLive, "orders_outbox_claim"},
      {sql::sqlite::kStatsDead, "orders_outbox_claim"},
      {sql::sqlite::kStatsDelivered, "orders_outbox_processed"},
      {sql::sqlite::kStatsOldest, "orders_outbox_claim"},
      {sql::sqlite::kStatsLastCounted, "orders_outbox_claim"},
      {sql::sqlite::kStatsSample, "SEARCH m USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
      {sql::sqlite::kStatsDeliveries, "orders_outbox_delivery_claim"},
      {sql::sqlite::kTargetIds, "orders_outbox_id"},
      {sql::sqlite::kTargetFiltered, "orders_outbox_claim"},
      {sql::sqlite::kTargetDeadDeliveries,
       "orders_outbox_delivery_claim (destination=? AND available_at=?)"},
      {sql::sqlite::kTargetDeadDeliveries, "orders_outbox_delivery_claim (destination>?)"},
      {sql::sqlite::kTargetDeadDeliveries, "INTEGER PRIMARY KEY (rowid=?)"},
      {sql::sqlite::kTargetDeadDeliveries, "PRIMARY KEY (seq=? AND destination<?)"},
      {sql::sqlite::kPurgeDelivered, "orders_outbox_processed"},
      {sql::sqlite::kPurgeDead, "orders_outbox_claim"},
      {sql::sqlite::kCountUndelivered, "orders_outbox_claim"},
      {sql::sqlite::kLeaveRelays, "PRIMARY KEY"},
      {sql::sqlite::kResumeRelays, "PRIMARY KEY"},
      {sql::sqlite::kIsPaused, "PRIMARY KEY"},
      {sql::sqlite::kListAudit, "INTEGER PRIMARY KEY"},
      {sql::sqlite::kListAuditTable, "outbox_audit_table"},
      {sql::sqlite::kPurgeAudit, "outbox_audit_table"},
      {sql::sqlite::kPurgeAudit, "INTEGER PRIMARY KEY"},
  };
  for (const auto& [sql, index] : expected) {
    const std::string plan = Plan(*connection, sql);
    EXPECT_THAT(plan, HasSubstr(index)) << sql;
    EXPECT_THAT(plan, Not(HasSubstr("TEMP B-TREE"))) << sql;
  }
}

}  // namespace
}  // namespace outbox::store::sqlite
