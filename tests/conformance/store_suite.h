// The store conformance suite: what every backend must do, whatever its database. Instantiate it
// with a StoreParam that makes a fresh table:
//
//   OUTBOX_INSTANTIATE_STORE_SUITE(Sqlite, (StoreParam{"sqlite", MakeSqliteFixture}));
#pragma once

#include "tests/conformance/attempt_suite.h"
#include "tests/conformance/attempt_table_suite.h"
#include "tests/conformance/control_suite.h"
#include "tests/conformance/inspect_suite.h"
#include "tests/conformance/lane_suite.h"
#include "tests/conformance/operate_suite.h"
#include "tests/conformance/relay_store_suite.h"
#include "tests/conformance/split_suite.h"

#define OUTBOX_INSTANTIATE_STORE_SUITE(name, param)                                            \
  OUTBOX_INSTANTIATE_RELAY_STORE_SUITE(name, param);                                           \
  OUTBOX_INSTANTIATE_INSPECT_SUITE(name, param);                                               \
  INSTANTIATE_TEST_SUITE_P(name, AttemptSuite, ::testing::Values(param), StoreParamName);      \
  INSTANTIATE_TEST_SUITE_P(name, AttemptTableSuite, ::testing::Values(param), StoreParamName); \
  INSTANTIATE_TEST_SUITE_P(name, ControlSuite, ::testing::Values(param), StoreParamName);      \
  INSTANTIATE_TEST_SUITE_P(name, LaneSuite, ::testing::Values(param), StoreParamName);         \
  INSTANTIATE_TEST_SUITE_P(name, OperateSuite, ::testing::Values(param), StoreParamName);      \
  INSTANTIATE_TEST_SUITE_P(name, SplitSuite, ::testing::Values(param), StoreParamName)
