#include "store/postgres/schema_script.h"

#include "base/text.h"
#include "sql/postgres.h"
#include "store/postgres/fnv.h"
#include "store/postgres/work_watch.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;

std::string SharedObjects() {
  return base::StrCat(queries::kSharedSchema, "\n", queries::kSharedControl, "\n",
                      queries::kSharedAudit, "\n", queries::kSharedRules, "\n",
                      queries::kSharedEnqueue, "\n", queries::kSharedEnqueueMany, "\n",
                      queries::kSharedNotify, "\n", queries::kSharedGrants);
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

std::string CompleteScript(const message::TableName& table, const MigrateOptions& options) {
  std::string script = base::StrCat("BEGIN;\n\n", SharedScript());
  for (const sql::Migration& migration : queries::kMigrations) {
    script +=
        base::StrCat("\n", table.Render(migration.up),
                     "\nINSERT INTO outbox.migration (table_name, number, name) VALUES ('",
                     table.Display(), "', ", migration.number, ", '", migration.name, "');\n");
  }
  script += "\n" + TopicsScript(table, options.topics.value_or(TopicRule::kStrict));
  if (options.notify.value_or(false)) script += "\n" + NotifyScript(table, true);
  if (options.tenant_isolation.value_or(false)) script += "\n" + IsolationScript(table, true);
  return base::StrCat(script, "\n", GrantsScript(table), "\nCOMMIT;\n");
}

}  // namespace outbox::store::postgres
