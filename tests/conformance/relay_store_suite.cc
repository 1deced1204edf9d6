// What a relay asks of a store.
#include "tests/conformance/attempt_suite.h"
#include "tests/conformance/attempt_table_suite.h"
#include "tests/conformance/claim_suite.h"
#include "tests/conformance/lead_suite.h"
#include "tests/conformance/settle_suite.h"

namespace outbox::conformance {

using ::testing::Values;
using ::testing::ValuesIn;

INSTANTIATE_TEST_SUITE_P(On, ClaimSuite, Values(StoreUnderTest()), StoreParamName);
INSTANTIATE_TEST_SUITE_P(On, SettleSuite, Values(StoreUnderTest()), StoreParamName);
INSTANTIATE_TEST_SUITE_P(On, LeadSuite, Values(StoreUnderTest()), StoreParamName);
INSTANTIATE_TEST_SUITE_P(On, AttemptSuite, Values(StoreUnderTest()), StoreParamName);
INSTANTIATE_TEST_SUITE_P(On, AttemptTableSuite, ValuesIn(DatabaseUnderTest()), StoreParamName);

}  // namespace outbox::conformance
