#include "service/api/repair_request.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "service/http/json_body.h"

namespace outbox::service {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kRepairLimit = 100'000;

template <std::size_t N>
Status OnlyMembers(const Json& object, const std::array<std::string_view, N>& known) {
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Status::Invalid(
          base::StrCat("'", base::CleanError(name, 40), "' is not a member of a repair"));
    }
  }
  return Status::Ok();
}

Status ReadText(const Json& object, const char* name, std::string& out) {
  if (!object.contains(name)) return Status::Ok();
  if (!object[name].is_string()) return Status::Invalid(base::StrCat(name, ": is not a text"));
  out = object[name].get<std::string>();
  if (!out.empty()) return Status::Ok();
  // Not "any": what a script failed to fill in must not make a repair wider.
  return Status::Invalid(base::StrCat(name, ": is empty: leave it out, or say which"));
}

Status ReadTime(const Json& object, const char* name, std::optional<Timestamp>& out) {
  std::string text;
  OUTBOX_RETURN_IF_ERROR(ReadText(object, name, text));
  if (text.empty()) return Status::Ok();
  out = base::ParseTimestamp(text);
  if (out) return Status::Ok();
  return Status::Invalid(base::StrCat(name, ": is not a time such as 2026-01-05T00:00:00Z"));
}

Status ReadFilter(const Json& object, RepairRequest& request) {
  constexpr std::array<std::string_view, 6> kMembers{"status",        "topic", "created_from",
                                                     "created_until", "error", "tenant"};
  if (!object.is_object()) return Status::Invalid("filter: is not an object");
  OUTBOX_RETURN_IF_ERROR(OnlyMembers(object, kMembers));
  std::string status, tenant;
  OUTBOX_RETURN_IF_ERROR(ReadText(object, "status", status));
  if (status != "dead" && status != "failed") {
    return Status::Invalid("filter.status: must be given: dead or failed");
  }
  request.filter.status = *store::ParseListStatus(status);
  OUTBOX_RETURN_IF_ERROR(ReadText(object, "topic", request.filter.topic));
  OUTBOX_RETURN_IF_ERROR(ReadText(object, "error", request.filter.error_contains));
  OUTBOX_RETURN_IF_ERROR(ReadTime(object, "created_from", request.filter.created_from));
  OUTBOX_RETURN_IF_ERROR(ReadTime(object, "created_until", request.filter.created_until));
  OUTBOX_RETURN_IF_ERROR(ReadText(object, "tenant", tenant));
  if (!tenant.empty()) {
    const auto id = Uuid::Parse(tenant);
    if (!id) return Status::Invalid("filter.tenant: is not a UUID");
    request.scope = store::Scope::Tenant(*id);
  }
  request.filter_json = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  return Status::Ok();
}

}  // namespace

Result<RepairRequest> RepairRequest::Read(std::string_view body) {
  constexpr std::array<std::string_view, 4> kMembers{"action", "filter", "dry_run", "limit"};
  OUTBOX_ASSIGN_OR_RETURN(const Json json, ParseJson(body, kJsonDepthMax, JsonMembers::kOnce));
  if (!json.is_object()) return Status::Invalid("the body is not a JSON object");
  OUTBOX_RETURN_IF_ERROR(OnlyMembers(json, kMembers));
  RepairRequest request;
  std::string action;
  OUTBOX_RETURN_IF_ERROR(ReadText(json, "action", action));
  if (action != "retry" && action != "delete") {
    return Status::Invalid("action: must be given: retry or delete");
  }
  request.retry = action == "retry";
  OUTBOX_RETURN_IF_ERROR(ReadFilter(json.value("filter", Json()), request));
  if (json.contains("dry_run")) {
    if (!json["dry_run"].is_boolean()) return Status::Invalid("dry_run: is not true or false");
    request.dry_run = json["dry_run"].get<bool>();
  }
  request.limit = kRepairLimit;
  if (json.contains("limit")) {
    const Json& limit = json["limit"];
    if (!limit.is_number_unsigned() || limit < 1 || limit > kRepairLimit) {
      return Status::Invalid(base::StrCat("limit: is not a number from 1 to ", kRepairLimit));
    }
    request.limit = limit.get<std::size_t>();
  }
  return request;
}

}  // namespace outbox::service
