// The part of the store suite that needs a RelayStore only.
#pragma once

#include "tests/conformance/claim_suite.h"
#include "tests/conformance/lead_suite.h"
#include "tests/conformance/settle_suite.h"
#include "tests/conformance/store_fixture.h"

#define OUTBOX_INSTANTIATE_RELAY_STORE_SUITE(name, param)                                \
  INSTANTIATE_TEST_SUITE_P(name, ClaimSuite, ::testing::Values(param), StoreParamName);  \
  INSTANTIATE_TEST_SUITE_P(name, SettleSuite, ::testing::Values(param), StoreParamName); \
  INSTANTIATE_TEST_SUITE_P(name, LeadSuite, ::testing::Values(param), StoreParamName)
