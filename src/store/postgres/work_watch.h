// Work watch: wakes the relay when producers commit, by LISTEN on the table's channel.
//
// The channel is "outbox_" and the 16 hexadecimal digits of FNV-1a over "schema.table"; the table's
// notify trigger (`outboxd migrate up --notify`) sends to it.
//
// A thread and a connection of its own. After a lost connection it connects again, waiting longer
// from try to try, and reports work once it listens, for what it may have missed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "message/table_name.h"
#include "outbox/deadline.h"
#include "store/postgres/address.h"
#include "store/relay_store.h"

namespace outbox::store::postgres {

std::string NotifyChannel(const message::TableName& table);

// Listens, and proves that a notification arrives within two seconds. Fails when it does not (a
// pooler in between, for one); the caller then relies on polling.
Result<std::unique_ptr<Watch>> StartWorkWatch(const std::shared_ptr<const Address>& address,
                                              const message::TableName& table,
                                              std::function<void()> on_work, Deadline deadline);

}  // namespace outbox::store::postgres
