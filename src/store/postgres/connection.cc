#include "store/postgres/connection.h"

#include <poll.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/detached_thread.h"
#include "base/failpoint.h"
#include "base/text.h"
#include "sql/postgres.h"
#include "store/postgres/classify_error.h"

namespace outbox::store::postgres {
namespace {

enum class Readiness : std::uint8_t { kReady, kTimedOut, kFailed };

Readiness WaitForSocket(int socket, short events, Deadline deadline) {
  pollfd entry{socket, events, 0};
  for (;;) {
    const int count = poll(&entry, 1, static_cast<int>(deadline.remaining().count()));
    if (count > 0) return Readiness::kReady;
    if (count == 0) return Readiness::kTimedOut;
    if (errno != EINTR) return Readiness::kFailed;
  }
}

bool IsFailure(const PGresult* result) {
  switch (PQresultStatus(result)) {
    case PGRES_BAD_RESPONSE:
    case PGRES_FATAL_ERROR:
    case PGRES_PIPELINE_ABORTED: return true;
    case PGRES_EMPTY_QUERY:
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_COPY_OUT:
    case PGRES_COPY_IN:
    case PGRES_NONFATAL_ERROR:
    case PGRES_COPY_BOTH:
    case PGRES_SINGLE_TUPLE:
    case PGRES_PIPELINE_SYNC: break;
  }
  return false;
}

constexpr int kBinaryResult = 1;
constexpr int kTextResult = 0;

}  // namespace

Connection::Connection(std::shared_ptr<const Address> address, Plans plans)
    : address_(std::move(address)), plans_(plans) {}

Connection::~Connection() { Close(); }

void Connection::Close() noexcept {
  session_.store(0, std::memory_order_release);
  handle_.reset();
  prepared_.clear();
}

bool Connection::Healthy() {
  if (handle_ == nullptr) return false;
  // A server that goes says so first; the end of the connection comes behind its last words.
  constexpr int kReadsMax = 3;
  for (int reads = 0; reads < kReadsMax; ++reads) {
    if (PQconsumeInput(handle_.get()) != 1 || PQstatus(handle_.get()) != CONNECTION_OK) {
      Close();
      return false;
    }
    pollfd more{PQsocket(handle_.get()), POLLIN, 0};
    if (poll(&more, 1, 0) <= 0) break;
  }
  return true;
}

std::string Connection::encoding() const {
  const char* name = PQparameterStatus(handle_.get(), "server_encoding");
  return name != nullptr ? name : "";
}

TransactionState Connection::transaction_state() const noexcept {
  switch (PQtransactionStatus(handle_.get())) {
    case PQTRANS_INTRANS:
    case PQTRANS_ACTIVE: return TransactionState::kOpen;
    case PQTRANS_INERROR: return TransactionState::kAborted;
    case PQTRANS_IDLE:
    case PQTRANS_UNKNOWN: break;
  }
  return TransactionState::kNone;
}

Status Connection::Open(Deadline deadline) {
  const bool in_transaction = transaction_state() != TransactionState::kNone;
  if (Healthy()) return Status::Ok();
  if (in_transaction) {
    return Status::Retry(Code::kUnavailable,
                         "PostgreSQL: the connection was lost in the middle of a transaction");
  }
  Status status = Connect(deadline);
  if (status.ok()) status = Greet(deadline);
  if (!status.ok()) {
    Close();
    return status;
  }
  session_.store(++sessions_opened_, std::memory_order_release);
  return status;
}

Status Connection::Connect(Deadline deadline) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : address_->parameters()) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  handle_.reset(PQconnectStartParams(keywords.data(), values.data(), 0));
  if (handle_ == nullptr) return Status::Retry(Code::kUnavailable, "PostgreSQL: out of memory");
  PQsetErrorVerbosity(handle_.get(), PQERRORS_VERBOSE);
  // The server's notices (IF NOT EXISTS …) are not for the standard error stream.
  PQsetNoticeProcessor(
      handle_.get(), [](void*, const char*) {}, nullptr);
  return PollConnect(deadline);
}

Status Connection::PollConnect(Deadline deadline) {
  PostgresPollingStatusType step = PGRES_POLLING_WRITING;
  while (PQstatus(handle_.get()) != CONNECTION_BAD) {
    if (step == PGRES_POLLING_OK) {
      PQsetnonblocking(handle_.get(), 1);
      return Status::Ok();
    }
    if (step == PGRES_POLLING_FAILED) break;
    const short events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (WaitForSocket(PQsocket(handle_.get()), events, deadline) != Readiness::kReady) {
      return Status::Retry(Code::kDeadline, base::StrCat("PostgreSQL at ", address_->description(),
                                                         " does not answer in time"))
          .WithHint("check host, port and firewall");
    }
    step = PQconnectPoll(handle_.get());
  }
  return ClassifyConnectFailure(PQerrorMessage(handle_.get()));
}

Status Connection::Greet(Deadline deadline) {
  static const Statement& kAsk = *new Statement(sql::postgres::kBackendPid);
  static const Statement& kPin = *new Statement(sql::postgres::kPinPlans);
  static const Statement& kPinSession = *new Statement(sql::postgres::kPinSession);
  pooled_ = false;
  prepare_ = false;
  const Params none;
  if (!Send(kAsk, none)) return LostBeforeSending();
  auto answer = Finish(deadline);
  if (!answer.ok()) return answer.error();
  pooled_ = Rows(std::move(answer).value()).Int4(0, 0) != PQbackendPID(handle_.get());
  if (pooled_) return Status::Ok();
  // Somebody behind a pooler that was not recognised would inherit it.
  if (address_->prepare()) {
    if (!Send(kPinSession, none)) return LostBeforeSending();
    OUTBOX_RETURN_IF_ERROR(Finish(deadline).error());
  }
  if (plans_ == Plans::kFresh) return Status::Ok();
  if (!Send(kPin, none)) return LostBeforeSending();
  auto pinned = Finish(deadline);
  prepare_ = address_->prepare();
  return pinned.error();
}

Status Connection::EnterSession(std::optional<SessionId> session, Deadline deadline) {
  if (!session) return Open(deadline);
  if (Healthy() && *session == this->session()) return Status::Ok();
  return Status::Retry(Code::kUnavailable, "PostgreSQL: the connection was lost");
}

bool Connection::Send(const Statement& statement, const Params& params) {
  const auto values = params.Values();
  if (prepare_ && prepared_.contains(statement.name)) {
    return PQsendQueryPrepared(handle_.get(), statement.name.c_str(), params.size(), values.data(),
                               params.lengths(), params.formats(), kBinaryResult) == 1;
  }
  return PQsendQueryParams(handle_.get(), statement.text.c_str(), params.size(), nullptr,
                           values.data(), params.lengths(), params.formats(), kBinaryResult) == 1;
}

Status Connection::Prepare(const Statement& statement, Deadline deadline) {
  if (!prepare_ || prepared_.contains(statement.name)) return Status::Ok();
  if (PQsendPrepare(handle_.get(), statement.name.c_str(), statement.text.c_str(), 0, nullptr) !=
      1) {
    return LostBeforeSending();
  }
  const auto prepared = Finish(deadline);
  if (!prepared.ok()) {
    if (!IsForeignPreparedStatement(prepared.error().native())) return prepared.error();
    prepare_ = false;
    return Status::Ok();
  }
  prepared_.insert(statement.name);
  return Status::Ok();
}

Status Connection::Await(Deadline deadline) {
  for (;;) {
    const int unsent = PQflush(handle_.get());
    if (unsent < 0) return LostAfterSending();
    if (PQisBusy(handle_.get()) == 0) return Status::Ok();
    const auto events = static_cast<short>(unsent == 0 ? POLLIN : POLLIN | POLLOUT);
    switch (WaitForSocket(PQsocket(handle_.get()), events, deadline)) {
      case Readiness::kReady: break;
      case Readiness::kFailed: return LostAfterSending();
      case Readiness::kTimedOut:
        CancelAndClose();
        return Status::InDoubt(Code::kDeadline, "PostgreSQL: no answer by the deadline")
            .WithHint("look for locks and load in pg_stat_activity");
    }
    if (PQconsumeInput(handle_.get()) == 0) return LostAfterSending();
  }
}

Result<ResultHandle> Connection::NextResult(Deadline deadline) {
  OUTBOX_RETURN_IF_ERROR(Await(deadline));
  return ResultHandle(PQgetResult(handle_.get()));
}

Result<ResultHandle> Connection::Finish(Deadline deadline) {
  ResultHandle last;
  Status failure;
  for (;;) {
    auto next = NextResult(deadline);
    if (!next.ok()) return failure.ok() ? next.error() : failure;
    ResultHandle result = std::move(next).value();
    if (result == nullptr) break;
    if (failure.ok() && IsFailure(result.get())) failure = ClassifyResult(result.get());
    last = std::move(result);
  }
  if (PQstatus(handle_.get()) != CONNECTION_OK) return LostAfterSending();
  if (!failure.ok()) return failure;
  return last;
}

Result<Rows> Connection::Execute(const Statement& statement, const Params& params,
                                 Deadline deadline, std::optional<SessionId> session) {
  OUTBOX_RETURN_IF_ERROR(EnterSession(session, deadline));
  OUTBOX_RETURN_IF_ERROR(Prepare(statement, deadline));
  if (!Send(statement, params)) return LostBeforeSending();
  if (!statement.failpoint.empty()) base::Failpoint(statement.failpoint);
  auto result = Finish(deadline);
  if (!result.ok() && prepare_ && IsForeignPreparedStatement(result.error().native())) {
    // Nothing ran. In a transaction of the caller's the failure has already voided it.
    prepare_ = false;
    if (transaction_state() != TransactionState::kNone) return result.error();
    if (!Send(statement, params)) return LostBeforeSending();
    result = Finish(deadline);
  }
  if (!result.ok()) {
    if (IsStalePlan(result.error())) Close();
    return result.error();
  }
  return Rows(std::move(result).value());
}

Result<std::vector<Rows>> Connection::Pipeline(std::span<const Step> steps, Deadline deadline,
                                               std::optional<SessionId> session) {
  OUTBOX_RETURN_IF_ERROR(EnterSession(session, deadline));
  for (const Step& step : steps) {
    // Statements without parameters are BEGIN, COMMIT and the like: nothing to gain by preparing.
    if (step.params->size() > 0) OUTBOX_RETURN_IF_ERROR(Prepare(*step.statement, deadline));
  }
  OUTBOX_CHECK(PQenterPipelineMode(handle_.get()) == 1);
  bool sent = true;
  for (const Step& step : steps) sent = sent && Send(*step.statement, *step.params);
  // Nothing takes effect before the synchronisation point, so up to here nothing has happened.
  if (!sent || PQpipelineSync(handle_.get()) != 1) return LostBeforeSending();
  std::vector<Rows> rows;
  const Status status = ReadPipeline(steps.size(), deadline, rows);
  if (session_.load(std::memory_order_relaxed) == 0) return status;
  PQexitPipelineMode(handle_.get());
  if (status.ok()) return rows;
  if (IsForeignPreparedStatement(status.native())) prepare_ = false;
  if (IsStalePlan(status)) {
    Close();
    return status;
  }
  RollBackLeftover(deadline);
  return status;
}

Status Connection::ReadPipeline(std::size_t steps, Deadline deadline, std::vector<Rows>& rows) {
  Status failure;
  for (std::size_t i = 0; i < steps; ++i) {
    auto result = NextResult(deadline);
    if (!result.ok()) return result.error();
    if (failure.ok() && IsFailure(result->get())) failure = ClassifyResult(result->get());
    rows.emplace_back(std::move(result).value());
    // Each step's results end in a null one.
    if (const auto end = NextResult(deadline); !end.ok()) return end.error();
    if (PQstatus(handle_.get()) != CONNECTION_OK) return LostAfterSending();
  }
  const auto sync = NextResult(deadline);
  if (!sync.ok()) return sync.error();
  if (PQresultStatus(sync->get()) != PGRES_PIPELINE_SYNC) return LostAfterSending();
  return failure;
}

void Connection::RollBackLeftover(Deadline deadline) {
  if (transaction_state() == TransactionState::kNone) return;
  static const Statement& kRollback = *new Statement("ROLLBACK");
  const Params none;
  if (!Send(kRollback, none) || !Finish(deadline).ok()) Close();
}

Status Connection::Run(const std::string& script, Deadline deadline) {
  OUTBOX_RETURN_IF_ERROR(Open(deadline));
  if (PQsendQuery(handle_.get(), script.c_str()) != 1) return LostBeforeSending();
  return Finish(deadline).error();
}

Result<std::vector<Executor::Row>> Connection::ExecuteText(const std::string& sql,
                                                           std::span<const Executor::Param> params,
                                                           Deadline deadline) {
  OUTBOX_RETURN_IF_ERROR(Open(deadline));
  std::vector<const char*> values;
  for (const auto& param : params) values.push_back(param ? param->c_str() : nullptr);
  if (PQsendQueryParams(handle_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                        values.data(), nullptr, nullptr, kTextResult) != 1) {
    return LostBeforeSending();
  }
  OUTBOX_ASSIGN_OR_RETURN(ResultHandle result, Finish(deadline));
  const Rows rows(std::move(result));
  std::vector<Executor::Row> texts(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    for (int column = 0; column < rows.columns(); ++column) {
      auto& cell = texts[static_cast<std::size_t>(row)].emplace_back();
      if (!rows.null(row, column)) cell = rows.Text(row, column);
    }
  }
  return texts;
}

std::optional<std::string> Connection::NextNotification() {
  if (!Healthy()) return std::nullopt;
  const NotifyHandle notification(PQnotifies(handle_.get()));
  if (notification == nullptr) return std::nullopt;
  return notification->extra;
}

void Connection::CancelAndClose() {
  // PQcancel connects anew and blocks; a deadline that has passed leaves no time for that. Without
  // the request the server would finish the statement for nobody.
  if (CancelHandle cancel{PQgetCancel(handle_.get())}) {
    base::Detach([owned = std::move(cancel)] {
      char ignored[256];
      PQcancel(owned.get(), ignored, sizeof ignored);
    });
  }
  Close();
}

Status Connection::LostAfterSending() {
  const std::string reason = base::CleanError(base::Trim(PQerrorMessage(handle_.get())), 200);
  Close();
  return Status::InDoubt(Code::kUnavailable,
                         base::StrCat("PostgreSQL: the connection was lost: ", reason));
}

Status Connection::LostBeforeSending() {
  const std::string reason = base::CleanError(base::Trim(PQerrorMessage(handle_.get())), 200);
  Close();
  return Status::Retry(Code::kUnavailable,
                       base::StrCat("PostgreSQL: the statement could not be sent: ", reason));
}

}  // namespace outbox::store::postgres
