#include "service/api/message_api.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "base/text.h"
#include "service/api/actor.h"
#include "service/api/list_parameters.h"
#include "service/api/message_id.h"
#include "service/api/new_message.h"
#include "service/api/store_error.h"
#include "service/api/whose.h"
#include "service/http/parameters.h"
#include "service/http/problem.h"
#include "store/message_json.h"
#include "store/stats_json.h"

namespace outbox::service {
namespace {

using store::Scope;

// Of a message of another tenant, or of none, nothing is told but that it is there.
Status Taken() {
  return Status::Permanent(Code::kConflict,
                           "The id or the dedupe key is in use. Take another; nothing was added.");
}

// Where and by whom a message is delivered is the operators' business.
store::StoredMessage Shown(store::StoredMessage row, const Principal& who) {
  if (!SeesAllTenants(who)) row.locked_by.clear();
  return row;
}

class MessageApi {
 public:
  MessageApi(Tables& tables, MessageApiOptions options) : tables_(tables), options_(options) {}

  Result<Response> ListTables(const Request& request, const Principal&) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    std::vector<std::string> names;
    for (const std::string& name : tables_.names()) names.push_back(base::JsonQuote(name));
    return JsonResponse(200, base::JsonObject().AddRaw("tables", base::JsonArray(names)).Finish());
  }

  Result<Response> Stats(const Request& request, const Principal& who) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {"tenant"}));
    OUTBOX_ASSIGN_OR_RETURN(const Scope scope, WhoseRows(request, who));
    OUTBOX_ASSIGN_OR_RETURN(auto session, Table(request));
    OUTBOX_ASSIGN_OR_RETURN(const auto stats, session->Stats(scope, false, request.deadline));
    return JsonResponse(200, store::StatsJson(TableName(request), stats));
  }

  Result<Response> List(const Request& request, const Principal& who) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, ListParameterNames({"tenant"})));
    OUTBOX_ASSIGN_OR_RETURN(const Scope scope, WhoseRows(request, who));
    OUTBOX_ASSIGN_OR_RETURN(const store::ListFilter filter, ListParameters(request.query));
    OUTBOX_ASSIGN_OR_RETURN(auto session, Table(request));
    OUTBOX_ASSIGN_OR_RETURN(const auto page, session->List(scope, filter, request.deadline));
    std::vector<std::string> rows;
    for (const store::StoredMessage& row : page.rows)
      rows.push_back(ToJson(Shown(row, who), false));
    return JsonResponse(200,
                        base::JsonObject()
                            .AddRaw("messages", base::JsonArray(rows))
                            .AddRaw("next", page.next.empty() ? "null" : base::JsonQuote(page.next))
                            .Finish());
  }

  Result<Response> Get(const Request& request, const Principal& who) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {"tenant"}));
    OUTBOX_ASSIGN_OR_RETURN(const Scope scope, WhoseRows(request, who));
    OUTBOX_ASSIGN_OR_RETURN(const Uuid id, MessageId(request));
    OUTBOX_ASSIGN_OR_RETURN(auto session, Table(request));
    OUTBOX_ASSIGN_OR_RETURN(const auto found, session->Get(scope, id, request.deadline));
    if (!found) return NoSuchMessage();
    OUTBOX_ASSIGN_OR_RETURN(auto attempts, session->Attempts(scope, id, request.deadline));
    return Whole(*found, std::move(attempts), who);
  }

  Result<Response> Retry(const Request& request, const Principal& who) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {"tenant"}));
    OUTBOX_ASSIGN_OR_RETURN(const Scope scope, WhoseRows(request, who));
    OUTBOX_ASSIGN_OR_RETURN(const Uuid id, MessageId(request));
    OUTBOX_ASSIGN_OR_RETURN(auto session, Table(request));
    const auto audit = AuditOfOperator(request, who, id);
    OUTBOX_ASSIGN_OR_RETURN(const auto before, session->Get(scope, id, request.deadline));
    if (!before) return NoSuchMessage();
    OUTBOX_ASSIGN_OR_RETURN(
        const auto done, session->RetryOne(scope, id, audit ? &*audit : nullptr, request.deadline));
    if (const Status refused = RepairStatus(done, "retried", "failed or dead", &*before);
        !refused.ok()) {
      return refused;
    }
    const store::StoredMessage now = Retried(*session, scope, *before, request.deadline);
    auto attempts = session->Attempts(scope, id, request.deadline);
    return Whole(now, attempts.ok() ? *std::move(attempts) : std::vector<store::Attempt>(), who);
  }

  Result<Response> Delete(const Request& request, const Principal& who) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {"tenant"}));
    OUTBOX_ASSIGN_OR_RETURN(const Scope scope, WhoseRows(request, who));
    OUTBOX_ASSIGN_OR_RETURN(const Uuid id, MessageId(request));
    OUTBOX_ASSIGN_OR_RETURN(auto session, Table(request));
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

  Result<Response> Enqueue(const Request& request, const Principal& who) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {"tenant"}));
    OUTBOX_ASSIGN_OR_RETURN(const Scope scope, WhoseRows(request, who));
    const std::string table = TableName(request);
    if (!tables_.Has(table)) return Table(request).error();
    OUTBOX_ASSIGN_OR_RETURN(const NewMessage message, ReadNewMessage(request.body, scope));
    OUTBOX_ASSIGN_OR_RETURN(auto session,
                            FromStore(tables_.backend().OpenSession(request.deadline)));
    OUTBOX_RETURN_IF_ERROR(session->Begin(request.deadline));
    auto enqueued =
        outbox::Enqueue(session->executor(), table, message, {.observer = options_.enqueued});
    if (!enqueued.ok()) {
      session->Rollback();
      return enqueued.error();
    }
    OUTBOX_RETURN_IF_ERROR(session->Commit());
    session.reset();  // one connection at a time
    if (enqueued->already_enqueued) {
      OUTBOX_ASSIGN_OR_RETURN(const auto rows, Table(request));
      OUTBOX_ASSIGN_OR_RETURN(const auto own, rows->Get(scope, enqueued->id, request.deadline));
      if (!own) return Taken();
    }
    return JsonResponse(enqueued->already_enqueued ? 200 : 201,
                        base::JsonObject()
                            .Add("id", enqueued->id.ToString())
                            .Add("seq", enqueued->seq)
                            .Add("already_enqueued", enqueued->already_enqueued)
                            .Finish());
  }

 private:
  static Response Whole(const store::StoredMessage& row, std::vector<store::Attempt> attempts,
                        const Principal& who) {
    if (!SeesAllTenants(who)) {
      for (store::Attempt& attempt : attempts) attempt.worker.clear();
    }
    return JsonResponse(200, ToJson(Shown(row, who), attempts));
  }

  std::string TableName(const Request& request) const {
    return tables_.backend().DisplayName(std::string(request.Param("table")));
  }
  Result<Tables::Session> Table(const Request& request) const {
    return tables_.Borrow(request.Param("table"), request.deadline);
  }

  Tables& tables_;
  const MessageApiOptions options_;
};

}  // namespace

void AddMessageApi(Router& router, Access& access, Tables& tables, MessageApiOptions options) {
  const auto api = std::make_shared<const MessageApi>(tables, options);
  using Endpoint = Result<Response> (MessageApi::*)(const Request&, const Principal&) const;
  const auto add = [&](Method method, const char* path, std::string_view permission,
                       Endpoint endpoint) {
    router.Add(
        method, path,
        access.Permitted(permission, [api, endpoint](const Request& request, const Principal& who) {
          Result<Response> answer = ((*api).*endpoint)(request, who);
          return answer.ok() ? *std::move(answer) : ProblemOf(answer.error());
        }));
  };
  const char* const messages = "/api/v1/tables/{table}/messages";
  const char* const message = "/api/v1/tables/{table}/messages/{id}";
  add(Method::kGet, "/api/v1/tables", permission::kMessagesRead, &MessageApi::ListTables);
  add(Method::kGet, "/api/v1/tables/{table}/stats", permission::kMessagesRead, &MessageApi::Stats);
  add(Method::kGet, messages, permission::kMessagesRead, &MessageApi::List);
  add(Method::kGet, message, permission::kMessagesRead, &MessageApi::Get);
  add(Method::kPost, "/api/v1/tables/{table}/messages/{id}/retry", permission::kMessagesWrite,
      &MessageApi::Retry);
  add(Method::kDelete, message, permission::kMessagesDelete, &MessageApi::Delete);
  if (options.enqueue) {
    add(Method::kPost, messages, permission::kMessagesEnqueue, &MessageApi::Enqueue);
  }
}

}  // namespace outbox::service
