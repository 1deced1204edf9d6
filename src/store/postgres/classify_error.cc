#include "store/postgres/classify_error.h"

#include <array>
#include <optional>
#include <string>

#include "base/text.h"

namespace outbox::store::postgres {
namespace {

using enum Disposition;

constexpr std::size_t kMessageBytesMax = 400;

struct Rule {
  std::string_view prefix;  // of the SQLSTATE: two characters are a class, five are one state
  Code code;
  Disposition disposition;
  std::string_view hint;
};

constexpr std::string_view kGrantHint =
    "grant outbox_relay (relay, operators) or outbox_producer (applications) to this role";
constexpr std::string_view kMigrateHint =
    "create or upgrade the table: outboxd migrate up --table T";
constexpr std::string_view kNameTakenHint =
    "something else has that name: rename it, or choose another name for the table";
constexpr std::string_view kLoginHint = "check user, password and pg_hba.conf";
// Our own sessions choose the level; behind a pooler there are none.
constexpr std::string_view kIsolationHint =
    "behind a pooler: ALTER ROLE … SET default_transaction_isolation = 'read committed'";
constexpr std::string_view kServerHint =
    "the database is not ready: it starts, stops or is overloaded";

// A single state stands before its class: the first match counts.
constexpr std::array kRules{
    Rule{"08", Code::kUnavailable, kRetry, kServerHint},
    Rule{"0A", Code::kInternal, kPermanent,
         "the server can not do this; PostgreSQL 13 or newer is needed"},
    Rule{"21", Code::kInternal, kPermanent, ""},
    Rule{"22", Code::kInvalidArgument, kPermanent, ""},
    Rule{"23", Code::kInvalidArgument, kPermanent, ""},
    Rule{"25006", Code::kUnavailable, kRetry,
         "the server is read-only, perhaps a standby; or default_transaction_read_only is on for "
         "this role or database"},
    Rule{"25P02", Code::kTransactionAborted, kPermanent, "roll the transaction back"},
    Rule{"25P03", Code::kUnavailable, kRetry, "raise idle_in_transaction_session_timeout"},
    Rule{"25", Code::kInternal, kPermanent, ""},
    Rule{"26", Code::kUnavailable, kRetry, "behind a pooler, add prepare=off to the address"},
    Rule{"28", Code::kPermission, kPermanent, kLoginHint},
    Rule{"3D", Code::kNotFound, kPermanent,
         "check the database name in the address, or create it: createdb NAME"},
    Rule{"3F", Code::kNotFound, kPermanent, kMigrateHint},
    Rule{"40003", Code::kUnavailable, kInDoubt, ""},
    Rule{"40001", Code::kConflict, kRetry, kIsolationHint},
    Rule{"40", Code::kConflict, kRetry, ""},
    Rule{"42501", Code::kPermission, kPermanent, kGrantHint},
    Rule{"42P01", Code::kNotFound, kPermanent, kMigrateHint},
    Rule{"42P07", Code::kConflict, kPermanent, kNameTakenHint},
    Rule{"42710", Code::kConflict, kPermanent, kNameTakenHint},
    Rule{"42P05", Code::kUnavailable, kRetry, "behind a pooler, add prepare=off to the address"},
    Rule{"42", Code::kSchema, kPermanent, kMigrateHint},
    Rule{"53100", Code::kUnavailable, kRetry, "the server's disk is full"},
    Rule{"53300", Code::kUnavailable, kRetry, "raise max_connections or use a pooler"},
    Rule{"53", Code::kUnavailable, kRetry, kServerHint},
    Rule{"54", Code::kInvalidArgument, kPermanent, ""},
    Rule{"55", Code::kConflict, kRetry, ""},
    Rule{"57014", Code::kDeadline, kRetry, "the statement was cancelled or timed out"},
    Rule{"57P04", Code::kNotFound, kPermanent, "the database was dropped"},
    Rule{"57", Code::kUnavailable, kRetry, kServerHint},
    Rule{"58", Code::kUnavailable, kRetry, kServerHint},
    Rule{"P0", Code::kInvalidArgument, kPermanent, ""},
    Rule{"XX", Code::kInternal, kRetry, "the server reports an internal error; see its log"},
};

// Shared with whatever else a server does not support.
constexpr std::string_view kStalePlan = "0A000";

constexpr Rule kUnknown{"", Code::kInternal, kPermanent, ""};

const Rule& RuleFor(std::string_view sqlstate) noexcept {
  for (const Rule& rule : kRules) {
    if (sqlstate.starts_with(rule.prefix)) return rule;
  }
  return kUnknown;
}

std::string Field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text != nullptr ? text : "";
}

constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kSqlstateChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr std::string_view kOptionChars = "abcdefghijklmnopqrstuvwxyz_";
constexpr std::size_t kSqlstateSize = 5;

struct ServerError {
  std::string sqlstate;
  std::string text;
};

// libpq does not hand out the SQLSTATE of a refused connection, but its verbose text has it:
// "FATAL:  28P01: password authentication failed".
std::optional<ServerError> FindServerError(std::string_view message) {
  for (std::size_t colon = message.find(": "); colon != std::string_view::npos;
       colon = message.find(": ", colon + 1)) {
    if (colon == 0 || kCapitals.find(message[colon - 1]) == std::string_view::npos) continue;
    const std::size_t state = message.find_first_not_of(' ', colon + 1);
    if (state == std::string_view::npos) return std::nullopt;
    const std::string_view rest = message.substr(state);
    if (rest.find_first_not_of(kSqlstateChars) != kSqlstateSize) continue;
    if (!rest.substr(kSqlstateSize).starts_with(": ")) continue;
    const std::string_view text = rest.substr(kSqlstateSize + 2);
    return ServerError{std::string(rest.substr(0, kSqlstateSize)),
                       std::string(text.substr(0, text.find('\n')))};
  }
  return std::nullopt;
}

// The option of which libpq says: invalid ... for connection option "NAME". Empty when it says
// something else.
std::string OptionWithBadValue(std::string_view message) {
  constexpr std::string_view kBefore = " for connection option \"";
  const std::size_t at = message.find(kBefore);
  if (at == std::string_view::npos) return "";
  if (message.substr(0, at).find("invalid ") == std::string_view::npos) return "";
  const std::string_view option = message.substr(at + kBefore.size());
  const std::size_t end = option.find_first_not_of(kOptionChars);
  if (end == 0 || end == std::string_view::npos || option[end] != '"') return "";
  return std::string(option.substr(0, end));
}

}  // namespace

Status ClassifyError(std::string_view sqlstate, std::string_view message, std::string_view hint) {
  const Rule& rule = RuleFor(sqlstate.size() == 5 ? sqlstate : "");
  return Status(rule.code, rule.disposition,
                base::StrCat("PostgreSQL: ", base::CleanError(message, kMessageBytesMax)))
      .WithHint(std::string(hint.empty() ? rule.hint : hint))
      .WithNative(std::string(sqlstate));
}

Status ClassifyResult(const PGresult* result) {
  // The message may be in any language; the name of the function is not.
  if (Field(result, PG_DIAG_SQLSTATE) == kStalePlan &&
      Field(result, PG_DIAG_SOURCE_FUNCTION) == "RevalidateCachedQuery") {
    return Status::Retry(Code::kUnavailable,
                         "PostgreSQL: the table was altered; the statement has to be planned anew")
        .WithHint("it is tried again with a new connection")
        .WithNative(std::string(kStalePlan));
  }
  return ClassifyError(Field(result, PG_DIAG_SQLSTATE), Field(result, PG_DIAG_MESSAGE_PRIMARY),
                       base::CleanError(Field(result, PG_DIAG_MESSAGE_HINT), kMessageBytesMax));
}

Status ClassifyConnectFailure(std::string_view message) {
  if (const auto error = FindServerError(message)) {
    return ClassifyError(error->sqlstate, error->text);
  }
  // libpq quotes the value, which may be half a password.
  if (const std::string option = OptionWithBadValue(message); !option.empty()) {
    return Status::Invalid(base::StrCat("database address: ", option, ": not a valid value"));
  }
  const std::string_view first_line = base::Trim(message.substr(0, message.find('\n')));
  return Status::Retry(Code::kUnavailable, base::StrCat("PostgreSQL can not be reached: ",
                                                        base::CleanError(first_line, 200)))
      .WithHint("check host and port in the address, and that the server runs");
}

bool IsForeignPreparedStatement(std::string_view sqlstate) noexcept {
  return sqlstate == "26000" || sqlstate == "42P05";
}

bool IsStalePlan(const Status& status) noexcept {
  return status.native() == kStalePlan && status.disposition() == Disposition::kRetry;
}

bool RefusesRow(const Status& status) noexcept {
  if (status.disposition() != Disposition::kPermanent) return false;
  // A trigger may raise any state, also one that nobody knows.
  return status.code() == Code::kInvalidArgument ||
         (&RuleFor(status.native()) == &kUnknown && !status.native().empty());
}

bool IsLockFailure(std::string_view sqlstate) noexcept {
  return sqlstate == "55P03" || sqlstate == "40P01";
}

}  // namespace outbox::store::postgres
