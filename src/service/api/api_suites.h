// All suites of the API, to be instantiated for a database.
#pragma once

#include "service/api/message_suite.h"
#include "service/api/openapi_suite.h"
#include "service/api/operator_suite.h"
#include "service/api/tenant_suite.h"

#define OUTBOX_INSTANTIATE_API_SUITES(param)                                              \
  INSTANTIATE_TEST_SUITE_P(On, TenantApiSuite, ::testing::Values(param), ApiParamName);   \
  INSTANTIATE_TEST_SUITE_P(On, MessageApiSuite, ::testing::Values(param), ApiParamName);  \
  INSTANTIATE_TEST_SUITE_P(On, OperatorApiSuite, ::testing::Values(param), ApiParamName); \
  INSTANTIATE_TEST_SUITE_P(On, OpenApiSuite, ::testing::Values(param), ApiParamName)
