// ASSERT_OK and EXPECT_OK for Status and Result.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "outbox/status.h"

namespace outbox::testing {

inline Status AsStatus(const Status& status) { return status; }
template <typename T>
Status AsStatus(const Result<T>& result) {
  return result.error();
}

}  // namespace outbox::testing

#define OUTBOX_OK_(macro, expr)                                              \
  do {                                                                       \
    const ::outbox::Status outbox_ok_ = ::outbox::testing::AsStatus(expr);   \
    macro(outbox_ok_.ok()) << #expr << ": " << outbox_ok_.ToString() << " [" \
                           << ::outbox::ToString(outbox_ok_.code()) << "]";  \
  } while (false)
#define ASSERT_OK(expr) OUTBOX_OK_(ASSERT_TRUE, expr)
#define EXPECT_OK(expr) OUTBOX_OK_(EXPECT_TRUE, expr)

// EXPECT_THAT(result, HasCode(Code::kNotFound))
MATCHER_P(HasCode, code, "") {
  const ::outbox::Status status = ::outbox::testing::AsStatus(arg);
  *result_listener << status.ToString() << " [" << ::outbox::ToString(status.code()) << "]";
  return status.code() == code;
}
