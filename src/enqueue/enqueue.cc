#include "outbox/enqueue.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "enqueue/encode.h"
#include "message/table_name.h"
#include "message/validate.h"
#if OUTBOX_WITH_POSTGRES
#include "sql/postgres.h"
#endif
#if OUTBOX_WITH_SQLITE
#include "sql/sqlite.h"
#endif

namespace outbox {
namespace {

using base::StrCat;
using enqueue::EncodeMany;
using message::TableName;
using Param = Executor::Param;

// How often an insert is tried when the row in its way vanishes before it can be read: a relay
// that deletes at ack may remove it in between.
constexpr int kTriesMax = 3;

// How the statements that add messages end. Looking out for a message that is there already costs
// PostgreSQL a search, a lock and a log record more: it is left out for messages that can not be,
// because they were given their id a moment ago and have no other identity.
constexpr std::string_view kAddNew = "RETURNING id, seq";
constexpr std::string_view kAddOnce = "ON CONFLICT DO NOTHING RETURNING id, seq";

struct Statements {
  std::string_view enqueue;
  std::string_view enqueue_many;
  std::string_view find_enqueued;
  int schema_version;  // the newest whose columns they write
};

Result<Statements> StatementsFor(Dialect dialect) {
#if OUTBOX_WITH_POSTGRES
  if (dialect == Dialect::kPostgres) {
    return Statements{sql::postgres::kEnqueue, sql::postgres::kEnqueueMany,
                      sql::postgres::kFindEnqueued, sql::postgres::kMigrations.back().number};
  }
#endif
#if OUTBOX_WITH_SQLITE
  if (dialect == Dialect::kSqlite) {
    return Statements{sql::sqlite::kEnqueue, sql::sqlite::kEnqueueMany, sql::sqlite::kFindEnqueued,
                      sql::sqlite::kMigrations.back().number};
  }
#endif
  return Status::Invalid("this build of outbox has no support for the transaction's database");
}

Status CheckTransaction(const Executor& transaction) {
  switch (transaction.transaction_state()) {
    case TransactionState::kOpen: return Status::Ok();
    case TransactionState::kNone:
      return Status::Permanent(Code::kNoTransaction, "enqueue: no transaction is open")
          .WithHint("BEGIN first: the message must commit together with the change it describes");
    case TransactionState::kAborted:
      return Status::Permanent(Code::kTransactionAborted,
                               "enqueue: the transaction has already failed")
          .WithHint("roll back and start again");
    case TransactionState::kBusy:
      return Status::Permanent(Code::kBusy,
                               "enqueue: a statement is still running on this connection")
          .WithHint("fetch all its results first (or end the COPY, or leave pipeline mode)");
  }
  return Status::Ok();
}

Status CheckMessages(std::span<const NewMessage> messages, const EnqueueOptions& options) {
  if (messages.size() > kEnqueueManyMax) {
    return Status::Invalid(
        StrCat("messages: ", messages.size(), " are more than ", kEnqueueManyMax, " at once"));
  }
  std::size_t bytes = 0;
  for (const NewMessage& message : messages) {
    bytes += message.payload.size();
    for (const auto& [name, value] : message.headers) bytes += name.size() + value.size();
  }
  if (messages.size() > 1 && bytes > kEnqueueManyBytesMax) {
    return Status::Invalid(StrCat("messages: have ", bytes,
                                  " bytes of payloads and headers in all, ", "over the limit of ",
                                  kEnqueueManyBytesMax))
        .WithHint("enqueue them in several calls; the transaction may be one");
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Status status = message::Validate(messages[i], options);
    if (status.ok()) continue;
    if (messages.size() == 1) return status;
    return Status::Invalid(StrCat("messages[", i, "].", status.message())).WithHint(status.hint());
  }
  return Status::Ok();
}

Result<Enqueued> ReadEnqueued(const Param& id, const Param& seq) {
  Enqueued enqueued;
  const auto parsed = id ? Uuid::Parse(*id) : std::nullopt;
  if (!parsed || !seq ||
      std::from_chars(seq->data(), seq->data() + seq->size(), enqueued.seq).ec != std::errc()) {
    return Status::Permanent(Code::kInternal, "enqueue: the database returned an unreadable row");
  }
  enqueued.id = *parsed;
  return enqueued;
}

bool MayBeThereAlready(const NewMessage& message) {
  return message.id.has_value() || !message.dedupe_key.empty();
}

// An executor knows no table: which one it is, and the command that helps, is said here.
Status NameTable(const Status& status, const std::string& table, int schema_version) {
  const std::string migrate = StrCat("run: outboxd migrate up --table ", table);
  if (status.code() == Code::kNotFound) {
    return Status(status).WithHint(migrate);
  }
  if (status.code() == Code::kSchema) {
    return Status::Permanent(Code::kSchema,
                             StrCat("table ", table, " does not fit schema version ",
                                    schema_version, " of this library: ", status.message()))
        .WithHint(StrCat(migrate, "; if the table is newer, use a newer release of the library"))
        .WithNative(status.native());
  }
  return status;
}

// One EnqueueMany (or Enqueue) call.
class Writer {
 public:
  Writer(Executor& transaction, const TableName& table, const Statements& statements,
         std::span<const NewMessage> messages)
      : transaction_(transaction), table_(table), statements_(statements), messages_(messages) {
    ids_.reserve(messages.size());
    for (const NewMessage& message : messages) {
      ids_.push_back(message.id ? *message.id : Uuid::NewV7());
    }
  }

  Result<std::vector<Enqueued>> Run() {
    std::vector<std::size_t> missing(messages_.size());
    for (std::size_t i = 0; i < missing.size(); ++i) missing[i] = i;
    results_.resize(messages_.size());
    for (int tries = 0; !missing.empty(); ++tries) {
      if (tries == kTriesMax) {
        return Status::Retry(Code::kConflict,
                             "enqueue: the message in the way kept appearing and vanishing");
      }
      OUTBOX_RETURN_IF_ERROR(Insert(missing));
      if (!missing.empty()) OUTBOX_RETURN_IF_ERROR(FindFirst(missing));
    }
    return std::move(results_);
  }

 private:
  // Inserts the messages at `missing` and leaves there those that no row was added for.
  Status Insert(std::vector<std::size_t>& missing) {
    std::vector<std::vector<Param>> rows;
    rows.reserve(missing.size());
    for (const std::size_t i : missing) {
      auto fields = enqueue::Encode(messages_[i], ids_[i], transaction_.dialect());
      rows.emplace_back(std::make_move_iterator(fields.begin()),
                        std::make_move_iterator(fields.end()));
    }
    const bool one = rows.size() == 1;
    const auto params = one ? std::move(rows.front()) : EncodeMany(rows, transaction_.dialect());
    const bool once = std::any_of(missing.begin(), missing.end(), [this](std::size_t i) {
      return MayBeThereAlready(messages_[i]);
    });
    const auto sql = StrCat(table_.Render(one ? statements_.enqueue : statements_.enqueue_many),
                            once ? kAddOnce : kAddNew);
    OUTBOX_ASSIGN_OR_RETURN(const auto added, transaction_.Execute(sql, params));

    std::map<Uuid, Enqueued> added_by_id;
    for (const auto& row : added) {
      OUTBOX_ASSIGN_OR_RETURN(const Enqueued enqueued, ReadEnqueued(row.at(0), row.at(1)));
      added_by_id.emplace(enqueued.id, enqueued);
    }
    std::erase_if(missing, [&](std::size_t i) {
      const auto found = added_by_id.find(ids_[i]);
      if (found == added_by_id.end()) return false;
      results_[i] = found->second;
      added_by_id.erase(found);  // a second message with the same id is a duplicate
      return true;
    });
    return Status::Ok();
  }

  Status FindFirst(std::vector<std::size_t>& missing) {
    std::vector<std::vector<Param>> rows;
    for (const std::size_t i : missing) {
      const NewMessage& message = messages_[i];
      rows.push_back({ids_[i].ToString(), message.name_space, message.topic,
                      message.dedupe_key.empty() ? Param() : Param(message.dedupe_key)});
    }
    OUTBOX_ASSIGN_OR_RETURN(const auto found,
                            transaction_.Execute(table_.Render(statements_.find_enqueued),
                                                 EncodeMany(rows, transaction_.dialect())));
    std::vector<bool> settled(missing.size());
    for (const auto& row : found) {
      const std::string text = row.at(0).value_or("");
      std::size_t position = 0;
      std::from_chars(text.data(), text.data() + text.size(), position);
      if (position < 1 || position > missing.size()) continue;
      OUTBOX_ASSIGN_OR_RETURN(Enqueued enqueued, ReadEnqueued(row.at(1), row.at(2)));
      enqueued.already_enqueued = true;
      results_[missing[position - 1]] = enqueued;
      settled[position - 1] = true;
    }
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (!settled[i]) left.push_back(missing[i]);
    }
    missing = std::move(left);
    return Status::Ok();
  }

  Executor& transaction_;
  const TableName& table_;
  const Statements& statements_;
  std::span<const NewMessage> messages_;
  std::vector<Uuid> ids_;
  std::vector<Enqueued> results_;
};

}  // namespace

Result<std::vector<Enqueued>> EnqueueMany(Executor& transaction, std::string_view table,
                                          std::span<const NewMessage> messages,
                                          const EnqueueOptions& options) {
  const bool postgres = transaction.dialect() == Dialect::kPostgres;
  OUTBOX_ASSIGN_OR_RETURN(const TableName name,
                          TableName::Parse(table, postgres ? "public" : "main"));
  OUTBOX_ASSIGN_OR_RETURN(const Statements statements, StatementsFor(transaction.dialect()));
  OUTBOX_RETURN_IF_ERROR(CheckTransaction(transaction));
  OUTBOX_RETURN_IF_ERROR(CheckMessages(messages, options));
  const std::string label = postgres ? name.Display() : name.name();
  auto written = Writer(transaction, name, statements, messages).Run();
  if (!written.ok()) return NameTable(written.error(), label, statements.schema_version);
  std::vector<Enqueued> results = std::move(written).value();
  if (options.observer != nullptr) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      options.observer->OnEnqueued(label, messages[i].topic, results[i].already_enqueued);
    }
  }
  return results;
}

Result<Enqueued> Enqueue(Executor& transaction, std::string_view table, const NewMessage& message,
                         const EnqueueOptions& options) {
  OUTBOX_ASSIGN_OR_RETURN(const auto results,
                          EnqueueMany(transaction, table, std::span(&message, 1), options));
  return results.front();
}

}  // namespace outbox
