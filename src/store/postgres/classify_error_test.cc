#include "store/postgres/classify_error.h"

#include <gtest/gtest.h>

namespace outbox::store::postgres {
namespace {

struct Case {
  const char* sqlstate;
  Code code;
  Disposition disposition;
};

constexpr Case kCases[] = {
    {"08000", Code::kUnavailable, Disposition::kRetry},
    {"08006", Code::kUnavailable, Disposition::kRetry},
    {"08P01", Code::kUnavailable, Disposition::kRetry},
    {"0A000", Code::kInternal, Disposition::kPermanent},
    {"21000", Code::kInternal, Disposition::kPermanent},
    {"22023", Code::kInvalidArgument, Disposition::kPermanent},
    {"22P02", Code::kInvalidArgument, Disposition::kPermanent},
    {"23505", Code::kInvalidArgument, Disposition::kPermanent},
    {"23514", Code::kInvalidArgument, Disposition::kPermanent},
    {"25001", Code::kInternal, Disposition::kPermanent},
    {"25006", Code::kUnavailable, Disposition::kRetry},
    {"25P02", Code::kTransactionAborted, Disposition::kPermanent},
    {"25P03", Code::kUnavailable, Disposition::kRetry},
    {"26000", Code::kUnavailable, Disposition::kRetry},
    {"28000", Code::kPermission, Disposition::kPermanent},
    {"28P01", Code::kPermission, Disposition::kPermanent},
    {"3D000", Code::kNotFound, Disposition::kPermanent},
    {"3F000", Code::kNotFound, Disposition::kPermanent},
    {"40001", Code::kConflict, Disposition::kRetry},
    {"40003", Code::kUnavailable, Disposition::kInDoubt},
    {"40P01", Code::kConflict, Disposition::kRetry},
    {"42501", Code::kPermission, Disposition::kPermanent},
    {"42703", Code::kSchema, Disposition::kPermanent},
    {"42883", Code::kSchema, Disposition::kPermanent},
    {"42P01", Code::kNotFound, Disposition::kPermanent},
    {"42P05", Code::kUnavailable, Disposition::kRetry},
    {"53000", Code::kUnavailable, Disposition::kRetry},
    {"53100", Code::kUnavailable, Disposition::kRetry},
    {"53300", Code::kUnavailable, Disposition::kRetry},
    {"54000", Code::kInvalidArgument, Disposition::kPermanent},
    {"55P03", Code::kConflict, Disposition::kRetry},
    {"57014", Code::kDeadline, Disposition::kRetry},
    {"57P01", Code::kUnavailable, Disposition::kRetry},
    {"57P03", Code::kUnavailable, Disposition::kRetry},
    {"57P04", Code::kNotFound, Disposition::kPermanent},
    {"58030", Code::kUnavailable, Disposition::kRetry},
    {"P0001", Code::kInvalidArgument, Disposition::kPermanent},
    {"XX000", Code::kInternal, Disposition::kRetry},
    {"ZZ999", Code::kInternal, Disposition::kPermanent},
    {"", Code::kInternal, Disposition::kPermanent},
};

TEST(ClassifyError, KnowsEachClass) {
  for (const Case& expected : kCases) {
    const Status status = ClassifyError(expected.sqlstate, "what happened");
    EXPECT_EQ(status.code(), expected.code) << expected.sqlstate;
    EXPECT_EQ(status.disposition(), expected.disposition) << expected.sqlstate;
    EXPECT_EQ(status.native(), expected.sqlstate);
    EXPECT_EQ(status.message(), "PostgreSQL: what happened");
  }
}

TEST(ClassifyError, KeepsTheServersHint) {
  EXPECT_EQ(ClassifyError("22023", "m", "do this").hint(), "do this");
  EXPECT_NE(ClassifyError("42P01", "m").hint(), "");
}

TEST(ClassifyError, ReadsTheStateOfARefusedConnection) {
  const Status refused = ClassifyConnectFailure(
      "connection to server at \"127.0.0.1\", port 5432 failed: FATAL:  28P01: password "
      "authentication failed for user \"x\"\nLOCATION:  auth_failed, auth.c:331\n");
  EXPECT_EQ(refused.code(), Code::kPermission);
  EXPECT_EQ(refused.native(), "28P01");
  EXPECT_EQ(refused.message(), "PostgreSQL: password authentication failed for user \"x\"");
  const Status away = ClassifyConnectFailure(
      "connection to server at \"127.0.0.1\", port 1 failed: Connection refused\n\tIs the server…");
  EXPECT_EQ(away.code(), Code::kUnavailable);
  EXPECT_EQ(away.disposition(), Disposition::kRetry);
}

TEST(ClassifyError, ReadsAConnectFailureOfAnyLength) {
  const std::string a(200'000, 'A');
  for (const std::string& text :
       {a, a + ": " + a, "invalid " + a + " for connection option \"" + a, "FATAL: " + a + ": "}) {
    EXPECT_EQ(ClassifyConnectFailure(text).code(), Code::kUnavailable);
  }
}

TEST(ClassifyError, AValueThatLibpqRefusesIsNotQuoted) {
  const Status bad = ClassifyConnectFailure(
      "invalid integer value \"sekret\" for connection option \"connect_timeout\"\n");
  EXPECT_EQ(bad.code(), Code::kInvalidArgument);
  EXPECT_EQ(bad.message(), "database address: connect_timeout: not a valid value");
}

}  // namespace
}  // namespace outbox::store::postgres
