#include "tests/conformance/sink_suite.h"

namespace outbox::testing {

INSTANTIATE_TEST_SUITE_P(On, SinkSuite, ::testing::ValuesIn(SinksUnderTest()),
                         [](const auto& one) { return one.param.name; });

}  // namespace outbox::testing
