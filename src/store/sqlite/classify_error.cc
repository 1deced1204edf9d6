#include "store/sqlite/classify_error.h"

#include <sqlite3.h>

#include <string>

#include "base/text.h"

namespace outbox::store::sqlite {
namespace {

struct Meaning {
  Code code;
  Disposition disposition;
  std::string_view text;  // follows the path
  std::string_view hint;
};

constexpr std::size_t kDetailBytesMax = 300;

Meaning MeaningOfPrimary(int primary) {
  using enum Disposition;
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::kUnavailable, kRetry, "is locked by another writer",
              "look for a long transaction in another process that uses this file"};
    case SQLITE_INTERRUPT:
      return {Code::kDeadline, kRetry, "did not answer within the time allowed", ""};
    case SQLITE_FULL:
      return {Code::kUnavailable, kRetry, "can not grow: the disk (or its page limit) is full",
              "free space on the file system; nothing is lost, work goes on by itself then"};
    case SQLITE_IOERR:
      return {Code::kUnavailable, kRetry, "could not be read or written",
              "look at the disk and at the kernel's log"};
    case SQLITE_PROTOCOL:
      return {Code::kUnavailable, kRetry, "could not be locked",
              "the file system's locks must work; WAL does not work on network file systems"};
    case SQLITE_NOMEM: return {Code::kUnavailable, kRetry, "ran out of memory", ""};
    case SQLITE_READONLY:
      return {Code::kPermission, kPermanent, "is read-only",
              "give this user write permission for the file and for its folder"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Code::kPermission, kPermanent, "refused access",
              "give this user read and write permission for the file and for its folder"};
    case SQLITE_CANTOPEN:
      return {Code::kUnavailable, kRetry, "can not be opened",
              "check the path and the permissions of the file and of its folder"};
    case SQLITE_CORRUPT:
      return {Code::kInternal, kPermanent, "is damaged",
              "stop its writers, keep a copy, then recover it: sqlite3 FILE .recover"};
    case SQLITE_NOTADB:
      return {Code::kInvalidArgument, kPermanent, "is not an SQLite database",
              "check the path; an encrypted or foreign file can not be used"};
    case SQLITE_CONSTRAINT: return {Code::kRejected, kPermanent, "refused a row", ""};
    case SQLITE_TOOBIG:
      return {Code::kRejected, kPermanent, "refused a value that is too long", ""};
    case SQLITE_SCHEMA: return {Code::kSchema, kRetry, "changed its schema meanwhile", ""};
    default: return {Code::kInternal, kPermanent, "answered with an error", ""};
  }
}

Meaning MeaningOf(int code) {
  using enum Disposition;
  switch (code) {
    case SQLITE_READONLY_DBMOVED:
      return {Code::kUnavailable, kRetry, "was moved or deleted while it was open",
              "the file that has this path now is used from here on; messages in the old one stay "
              "there"};
    case SQLITE_IOERR_NOMEM: return {Code::kUnavailable, kRetry, "ran out of memory", ""};
    case SQLITE_IOERR_CORRUPTFS:
      return {Code::kInternal, kPermanent, "lies on a damaged file system", "check the disk"};
    case SQLITE_CONSTRAINT_TRIGGER:
      return {Code::kInvalidArgument, kPermanent, "refused a row",
              "follow the rule that is named, or relax it: outboxd migrate up --table T --topics "
              "relaxed"};
    default: return MeaningOfPrimary(code & 0xff);
  }
}

Status ToStatus(int code, const Meaning& meaning, std::string_view path, std::string_view detail) {
  std::string message = base::StrCat("sqlite '", path, "' ", meaning.text);
  if (!detail.empty()) {
    message += base::StrCat(": ", base::CleanError(detail, kDetailBytesMax));
  }
  return Status(meaning.code, meaning.disposition, std::move(message))
      .WithHint(std::string(meaning.hint))
      .WithNative(base::StrCat("SQLite ", code));
}

}  // namespace

Status ClassifyError(int code, std::string_view path, std::string_view detail) {
  // SQLite has no codes of its own for these.
  if (code == SQLITE_ERROR && detail.starts_with("no such table")) {
    const Meaning missing{Code::kNotFound, Disposition::kPermanent, "lacks a table",
                          "check its name, or create it: outboxd migrate up --table T"};
    return ToStatus(code, missing, path, detail);
  }
  if (code == SQLITE_ERROR && detail.ends_with("already exists")) {
    const Meaning taken{Code::kConflict, Disposition::kPermanent, "has something of that name",
                        "rename it, or choose another name for the table"};
    return ToStatus(code, taken, path, detail);
  }
  return ToStatus(code, MeaningOf(code), path, detail);
}

bool RefusesRow(const Status& status) {
  return status.code() == Code::kRejected ||
         status.native() == base::StrCat("SQLite ", SQLITE_CONSTRAINT_TRIGGER);
}

Status ClassifyCommitError(int code, std::string_view path, std::string_view detail) {
  Meaning meaning = MeaningOf(code);
  if ((code & 0xff) == SQLITE_IOERR) meaning.disposition = Disposition::kInDoubt;
  return ToStatus(code, meaning, path, detail);
}

}  // namespace outbox::store::sqlite
