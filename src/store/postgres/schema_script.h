// Schema script: the SQL that creates and changes the schema, put together from sql/postgres.
#pragma once

#include <string>

#include "message/table_name.h"
#include "outbox/enqueue.h"
#include "store/migrator.h"

namespace outbox::store::postgres {

// The schema `outbox`, its roles, functions and grants; ends by signing itself with SharedVersion.
std::string SharedScript();
// A comment on the schema that changes whenever the script does.
std::string SharedVersion();

std::string TopicsScript(const message::TableName& table, TopicRule rule);
std::string NotifyScript(const message::TableName& table, bool on);
std::string IsolationScript(const message::TableName& table, bool on);
std::string GrantsScript(const message::TableName& table);

// All of it for one new table, as one transaction for psql.
std::string CompleteScript(const message::TableName& table, const MigrateOptions& options);

}  // namespace outbox::store::postgres
