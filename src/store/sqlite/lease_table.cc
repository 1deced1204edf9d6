#include "store/sqlite/lease_table.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "message/validate.h"
#include "sql/sqlite.h"
#include "store/attempt.h"
#include "store/sqlite/table.h"

namespace outbox::store::sqlite {
namespace {

namespace queries = sql::sqlite;

// SQL: outbox_topic_wanted(topic). The user data are the patterns.
void TopicWanted(sqlite3_context* context, int, sqlite3_value** values) noexcept {
  const auto* patterns = static_cast<const std::vector<std::string>*>(sqlite3_user_data(context));
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  const std::string_view topic(text == nullptr ? "" : text,
                               static_cast<std::size_t>(sqlite3_value_bytes(values[0])));
  const bool wanted = std::any_of(
      patterns->begin(), patterns->end(),
      [&](const std::string& pattern) { return message::TopicMatches(pattern, topic); });
  sqlite3_result_int(context, wanted ? 1 : 0);
}

Result<std::vector<Message>> ReadTaken(Query& query, const message::TableName& table,
                                       const std::string& destination,
                                       std::unordered_set<std::int64_t>* ordered = nullptr) {
  std::vector<Message> messages;
  while (true) {
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return messages;
    messages.push_back(ReadMessage(query, table));
    messages.back().destination = destination;
    messages.back().in_doubt = query.Int(kMessageColumns) != 0;
    if (ordered != nullptr && query.Int(kMessageColumns + 1) != 0) {
      ordered->insert(messages.back().seq);
    }
  }
}

std::int64_t ToMilliseconds(Timestamp at) {
  return std::chrono::floor<std::chrono::milliseconds>(at).time_since_epoch().count();
}

std::string JsonArray(std::span<const std::int64_t> numbers) {
  std::string list = "[";
  for (const std::int64_t number : numbers) {
    list += base::StrCat(list.size() > 1 ? "," : "", number);
  }
  return list + "]";
}

}  // namespace

LeaseTable::LeaseTable(const message::TableName& table, const RelayStoreOptions& options)
    : LeaseTable(table, options,
                 options.destination.empty() ? LeasedRows::kMessages : LeasedRows::kDeliveries) {}

LeaseTable::LeaseTable(const message::TableName& table, const RelayStoreOptions& options,
                       LeasedRows rows_leased)
    : table_(table),
      filter_(options.filter),
      tenant_(filter_.tenant_id ? filter_.tenant_id->ToString() : ""),
      rows_(rows_leased),
      destination_(options.destination),
      any_completes_(options.completion == Completion::kAny),
      keep_messages_(options.keep_delivered),
      history_(options.attempt_history),
      worker_(options.relay_id),
      last_error_bytes_max_(static_cast<std::int64_t>(options.last_error_bytes_max)) {
  const bool messages = rows_ == LeasedRows::kMessages;
  const message::TableName rows = messages ? table : table.Deliveries();
  // Delivered deliveries stay as long as their message does.
  const bool keep = keep_messages_ || !messages;
  take_ = Render(table, messages ? queries::kClaim : queries::kClaimDelivery);
  take_these_ = Render(table, queries::kSplitLease);
  first_due_ = Render(table, queries::kFirstDue);
  look_ = Render(table, queries::kDueDeliveries);
  first_ = Render(table, queries::kFirstOfKey);
  due_ = Render(table, messages ? queries::kPeekDue : queries::kPeekDueDelivery);
  undrained_ = Render(table, messages ? queries::kUndrained : queries::kUndrainedDelivery);
  read_taken_ = Render(table, queries::kReadClaimed);
  complete_ = Render(table, queries::kCompleteMessage);
  remove_ = Render(table, queries::kRemoveCompleted);
  bury_ = Render(rows, queries::kBuryExhausted);
  delivered_ = Render(rows, keep ? queries::kSettleKept : queries::kSettleDeleted);
  retry_ = Render(rows, queries::kSettleRetry);
  dead_ = Render(rows, queries::kSettleDead);
  released_ = Render(rows, queries::kSettleReleased);
  postponed_ = Render(rows, queries::kSettlePostponed);
  extend_ = Render(rows, queries::kExtendLease);
  note_ = Render(rows, queries::kNoteAttempt);
  note_cut_off_ = Render(table, messages ? queries::kNoteCutOff : queries::kNoteCutOffDelivery);
}

std::string LeaseTable::leader_name() const {
  return destination_.empty() ? table_.name() : base::StrCat(table_.name(), "-", destination_);
}

Status LeaseTable::Register(Connection& connection) const {
  auto* patterns = const_cast<std::vector<std::string>*>(&filter_.topics);
  const int code = sqlite3_create_function_v2(connection.handle(), "outbox_topic_wanted", 1,
                                              SQLITE_UTF8 | SQLITE_DETERMINISTIC, patterns,
                                              TopicWanted, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return connection.LastError();
  return history_ == AttemptHistory::kOff ? Status::Ok() : connection.Execute(note_cut_off_);
}

Result<Taken> LeaseTable::Take(Connection& connection, std::string_view token,
                               const ClaimRequest& request,
                               std::span<const std::int64_t> aside) const {
  if (rows_ == LeasedRows::kDeliveries) {
    OUTBOX_ASSIGN_OR_RETURN(const Looked looked, Look(connection, {.limit = request.limit}));
    return TakeThese(connection, token, request, looked.seqs);
  }
  OUTBOX_ASSIGN_OR_RETURN(auto rows, TakeMessages(connection, token, request, aside));
  return Sort(connection, token, request, std::move(rows));
}

Result<Looked> LeaseTable::Look(Connection& connection, const LookRequest& request) const {
  OUTBOX_CHECK(rows_ == LeasedRows::kDeliveries);
  Looked looked;
  std::unordered_map<std::string, std::int64_t> first;
  OUTBOX_ASSIGN_OR_RETURN(Query due, connection.Prepare(look_));
  due.Bind(1, destination_).Bind(2, ToMilliseconds(request.after.available_at));
  due.Bind(3, request.after.seq);
  std::string key;
  for (std::size_t rows = 0; rows < request.page && looked.seqs.size() < request.limit; ++rows) {
    OUTBOX_ASSIGN_OR_RETURN(const bool found, due.Step());
    looked.to_end = !found;
    if (!found) break;
    const std::int64_t seq = due.Int(0);
    looked.last = {Timestamp(std::chrono::milliseconds(due.Int(2))), seq};
    if (!due.IsNull(1)) {
      key = due.Text(1);
      auto known = first.find(key);
      if (known == first.end()) {
        OUTBOX_ASSIGN_OR_RETURN(const First first_of_key, FirstOf(connection, key));
        known = first.emplace(key, first_of_key.seq).first;
      }
      if (known->second != seq) {
        looked.waiting = true;
        continue;
      }
    }
    looked.seqs.push_back(seq);
  }
  return looked;
}

Result<LeaseTable::First> LeaseTable::FirstOf(Connection& connection, std::string_view key) const {
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(first_));
  OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Bind(1, destination_).Bind(2, key).Step());
  return found ? First{.seq = query.Int(0), .due = query.Int(1) != 0} : First{};
}

Result<Taken> LeaseTable::TakeThese(Connection& connection, std::string_view token,
                                    const ClaimRequest& request,
                                    std::span<const std::int64_t> seqs) const {
  if (seqs.empty()) return Taken{};
  std::vector<Message> rows;
  std::unordered_set<std::int64_t> ordered;
  if (rows_ == LeasedRows::kDeliveries) {
    OUTBOX_ASSIGN_OR_RETURN(rows, TakeDeliveries(connection, token, request, seqs, ordered));
  } else {
    const std::string list = JsonArray(seqs);
    OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(take_these_));
    query.Bind(1, token).Bind(2, request.lease.count()).Bind(3, list);
    OUTBOX_ASSIGN_OR_RETURN(rows, ReadTaken(query, table_, destination_));
  }
  OUTBOX_ASSIGN_OR_RETURN(Taken taken, Sort(connection, token, request, std::move(rows)));
  taken.ordered = std::move(ordered);
  return taken;
}

Result<Taken> LeaseTable::Sort(Connection& connection, std::string_view token,
                               const ClaimRequest& request, std::vector<Message> rows) const {
  Taken taken;
  for (Message& message : rows) {
    const bool exhausted = request.attempts_max && message.attempt > *request.attempts_max;
    if (exhausted) --message.attempt;
    (exhausted ? taken.exhausted : taken.messages).push_back(std::move(message));
  }
  OUTBOX_RETURN_IF_ERROR(Bury(connection, token, taken.exhausted));
  // RETURNING promises no order.
  std::sort(taken.messages.begin(), taken.messages.end(), [](const Message& a, const Message& b) {
    return std::tie(a.available_at, a.seq) < std::tie(b.available_at, b.seq);
  });
  return taken;
}

Result<std::vector<Message>> LeaseTable::TakeMessages(Connection& connection,
                                                      std::string_view token,
                                                      const ClaimRequest& request,
                                                      std::span<const std::int64_t> aside) const {
  const std::string left_alone = JsonArray(aside);
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(take_));
  query.Bind(1, token)
      .Bind(2, request.lease.count())
      .Bind(3, static_cast<std::int64_t>(request.limit))
      .Bind(4, filter_.name_space)
      .Bind(6, filter_.topics.empty() ? 0 : 1);
  if (filter_.tenant_id) query.Bind(5, tenant_);
  if (!aside.empty()) query.Bind(7, left_alone);
  return ReadTaken(query, table_, destination_);
}

Result<std::optional<LeaseTable::FirstDue>> LeaseTable::FindFirstDue(
    Connection& connection, std::span<const std::int64_t> aside) const {
  OUTBOX_CHECK(rows_ == LeasedRows::kMessages);
  const std::string left_alone = JsonArray(aside);
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(first_due_));
  query.Bind(1, filter_.name_space).Bind(3, filter_.topics.empty() ? 0 : 1);
  if (filter_.tenant_id) query.Bind(2, tenant_);
  if (!aside.empty()) query.Bind(4, left_alone);
  OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
  if (!found) return std::optional<FirstDue>();
  return std::optional(FirstDue{.seq = query.Int(0), .id = std::string(query.Text(1))});
}

Result<std::vector<Message>> LeaseTable::TakeDeliveries(
    Connection& connection, std::string_view token, const ClaimRequest& request,
    std::span<const std::int64_t> seqs, std::unordered_set<std::int64_t>& ordered) const {
  std::vector<std::int64_t> taken;
  {
    const std::string list = JsonArray(seqs);
    OUTBOX_ASSIGN_OR_RETURN(Query take, connection.Prepare(take_));
    take.Bind(1, token).Bind(2, request.lease.count()).Bind(3, list).Bind(4, destination_);
    while (true) {
      OUTBOX_ASSIGN_OR_RETURN(const bool found, take.Step());
      if (!found) break;
      taken.push_back(take.Int(0));
    }
  }
  const std::string list = JsonArray(taken);
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(read_taken_));
  query.Bind(1, list).Bind(2, destination_);
  return ReadTaken(query, table_, destination_, &ordered);
}

Status LeaseTable::Bury(Connection& connection, std::string_view token,
                        std::span<const Message> messages) const {
  for (const Message& message : messages) {
    OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(bury_));
    OUTBOX_RETURN_IF_ERROR(query.Bind(1, message.seq).Bind(2, token).Run().error());
    OUTBOX_RETURN_IF_ERROR(Complete(connection, message));
  }
  return Status::Ok();
}

Status LeaseTable::Complete(Connection& connection, const Message& message) const {
  if (rows_ == LeasedRows::kMessages) return Status::Ok();
  OUTBOX_ASSIGN_OR_RETURN(Query complete, connection.Prepare(complete_));
  complete.Bind(1, message.seq).Bind(2, any_completes_ ? 1 : 0).Bind(3, last_error_bytes_max_);
  OUTBOX_RETURN_IF_ERROR(complete.Run().error());
  if (keep_messages_) return Status::Ok();
  OUTBOX_ASSIGN_OR_RETURN(Query remove, connection.Prepare(remove_));
  return remove.Bind(1, message.seq).Run().error();
}

Result<SettleReport> LeaseTable::Settle(Connection& connection, std::string_view token,
                                        std::span<const Message> messages,
                                        std::span<const Outcome> outcomes) const {
  SettleReport report;
  for (const Outcome& outcome : outcomes) {
    OUTBOX_CHECK(outcome.index < messages.size());
    OUTBOX_ASSIGN_OR_RETURN(const bool ours,
                            SettleOne(connection, token, messages[outcome.index], outcome));
    if (!ours) report.lost.push_back(outcome.index);
  }
  return report;
}

Status LeaseTable::GiveBack(Connection& connection, std::string_view token,
                            std::span<const Message> messages) const {
  for (const Message& message : messages) {
    OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(released_));
    OUTBOX_RETURN_IF_ERROR(query.Bind(1, message.seq).Bind(2, token).Run().error());
  }
  return Status::Ok();
}

Status LeaseTable::Note(Connection& connection, std::string_view token, const Message& message,
                        const Outcome& outcome) const {
  // A message that is deleted takes its attempts along.
  const bool gone = outcome.kind == Outcome::Kind::kDelivered && !keep_messages_ &&
                    rows_ == LeasedRows::kMessages;
  if (gone || !IsNoted(history_, outcome)) return Status::Ok();
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(note_));
  query.Bind(1, message.seq)
      .Bind(2, token)
      .Bind(3, destination_)
      .Bind(4, worker_)
      .Bind(5, ToString(ResultOf(outcome.kind)));
  if (outcome.error_class != Disposition::kNone) query.Bind(6, ToString(outcome.error_class));
  const bool failed = outcome.kind != Outcome::Kind::kDelivered;
  if (failed && !outcome.error.empty()) query.Bind(7, outcome.error);
  return query.Run().error();
}

Result<bool> LeaseTable::SettleOne(Connection& connection, std::string_view token,
                                   const Message& message, const Outcome& outcome) const {
  OUTBOX_RETURN_IF_ERROR(Note(connection, token, message, outcome));
  const auto statement = [&]() -> const std::string& {
    switch (outcome.kind) {
      case Outcome::Kind::kDelivered: return delivered_;
      case Outcome::Kind::kRetry: return retry_;
      case Outcome::Kind::kDead: return dead_;
      case Outcome::Kind::kReleased: return outcome.postponed() ? postponed_ : released_;
    }
    return released_;
  };
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(statement()));
  query.Bind(1, message.seq).Bind(2, token);
  const std::string_view error = outcome.error;
  if (outcome.kind == Outcome::Kind::kRetry || outcome.postponed()) {
    query.Bind(3, outcome.retry_in.count()).Bind(4, error);
  }
  if (outcome.kind == Outcome::Kind::kDead) query.Bind(3, error);
  OUTBOX_ASSIGN_OR_RETURN(const std::int64_t changed, query.Run());
  const bool decided =
      outcome.kind == Outcome::Kind::kDelivered || outcome.kind == Outcome::Kind::kDead;
  if (changed > 0 && decided) OUTBOX_RETURN_IF_ERROR(Complete(connection, message));
  return changed > 0;
}

Result<bool> LeaseTable::Extend(Connection& connection, std::string_view token,
                                const Message& message, std::chrono::milliseconds lease) const {
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(extend_));
  query.Bind(1, message.seq).Bind(2, token).Bind(3, lease.count());
  OUTBOX_ASSIGN_OR_RETURN(const std::int64_t changed, query.Run());
  return changed > 0;
}

Result<bool> LeaseTable::Due(Connection& connection) const { return Exists(connection, due_); }

Result<bool> LeaseTable::Undrained(Connection& connection) const {
  return Exists(connection, undrained_);
}

Result<bool> LeaseTable::Exists(Connection& connection, const std::string& sql) const {
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql));
  if (rows_ == LeasedRows::kDeliveries) return query.Bind(1, destination_).Step();
  query.Bind(1, filter_.name_space).Bind(3, filter_.topics.empty() ? 0 : 1);
  if (filter_.tenant_id) query.Bind(2, tenant_);
  return query.Step();
}

}  // namespace outbox::store::sqlite
