#include "service/api/operator_api.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "service/api/actor.h"
#include "service/api/relay_list.h"
#include "service/api/repair_request.h"
#include "service/api/store_error.h"
#include "service/http/parameters.h"
#include "service/http/problem.h"
#include "store/control_json.h"
#include "store/stats_json.h"

namespace outbox::service {
namespace {

// Rows changed by one statement, so that locks are held shortly.
constexpr std::size_t kRepairBatch = 1000;
// Left of a request's time when the last batch begins: enough for it, and to tell of it.
constexpr std::chrono::seconds kRepairMargin{2};
constexpr std::size_t kNameBytesMax = 255;
constexpr std::size_t kReasonBytesMax = 500;
constexpr IntBounds kAuditLimits{1, 500, 50};

// Tables that are missing are something an operator can put right: say how.
Status Explained(const Status& status) {
  if (status.code() != Code::kSchema) return status;
  return Status::Permanent(Code::kConflict, status.message()).WithHint(status.hint());
}

class OperatorApi {
 public:
  OperatorApi(const Access& access, Tables& tables, const RelayBoard& board,
              RelaySwitch& relay_switch, LiveEvents& events, OperatorApiOptions options)
      : access_(access),
        tables_(tables),
        board_(board),
        switch_(relay_switch),
        events_(events),
        options_(std::move(options)) {}

  Result<Response> Relays(const Request& request, const Principal&) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    OUTBOX_ASSIGN_OR_RETURN(const RelayList list, ReadRelays(request.deadline));
    return JsonResponse(200, ToJson(list, board_.Relays(), options_.process));
  }

  Result<Response> Audit(const Request& request, const Principal&) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {"table", "limit", "after"}));
    store::AuditFilter filter;
    OUTBOX_ASSIGN_OR_RETURN(const auto table, TextParameter(request.query, "table", kNameBytesMax));
    OUTBOX_ASSIGN_OR_RETURN(const auto after, TextParameter(request.query, "after", kNameBytesMax));
    OUTBOX_ASSIGN_OR_RETURN(const int limit, IntParameter(request.query, "limit", kAuditLimits));
    if (table) filter.table = tables_.backend().DisplayName(*table);
    filter.after = after.value_or("");
    filter.limit = static_cast<std::size_t>(limit);
    const auto page = tables_.backend().OpenControl()->ListAudit(filter, request.deadline);
    if (!page.ok()) return Explained(FromStore(page.error()));
    std::vector<std::string> records;
    for (const store::AuditRecord& record : page->records) {
      records.push_back(store::ToJson(record));
    }
    return JsonResponse(
        200, base::JsonObject()
                 .AddRaw("records", base::JsonArray(records))
                 .AddRaw("next", page->next.empty() ? "null" : base::JsonQuote(page->next))
                 .Finish());
  }

  Result<Response> Stats(const Request& request, const Principal&) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    std::vector<std::string> tables;
    for (const std::string& name : tables_.names()) {
      OUTBOX_ASSIGN_OR_RETURN(auto session, tables_.Borrow(name, request.deadline));
      OUTBOX_ASSIGN_OR_RETURN(const auto stats,
                              session->Stats(store::Scope::All(), false, request.deadline));
      tables.push_back(store::StatsJson(name, stats));
    }
    return JsonResponse(200, base::JsonObject().AddRaw("tables", base::JsonArray(tables)).Finish());
  }

  Result<Response> Config(const Request& request, const Principal&) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    return JsonResponse(200, options_.config_json);
  }

  Result<Response> Events(const Request& request, const Principal& who) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    OUTBOX_ASSIGN_OR_RETURN(auto stream,
                            who.unrestricted
                                ? events_.Listen()
                                : events_.Listen(who.expires, access_.WhetherStillGood(request)));
    return StreamResponse(std::move(stream));
  }

  Result<Response> Pause(const Request& request, const Principal& who) const {
    return Turn(request, who, true);
  }
  Result<Response> Resume(const Request& request, const Principal& who) const {
    return Turn(request, who, false);
  }

  Result<Response> Repair(const Request& request, const Principal& who) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    OUTBOX_ASSIGN_OR_RETURN(const RepairRequest repair, RepairRequest::Read(request.body));
    OUTBOX_ASSIGN_OR_RETURN(auto session, tables_.Borrow(request.Param("table"), request.deadline));
    AuditRecord record{.subject = who.subject,
                       .request_id = request.id,
                       .table = std::string(request.Param("table")),
                       .action = repair.retry ? "retry" : "delete",
                       .filter = repair.filter_json};
    record.complete = false;
    const Status ended = Carry(session, repair, request, who, record);
    if (!repair.dry_run) options_.audit(record);
    OUTBOX_RETURN_IF_ERROR(Explained(ended));
    return JsonResponse(200, base::JsonObject()
                                 .Add("action", record.action)
                                 .Add("complete", record.complete)
                                 .Add("dry_run", repair.dry_run)
                                 .Add(repair.dry_run ? "matched" : "changed", record.changed)
                                 .Add("limit_reached", record.changed >= repair.limit)
                                 .Finish());
  }

 private:
  Result<Response> Turn(const Request& request, const Principal& who, bool pause) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {"sink", "reason"}));
    OUTBOX_ASSIGN_OR_RETURN(const auto given, TextParameter(request.query, "sink", kNameBytesMax));
    OUTBOX_ASSIGN_OR_RETURN(const auto reason,
                            TextParameter(request.query, "reason", kReasonBytesMax));
    const std::string table = tables_.backend().DisplayName(std::string(request.Param("table")));
    const std::string sink = given.value_or("");
    if (!tables_.Has(table)) return tables_.Borrow(table, request.deadline).error();
    const store::Audit audit{.actor = ActorOf(who),
                             .request_id = request.id,
                             .filter = base::JsonObject()
                                           .AddUnlessEmpty("sink", sink)
                                           .AddUnlessEmpty("reason", reason.value_or(""))
                                           .Finish()};
    const auto control = tables_.backend().OpenControl();
    if (pause && !sink.empty()) {
      OUTBOX_ASSIGN_OR_RETURN(const RelayList list, ReadRelays(request.deadline));
      OUTBOX_RETURN_IF_ERROR(CheckSink(list, table, sink));
    }
    const auto changed = pause ? control->Pause({.table = table,
                                                 .sink = sink,
                                                 .since = {},
                                                 .by = audit.actor,
                                                 .reason = reason.value_or("")},
                                                audit, request.deadline)
                               : control->Resume(table, sink, audit, request.deadline);
    if (!changed.ok()) return Explained(FromStore(changed.error()));
    const std::size_t relays = switch_.Pause(table, sink, pause);
    options_.audit({.subject = who.subject,
                    .request_id = request.id,
                    .table = table,
                    .action = pause ? "pause" : "resume",
                    .filter = audit.filter,
                    .changed = *changed});
    return JsonResponse(200, base::JsonObject()
                                 .Add("action", pause ? "pause" : "resume")
                                 .Add("changed", *changed > 0)
                                 .Add("relays", relays)
                                 .Finish());
  }

  // A sink nobody serves is a typing error.
  Status CheckSink(const RelayList& list, const std::string& table, const std::string& sink) const {
    const std::string name = store::RelayName({.table = table, .sink = sink});
    if (list.Has(name)) return Status::Ok();
    for (const RelaySeen& seen : board_.Relays()) {
      if (seen.name == name) return Status::Ok();
    }
    return Status::Permanent(Code::kNotFound, "No relay of this table serves such a sink.");
  }

  // Without the tables for it only the relays of this process are known.
  Result<RelayList> ReadRelays(Deadline deadline) const {
    const auto control = tables_.backend().OpenControl();
    auto relays = control->Relays(deadline);
    if (!relays.ok() && relays.error().code() == Code::kSchema) return RelayList{};
    if (!relays.ok()) return FromStore(relays.error());
    OUTBOX_ASSIGN_OR_RETURN(auto pauses, FromStore(control->Pauses(deadline)));
    return RelayList{.relays = *std::move(relays), .pauses = std::move(pauses)};
  }

  static Status Carry(const Tables::Session& session, const RepairRequest& repair,
                      const Request& request, const Principal& who, AuditRecord& record) {
    store::RepairTarget target{.ids = {}, .filter = repair.filter, .audit = {}};
    const auto step = [&](bool dry_run, std::size_t limit) {
      return repair.retry ? session->Retry(repair.scope, target, dry_run, limit, request.deadline)
                          : session->Delete(repair.scope, target, dry_run, limit, request.deadline);
    };
    OUTBOX_ASSIGN_OR_RETURN(const std::size_t matched, step(true, repair.limit));
    if (repair.dry_run) {
      record.changed = matched;
      record.complete = true;
      return Status::Ok();
    }
    target.audit = store::Audit{.actor = ActorOf(who),
                                .request_id = request.id,
                                .filter = repair.filter_json,
                                .matched = matched};
    // No further than was counted: a relay may turn a retried message dead again meanwhile.
    while (record.changed < matched) {
      if (record.changed > 0 && request.deadline.remaining() < kRepairMargin) return Status::Ok();
      const std::size_t batch = std::min(kRepairBatch, matched - record.changed);
      const auto now = step(false, batch);
      if (!now.ok() && record.changed > 0 && now.error().code() == Code::kDeadline) {
        return Status::Ok();
      }
      OUTBOX_RETURN_IF_ERROR(now.error());
      record.changed += *now;
      if (*now < batch) break;
    }
    record.complete = true;
    return Status::Ok();
  }

  const Access& access_;
  Tables& tables_;
  const RelayBoard& board_;
  RelaySwitch& switch_;
  LiveEvents& events_;
  const OperatorApiOptions options_;
};

}  // namespace

void AddOperatorApi(Router& router, Access& access, Tables& tables, const RelayBoard& board,
                    RelaySwitch& relay_switch, LiveEvents& events, OperatorApiOptions options) {
  const auto api = std::make_shared<const OperatorApi>(access, tables, board, relay_switch, events,
                                                       std::move(options));
  using Endpoint = Result<Response> (OperatorApi::*)(const Request&, const Principal&) const;
  const auto call = [&](Endpoint endpoint) {
    return [api, endpoint](const Request& request, const Principal& who) {
      Result<Response> answer = ((*api).*endpoint)(request, who);
      return answer.ok() ? *std::move(answer) : ProblemOf(answer.error());
    };
  };
  const auto add = [&](Method method, const char* path, Endpoint endpoint) {
    router.Add(method, path, access.Operators(call(endpoint)));
  };
  add(Method::kGet, "/api/v1/operator/relays", &OperatorApi::Relays);
  add(Method::kGet, "/api/v1/operator/stats", &OperatorApi::Stats);
  add(Method::kGet, "/api/v1/operator/config", &OperatorApi::Config);
  // Needs no worker, so that any number of listeners can come at once; so it may not wait.
  router.Add(Method::kGet, "/api/v1/operator/events",
             access.Operators(call(&OperatorApi::Events), std::chrono::milliseconds(0)),
             {.quick = true});
  add(Method::kGet, "/api/v1/operator/audit", &OperatorApi::Audit);
  add(Method::kPost, "/api/v1/operator/tables/{table}/repair", &OperatorApi::Repair);
  add(Method::kPost, "/api/v1/operator/tables/{table}/pause", &OperatorApi::Pause);
  add(Method::kPost, "/api/v1/operator/tables/{table}/resume", &OperatorApi::Resume);
}

}  // namespace outbox::service
