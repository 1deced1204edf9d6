#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <vector>

#include "store/sqlite/classify_error.h"

namespace outbox::store::sqlite {
namespace {

using ::testing::HasSubstr;

struct Case {
  int code;
  Code meaning;
  Disposition disposition;
  const char* text;
};

const std::vector<Case>& Cases() {
  using enum Disposition;
  static const std::vector<Case> cases = {
      {SQLITE_BUSY, Code::kUnavailable, kRetry, "locked by another writer"},
      {SQLITE_BUSY_SNAPSHOT, Code::kUnavailable, kRetry, "locked by another writer"},
      {SQLITE_BUSY_RECOVERY, Code::kUnavailable, kRetry, "locked by another writer"},
      {SQLITE_LOCKED, Code::kUnavailable, kRetry, "locked by another writer"},
      {SQLITE_INTERRUPT, Code::kDeadline, kRetry, "within the time allowed"},
      {SQLITE_FULL, Code::kUnavailable, kRetry, "full"},
      {SQLITE_IOERR_WRITE, Code::kUnavailable, kRetry, "read or written"},
      {SQLITE_IOERR_FSYNC, Code::kUnavailable, kRetry, "read or written"},
      {SQLITE_IOERR_NOMEM, Code::kUnavailable, kRetry, "out of memory"},
      {SQLITE_IOERR_CORRUPTFS, Code::kInternal, kPermanent, "damaged file system"},
      {SQLITE_PROTOCOL, Code::kUnavailable, kRetry, "locked"},
      {SQLITE_NOMEM, Code::kUnavailable, kRetry, "out of memory"},
      {SQLITE_READONLY, Code::kPermission, kPermanent, "read-only"},
      {SQLITE_READONLY_DIRECTORY, Code::kPermission, kPermanent, "read-only"},
      {SQLITE_READONLY_DBMOVED, Code::kUnavailable, kRetry, "moved or deleted"},
      {SQLITE_PERM, Code::kPermission, kPermanent, "refused access"},
      {SQLITE_AUTH, Code::kPermission, kPermanent, "refused access"},
      {SQLITE_CANTOPEN, Code::kUnavailable, kRetry, "can not be opened"},
      {SQLITE_CANTOPEN_ISDIR, Code::kUnavailable, kRetry, "can not be opened"},
      {SQLITE_CORRUPT, Code::kInternal, kPermanent, "damaged"},
      {SQLITE_NOTADB, Code::kInvalidArgument, kPermanent, "not an SQLite database"},
      {SQLITE_CONSTRAINT_UNIQUE, Code::kRejected, kPermanent, "refused a row"},
      {SQLITE_CONSTRAINT_TRIGGER, Code::kInvalidArgument, kPermanent, "refused a row"},
      {SQLITE_TOOBIG, Code::kRejected, kPermanent, "too long"},
      {SQLITE_SCHEMA, Code::kSchema, kRetry, "schema"},
      {SQLITE_ERROR, Code::kInternal, kPermanent, "error"},
      {SQLITE_MISUSE, Code::kInternal, kPermanent, "error"},
  };
  return cases;
}

TEST(ClassifyError, EveryCodeSaysWhatToDo) {
  for (const Case& c : Cases()) {
    const Status status = ClassifyError(c.code, "/data/shop.db", "detail");
    SCOPED_TRACE(status.ToString());
    EXPECT_EQ(status.code(), c.meaning);
    EXPECT_EQ(status.disposition(), c.disposition);
    EXPECT_THAT(status.message(), HasSubstr("/data/shop.db"));
    EXPECT_THAT(status.message(), HasSubstr(c.text));
    EXPECT_THAT(status.message(), HasSubstr("detail"));
    EXPECT_EQ(status.native(), "SQLite " + std::to_string(c.code));
  }
}

TEST(ClassifyError, WhatAPersonCanMendHasAHint) {
  for (const int code : {SQLITE_BUSY, SQLITE_FULL, SQLITE_IOERR, SQLITE_READONLY, SQLITE_CANTOPEN,
                         SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_PERM}) {
    EXPECT_NE(ClassifyError(code, "x", "").hint(), "") << code;
  }
}

TEST(ClassifyError, AMissingTableIsNotFound) {
  const Status status = ClassifyError(SQLITE_ERROR, "x", "no such table: main.orders_outbox");
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("orders_outbox"));
  EXPECT_THAT(status.hint(), HasSubstr("migrate up"));
}

TEST(ClassifyError, ACommitThatMayBeOnDiskIsInDoubt) {
  EXPECT_EQ(ClassifyCommitError(SQLITE_IOERR_FSYNC, "x", "").disposition(), Disposition::kInDoubt);
  EXPECT_EQ(ClassifyCommitError(SQLITE_FULL, "x", "").disposition(), Disposition::kRetry);
}

}  // namespace
}  // namespace outbox::store::sqlite
