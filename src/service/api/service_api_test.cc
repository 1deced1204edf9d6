#include "service/api/api_suites.h"

namespace outbox::service {
namespace {

OUTBOX_INSTANTIATE_API_SUITES((ApiParam{"sqlite", [] { return std::string(); }}));

}  // namespace
}  // namespace outbox::service
