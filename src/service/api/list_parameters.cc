#include "service/api/list_parameters.h"

#include "service/http/parameters.h"

namespace outbox::service {
namespace {

constexpr int kLimit = 50;
constexpr int kLimitMax = 500;
constexpr std::size_t kPlaceBytesMax = 256;

const std::vector<std::string>& ListStatuses() {
  static const auto& kListStatuses = *new std::vector<std::string>{
      "pending", "new", "failed", "processing", "delivered", "dead", "all"};
  return kListStatuses;
}

}  // namespace

std::vector<std::string> ListParameterNames(std::vector<std::string> more) {
  for (const char* name : {"status", "topic", "key", "aggregate_type", "aggregate_id",
                           "created_from", "created_until", "error", "limit", "after"}) {
    more.emplace_back(name);
  }
  return more;
}

Result<store::ListFilter> ListParameters(const Query& query) {
  store::ListFilter filter;
  const auto text = [&](const char* name, std::size_t bytes_max, std::string& out) -> Status {
    OUTBOX_ASSIGN_OR_RETURN(auto value, TextParameter(query, name, bytes_max));
    out = std::move(value).value_or("");
    return Status::Ok();
  };
  OUTBOX_ASSIGN_OR_RETURN(const auto status, ChoiceParameter(query, "status", ListStatuses()));
  if (status) filter.status = store::ParseListStatus(*status);
  OUTBOX_RETURN_IF_ERROR(text("topic", store::kFilterTextBytesMax, filter.topic));
  OUTBOX_RETURN_IF_ERROR(text("key", store::kFilterTextBytesMax, filter.key));
  OUTBOX_RETURN_IF_ERROR(text("aggregate_type", store::kFilterTextBytesMax, filter.aggregate_type));
  OUTBOX_RETURN_IF_ERROR(text("aggregate_id", store::kFilterTextBytesMax, filter.aggregate_id));
  if (filter.aggregate_type.empty() != filter.aggregate_id.empty()) {
    return Status::Invalid("aggregate_type and aggregate_id go together: give both or none");
  }
  OUTBOX_RETURN_IF_ERROR(text("error", store::kFilterTextBytesMax, filter.error_contains));
  OUTBOX_RETURN_IF_ERROR(text("after", kPlaceBytesMax, filter.after));
  OUTBOX_ASSIGN_OR_RETURN(filter.created_from, TimeParameter(query, "created_from"));
  OUTBOX_ASSIGN_OR_RETURN(filter.created_until, TimeParameter(query, "created_until"));
  OUTBOX_ASSIGN_OR_RETURN(const int limit, IntParameter(query, "limit", {1, kLimitMax, kLimit}));
  filter.limit = static_cast<std::size_t>(limit);
  return filter;
}

}  // namespace outbox::service
