#include "store/list_filter.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace outbox::store {
namespace {

using base::StrCat;

constexpr std::array<std::pair<ListStatus, std::string_view>, 7> kListStatusNames{
    {{ListStatus::kPending, "pending"},
     {ListStatus::kNew, "new"},
     {ListStatus::kFailed, "failed"},
     {ListStatus::kProcessing, "processing"},
     {ListStatus::kDelivered, "delivered"},
     {ListStatus::kDead, "dead"},
     {ListStatus::kAll, "all"}}};

Status CheckText(std::string_view field, const std::string& text) {
  if (text.size() > kFilterTextBytesMax) {
    return Status::Invalid(StrCat(field, ": has ", text.size(), " bytes"))
        .WithHint(StrCat("write at most ", kFilterTextBytesMax));
  }
  if (!base::IsValidUtf8(text) || text.find('\0') != std::string::npos) {
    return Status::Invalid(StrCat(field, ": is not UTF-8 text")).WithHint("write it in UTF-8");
  }
  return Status::Ok();
}

}  // namespace

std::string_view ToString(ListStatus status) noexcept {
  for (const auto& [value, name] : kListStatusNames) {
    if (value == status) return name;
  }
  return "";
}

std::optional<ListStatus> ParseListStatus(std::string_view text) noexcept {
  for (const auto& [value, name] : kListStatusNames) {
    if (name == text) return value;
  }
  return std::nullopt;
}

Status Validate(const ListFilter& filter, const Scope& scope) {
  OUTBOX_RETURN_IF_ERROR(CheckText("topic", filter.topic));
  OUTBOX_RETURN_IF_ERROR(CheckText("key", filter.key));
  OUTBOX_RETURN_IF_ERROR(CheckText("aggregate_type", filter.aggregate_type));
  OUTBOX_RETURN_IF_ERROR(CheckText("aggregate_id", filter.aggregate_id));
  OUTBOX_RETURN_IF_ERROR(CheckText("error", filter.error_contains));
  if (const std::size_t max = filter.whole ? kWholeLimitMax : kListLimitMax; filter.limit > max) {
    return Status::Invalid(StrCat("limit: ", filter.limit, " is over ", max))
        .WithHint("read page by page");
  }
  if (filter.status == ListStatus::kAll && !scope.tenant() && filter.aggregate_id.empty()) {
    return Status::Invalid("status: all states at once are listed of a tenant or an aggregate only")
        .WithHint("leave the status out to see what is not delivered, or name one");
  }
  return Status::Ok();
}

Status Validate(const RepairTarget& target) {
  if (!target.filter) return Status::Ok();
  const RepairFilter& filter = *target.filter;
  OUTBOX_RETURN_IF_ERROR(CheckText("topic", filter.topic));
  OUTBOX_RETURN_IF_ERROR(CheckText("error", filter.error_contains));
  if (filter.status != ListStatus::kFailed && filter.status != ListStatus::kDead) {
    return Status::Invalid(StrCat("status: messages that are ", ToString(filter.status),
                                  " can not be repaired"))
        .WithHint("use failed or dead");
  }
  return Status::Ok();
}

StatusColumns ColumnsOf(std::optional<ListStatus> status) noexcept {
  if (!status) return {};
  switch (*status) {
    case ListStatus::kPending: return {.status = "pending", .tried = {}};
    case ListStatus::kNew: return {.status = "pending", .tried = false};
    case ListStatus::kFailed: return {.status = "pending", .tried = true};
    case ListStatus::kProcessing: return {.status = "processing", .tried = {}};
    case ListStatus::kDelivered: return {.status = "delivered", .tried = {}};
    case ListStatus::kDead: return {.status = "dead", .tried = {}};
    case ListStatus::kAll: return {};
  }
  return {};
}

}  // namespace outbox::store
