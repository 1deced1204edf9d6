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

// All of it for one table, for psql. A script that upgrades refuses a table of another version than
// `print.from`, and leaves the options that are not given as they are.
Result<std::string> CompleteScript(const message::TableName& table, const MigrateOptions& options,
                                   const PrintOptions& print);

}  // namespace outbox::store::postgres
