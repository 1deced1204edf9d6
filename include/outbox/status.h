// Status and Result<T>: how every outbox function that can fail says so.
//
// A Status answers the questions a caller acts on: may I try again, is it the message's fault, did
// it perhaps happen, is the sink down? The relay looks only at `disposition()`. `code()` is for
// programs that tell two errors apart (for instance "no transaction" from "transaction aborted").
//
// Thread-safety: values; distinct objects may be used from distinct threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace outbox {

// What happened, coarsely. Stable names: they appear in logs, `--json` output and metrics.
enum class Code : std::uint8_t {
  kOk,
  kInvalidArgument,     // the caller's input; nothing was sent anywhere
  kNoTransaction,       // enqueue outside an open transaction
  kTransactionAborted,  // enqueue in a transaction that has already failed
  kBusy,                // enqueue on a connection on which another statement is still running
  kNotFound,            // no such row, table, file
  kSchema,              // the table is not ours, or of an older or newer schema version
  kPermission,          // the database or the destination refused our credentials or role
  kUnavailable,         // cannot be reached now
  kDeadline,            // it took longer than it was allowed to
  kRejected,            // the destination looked at this message and refused it
  kConflict,            // somebody else holds it, or changed it first
  kCancelled,           // we were asked to stop
  kNotAttempted,        // a sink stopped before it came to this message
  kInternal,            // anything else; a bug if it is ours
};

// What to do about it.
enum class Disposition : std::uint8_t {
  kNone,       // success
  kRetry,      // this message failed now; trying it later may help
  kPermanent,  // trying this message again cannot help
  kInDoubt,    // it may have happened: try it again with the same message id
  kSinkDown,   // nothing is wrong with the message; the sink is down. No attempt is counted.
};

std::string_view ToString(Code code) noexcept;
std::string_view ToString(Disposition disposition) noexcept;

class [[nodiscard]] Status {
 public:
  // Success.
  Status() noexcept = default;

  // A failure. `message` is one line for people and names the thing that failed; it never contains
  // a payload or a secret.
  Status(Code code, Disposition disposition, std::string message)
      : code_(code), disposition_(disposition), message_(std::move(message)) {}

  static Status Ok() noexcept { return {}; }
  static Status Invalid(std::string message) {
    return {Code::kInvalidArgument, Disposition::kPermanent, std::move(message)};
  }
  static Status Retry(Code code, std::string message) {
    return {code, Disposition::kRetry, std::move(message)};
  }
  static Status Permanent(Code code, std::string message) {
    return {code, Disposition::kPermanent, std::move(message)};
  }
  static Status InDoubt(Code code, std::string message) {
    return {code, Disposition::kInDoubt, std::move(message)};
  }
  // The value of every result of a Publish until the sink sets it.
  static Status NotAttempted() {
    return {Code::kNotAttempted, Disposition::kRetry, "not attempted"};
  }
  // This message cannot be delivered for a while, by no fault of its own, and others can: it waits
  // for `wait`, and no attempt is counted.
  static Status Postponed(std::string message, std::chrono::milliseconds wait) {
    return Status(Code::kNotAttempted, Disposition::kRetry, std::move(message))
        .WithRetryAfter(wait);
  }
  static Status SinkDown(std::string message) {
    return {Code::kUnavailable, Disposition::kSinkDown, std::move(message)};
  }

  // Adds what a person can do about it; shown on its own line by the CLI.
  Status&& WithHint(std::string hint) && {
    hint_ = std::move(hint);
    return std::move(*this);
  }
  // Adds the other side's own code: an SQLSTATE, an SQLite code, an AMQP reply, an HTTP status.
  Status&& WithNative(std::string native) && {
    native_ = std::move(native);
    return std::move(*this);
  }
  // Adds how long the other side asks to be left alone. The relay waits for at least this long
  // (but not for more than a day) before it tries the message again.
  Status&& WithRetryAfter(std::chrono::milliseconds wait) && {
    retry_after_ = wait;
    return std::move(*this);
  }
  // Adds, to kSinkDown, that waiting cannot help: the destination wants no more messages. The relay
  // pauses itself until a person resumes it, instead of probing.
  Status&& WithPause() && {
    wants_pause_ = true;
    return std::move(*this);
  }

  bool ok() const noexcept { return code_ == Code::kOk; }
  Code code() const noexcept { return code_; }
  Disposition disposition() const noexcept { return disposition_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& hint() const noexcept { return hint_; }
  const std::string& native() const noexcept { return native_; }
  std::optional<std::chrono::milliseconds> retry_after() const noexcept { return retry_after_; }
  bool wants_pause() const noexcept { return wants_pause_; }
  bool postponed() const noexcept {
    return code_ == Code::kNotAttempted && disposition_ == Disposition::kRetry &&
           retry_after_.value_or(std::chrono::milliseconds(0)).count() > 0;
  }

  // "message (native)": one line, without the hint.
  std::string ToString() const;

 private:
  Code code_ = Code::kOk;
  Disposition disposition_ = Disposition::kNone;
  bool wants_pause_ = false;
  std::string message_;
  std::string hint_;
  std::string native_;
  std::optional<std::chrono::milliseconds> retry_after_;
};

// A value, or the Status that says why there is none. Member names follow std::expected, so that it
// can become an alias once the standard library has it. Reading the value of a failed Result is a
// bug and aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}       // NOLINT: implicit
  Result(Status error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool has_value() const noexcept { return state_.index() == 0; }
  bool ok() const noexcept { return has_value(); }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & { return Checked(*this); }
  const T& value() const& { return Checked(*this); }
  T&& value() && { return std::move(Checked(*this)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // The failure, or an OK Status when there is a value.
  Status error() const { return has_value() ? Status::Ok() : std::get<1>(state_); }

 private:
  template <typename Self>
  static auto& Checked(Self& self) {
    if (!self.has_value()) AbortOnMissingValue(std::get<1>(self.state_));
    return std::get<0>(self.state_);
  }

  std::variant<T, Status> state_;
};

// Prints the status and aborts: a Result was read without being checked.
[[noreturn]] void AbortOnMissingValue(const Status& status) noexcept;

}  // namespace outbox

// Returns the enclosing function early when `expr` is a failed Status.
#define OUTBOX_RETURN_IF_ERROR(expr)                                                           \
  do {                                                                                         \
    if (::outbox::Status outbox_status_ = (expr); !outbox_status_.ok()) return outbox_status_; \
  } while (false)

// `OUTBOX_ASSIGN_OR_RETURN(auto row, Fetch())`: the value, or an early return of the failure.
#define OUTBOX_ASSIGN_OR_RETURN(declaration, expr) \
  OUTBOX_ASSIGN_OR_RETURN_IMPL_(OUTBOX_CONCAT_(outbox_result_, __LINE__), declaration, expr)
#define OUTBOX_ASSIGN_OR_RETURN_IMPL_(result, declaration, expr) \
  auto result = (expr);                                          \
  if (!result.ok()) return result.error();                       \
  declaration = std::move(result).value()
#define OUTBOX_CONCAT_(a, b) OUTBOX_CONCAT_IMPL_(a, b)
#define OUTBOX_CONCAT_IMPL_(a, b) a##b
