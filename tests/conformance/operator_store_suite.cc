// What operators ask of a store, and the splitting of a table with routes.
#include "tests/conformance/control_suite.h"
#include "tests/conformance/inspect_suite.h"
#include "tests/conformance/lane_suite.h"
#include "tests/conformance/operate_suite.h"
#include "tests/conformance/split_suite.h"

namespace outbox::conformance {

using ::testing::Values;
using ::testing::ValuesIn;

INSTANTIATE_TEST_SUITE_P(On, ControlSuite, Values(StoreUnderTest()), StoreParamName);
INSTANTIATE_TEST_SUITE_P(On, InspectSuite, Values(StoreUnderTest()), StoreParamName);
INSTANTIATE_TEST_SUITE_P(On, LaneSuite, ValuesIn(DatabaseUnderTest()), StoreParamName);
INSTANTIATE_TEST_SUITE_P(On, OperateSuite, ValuesIn(DatabaseUnderTest()), StoreParamName);
INSTANTIATE_TEST_SUITE_P(On, SplitSuite, ValuesIn(DatabaseUnderTest()), StoreParamName);

}  // namespace outbox::conformance
