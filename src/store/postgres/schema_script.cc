#include "store/postgres/schema_script.h"

#include "base/text.h"
#include "sql/postgres.h"
#include "store/postgres/fnv.h"
#include "store/postgres/work_watch.h"
#include "store/schema_check.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;

std::string SharedObjects() {
  return base::StrCat(
      queries::kSharedSchema, "\n", queries::kSharedControl, "\n", queries::kSharedAudit, "\n",
      queries::kSharedRules, "\n", queries::kSharedMessage, "\n", queries::kSharedEnqueueWrite,
      "\n", queries::kSharedEnqueue, "\n", queries::kSharedEnqueueMany, "\n",
      queries::kWriteEnqueue, "\n", queries::kSharedNotify, "\n", queries::kSharedGrants);
}

std::string RequireVersion(const message::TableName& table, int version) {
  return base::StrCat(R"(DO $outbox$
DECLARE
  found integer := (SELECT max(number) FROM outbox.migration WHERE table_name = ')",
                      table.Display(), R"(');
BEGIN
  IF found IS DISTINCT FROM )",
                      version, R"( THEN
    RAISE EXCEPTION 'outbox: )",
                      table.Display(), R"( is of version %, and this script upgrades version )",
                      version, R"(', coalesce(found, 0);
  END IF;
END
$outbox$;
)");
}

// A migration may have added a table, which is isolated like the others.
std::string KeepIsolation(const message::TableName& table) {
  return base::StrCat(table.Render(R"(DO $outbox$
BEGIN
  IF (SELECT relrowsecurity FROM pg_catalog.pg_class WHERE oid = '{{table}}'::regclass) THEN
    EXECUTE $isolation$
)"),
                      IsolationScript(table, true), R"($isolation$;
  END IF;
END
$outbox$;
)");
}

}  // namespace

std::string SharedVersion() {
  return base::StrCat("outboxd shared objects ", FnvHex(SharedObjects()));
}

std::string SharedScript() {
  return base::StrCat(SharedObjects(), "\nCOMMENT ON SCHEMA outbox IS '", SharedVersion(), "';\n");
}

std::string TopicsScript(const message::TableName& table, TopicRule rule) {
  return table.Render(rule == TopicRule::kStrict ? queries::kTableTopicsStrict
                                                 : queries::kTableTopicsRelaxed);
}

std::string NotifyScript(const message::TableName& table, bool on) {
  std::string script = table.Render(on ? queries::kTableNotifyOn : queries::kTableNotifyOff);
  constexpr std::string_view kPlaceholder = "{{channel}}";
  if (const std::size_t at = script.find(kPlaceholder); at != std::string::npos) {
    script.replace(at, kPlaceholder.size(), NotifyChannel(table));
  }
  return script;
}

std::string IsolationScript(const message::TableName& table, bool on) {
  return table.Render(on ? queries::kTableIsolationOn : queries::kTableIsolationOff);
}

std::string GrantsScript(const message::TableName& table) {
  return table.Render(queries::kTableGrants);
}

Result<std::string> CompleteScript(const message::TableName& table, const MigrateOptions& options,
                                   const PrintOptions& print) {
  const int latest = queries::kMigrations.back().number;
  OUTBOX_ASSIGN_OR_RETURN(const int to, CheckRange(print, latest));
  if (options.tenant_isolation && to != latest) {
    return Status::Invalid(base::StrCat("tenant isolation is of version ", latest))
        .WithHint("leave --to or --tenant-isolation out");
  }
  const bool creates = print.from == 0;
  std::string script = print.transaction ? "BEGIN;\n\n" : "";
  if (!creates) script += RequireVersion(table, print.from) + "\n";
  script += SharedScript();
  for (const sql::Migration& migration : queries::kMigrations) {
    if (migration.number <= print.from || migration.number > to) continue;
    script +=
        base::StrCat("\n", table.Render(migration.up),
                     "\nINSERT INTO outbox.migration (table_name, number, name) VALUES ('",
                     table.Display(), "', ", migration.number, ", '", migration.name, "');\n");
  }
  if (creates || options.topics) {
    script += "\n" + TopicsScript(table, options.topics.value_or(TopicRule::kStrict));
  }
  if (options.notify.value_or(false) || (options.notify && !creates)) {
    script += "\n" + NotifyScript(table, *options.notify);
  }
  if (options.tenant_isolation.value_or(false) || (options.tenant_isolation && !creates)) {
    script += "\n" + IsolationScript(table, *options.tenant_isolation);
  } else if (!creates && to == latest) {
    script += "\n" + KeepIsolation(table);
  }
  return base::StrCat(script, "\n", GrantsScript(table), "\n", queries::kWriteEnqueue,
                      print.transaction ? "\nCOMMIT;\n" : "");
}

}  // namespace outbox::store::postgres
