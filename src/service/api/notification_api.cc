#include "service/api/notification_api.h"

#include <utility>
#include <vector>

#include "base/json_object.h"
#include "base/text.h"
#include "service/api/actor.h"
#include "service/api/message_id.h"
#include "service/api/notification_entry.h"
#include "service/http/parameters.h"
#include "service/http/problem.h"

namespace outbox::service {
namespace {

using store::ListStatus;
using store::Scope;

constexpr const char* kPath = "/api/v1/notification-outbox";
constexpr int kPageSize = 20;
constexpr int kPageSizeMax = 100;
constexpr int kPageMax = 1'000'000;
constexpr std::size_t kCursorBytesMax = 256;

const std::vector<std::string>& Statuses() {
  static const auto& kStatuses =
      *new std::vector<std::string>{"pending", "processing", "completed", "failed", "dead"};
  return kStatuses;
}

ListStatus StatusOf(std::string_view name) {
  if (name == "pending") return ListStatus::kNew;
  if (name == "processing") return ListStatus::kProcessing;
  if (name == "completed") return ListStatus::kDelivered;
  return name == "failed" ? ListStatus::kFailed : ListStatus::kDead;
}

class NotificationApi {
 public:
  NotificationApi(Tables& tables, NotificationOptions options)
      : tables_(tables), options_(std::move(options)) {}

  Result<Response> List(const Request& request, const Principal& who) const {
    const Scope scope = Scope::Tenant(*who.tenant);
    const Query& query = request.query;
    OUTBOX_RETURN_IF_ERROR(CheckParameters(query, {"status", "page", "page_size", "after"}));
    OUTBOX_ASSIGN_OR_RETURN(const auto status, ChoiceParameter(query, "status", Statuses()));
    OUTBOX_ASSIGN_OR_RETURN(const int page, IntParameter(query, "page", {1, kPageMax, 1}));
    OUTBOX_ASSIGN_OR_RETURN(const int size,
                            IntParameter(query, "page_size", {1, kPageSizeMax, kPageSize}));
    OUTBOX_ASSIGN_OR_RETURN(const auto after, TextParameter(query, "after", kCursorBytesMax));
    if (after && query.Count("page") > 0) {
      return Status::Invalid("page and after exclude each other: go on by the one you began with");
    }
    store::ListFilter filter{.status = status ? StatusOf(*status) : ListStatus::kAll,
                             .limit = static_cast<std::size_t>(size),
                             .after = after.value_or(""),
                             .whole = true};
    OUTBOX_ASSIGN_OR_RETURN(auto session, tables_.Borrow(options_.table, request.deadline));
    base::JsonObject json;
    if (after) {
      OUTBOX_ASSIGN_OR_RETURN(const auto found, session->List(scope, filter, request.deadline));
      json.AddRaw("data", Entries(found.rows))
          .Add("page_size", size)
          .AddRaw("next", Cursor(found.next));
    } else {
      OUTBOX_ASSIGN_OR_RETURN(
          const auto found,
          session->ListNumbered(scope, filter, static_cast<std::size_t>(page), request.deadline));
      json.AddRaw("data", Entries(found.rows))
          .Add("total", found.total)
          .Add("total_is_exact", !found.total_capped)
          .Add("page", page)
          .Add("page_size", size)
          .Add("total_pages", (found.total + size - 1) / size)
          .AddRaw("next", Cursor(found.next));
    }
    return JsonResponse(200, json.Finish());
  }

  Result<Response> Stats(const Request& request, const Principal& who) const {
    const Scope scope = Scope::Tenant(*who.tenant);
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    OUTBOX_ASSIGN_OR_RETURN(auto session, tables_.Borrow(options_.table, request.deadline));
    OUTBOX_ASSIGN_OR_RETURN(const store::TableStats counted,
                            session->Stats(scope, false, request.deadline));
    const store::TenantStats stats = ToTenantStats(counted);
    return JsonResponse(200, base::JsonObject()
                                 .Add("pending", stats.pending)
                                 .Add("processing", stats.processing)
                                 .Add("completed", stats.completed)
                                 .Add("failed", stats.failed)
                                 .Add("dead", stats.dead)
                                 .Add("total", stats.total)
                                 .Add("exact", !stats.capped)
                                 .Finish());
  }

  Result<Response> Get(const Request& request, const Principal& who) const {
    const Scope scope = Scope::Tenant(*who.tenant);
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    OUTBOX_ASSIGN_OR_RETURN(const Uuid id, MessageId(request));
    OUTBOX_ASSIGN_OR_RETURN(auto session, tables_.Borrow(options_.table, request.deadline));
    OUTBOX_ASSIGN_OR_RETURN(const auto found, session->Get(scope, id, request.deadline));
    if (!found) return NoSuchMessage();
    return JsonResponse(200, NotificationEntry(*found, options_.attempts_max));
  }

  Result<Response> Retry(const Request& request, const Principal& who) const {
    const Scope scope = Scope::Tenant(*who.tenant);
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    OUTBOX_ASSIGN_OR_RETURN(const Uuid id, MessageId(request));
    OUTBOX_ASSIGN_OR_RETURN(auto session, tables_.Borrow(options_.table, request.deadline));
    OUTBOX_ASSIGN_OR_RETURN(const auto before, session->Get(scope, id, request.deadline));
    if (!before) return NoSuchMessage();
    const auto audit = AuditOfOperator(request, who, id);
    OUTBOX_ASSIGN_OR_RETURN(
        const auto done, session->RetryOne(scope, id, audit ? &*audit : nullptr, request.deadline));
    if (const Status refused = RepairStatus(done, "retried", "failed or dead", &*before);
        !refused.ok()) {
      return refused;
    }
    return JsonResponse(200, NotificationEntry(Retried(*session, scope, *before, request.deadline),
                                               options_.attempts_max));
  }

  Result<Response> Delete(const Request& request, const Principal& who) const {
    const Scope scope = Scope::Tenant(*who.tenant);
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    OUTBOX_ASSIGN_OR_RETURN(const Uuid id, MessageId(request));
    OUTBOX_ASSIGN_OR_RETURN(auto session, tables_.Borrow(options_.table, request.deadline));
    const auto audit = AuditOfOperator(request, who, id);
    OUTBOX_ASSIGN_OR_RETURN(
        const auto done,
        session->DeleteOne(scope, id, audit ? &*audit : nullptr, request.deadline));
    if (const Status refused = RepairStatus(done, "deleted", "pending, failed, dead or delivered");
        !refused.ok()) {
      return refused;
    }
    return Response{.status = 204};
  }

 private:
  static std::string Cursor(const std::string& next) {
    return next.empty() ? "null" : base::JsonQuote(next);
  }

  std::string Entries(const std::vector<store::StoredMessage>& rows) const {
    std::vector<std::string> entries;
    entries.reserve(rows.size());
    for (const store::StoredMessage& row : rows) {
      entries.push_back(NotificationEntry(row, options_.attempts_max));
    }
    return base::JsonArray(entries);
  }

  Tables& tables_;
  const NotificationOptions options_;
};

}  // namespace

void AddNotificationApi(Router& router, Access& access, Tables& tables,
                        NotificationOptions options) {
  const auto api = std::make_shared<const NotificationApi>(tables, std::move(options));
  using Endpoint = Result<Response> (NotificationApi::*)(const Request&, const Principal&) const;
  const auto add = [&](Method method, std::string path, std::string_view permission,
                       Endpoint endpoint) {
    router.Add(
        method, std::move(path),
        access.OfTenant(permission, [api, endpoint](const Request& request, const Principal& who) {
          Result<Response> answer = ((*api).*endpoint)(request, who);
          return answer.ok() ? *std::move(answer) : ProblemOf(answer.error());
        }));
  };
  const std::string path = kPath;
  add(Method::kGet, path, permission::kNotificationsRead, &NotificationApi::List);
  add(Method::kGet, path + "/stats", permission::kNotificationsRead, &NotificationApi::Stats);
  add(Method::kGet, path + "/{id}", permission::kNotificationsRead, &NotificationApi::Get);
  add(Method::kPost, path + "/{id}/retry", permission::kNotificationsWrite,
      &NotificationApi::Retry);
  add(Method::kDelete, path + "/{id}", permission::kNotificationsDelete, &NotificationApi::Delete);
}

}  // namespace outbox::service
