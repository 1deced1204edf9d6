#include "service/api/operator_api.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "service/api/repair_request.h"
#include "service/http/parameters.h"
#include "service/http/problem.h"
#include "store/stats_json.h"

namespace outbox::service {
namespace {

// Rows changed by one statement, so that locks are held shortly.
constexpr std::size_t kRepairBatch = 1000;
constexpr std::size_t kSinkBytesMax = 255;

class OperatorApi {
 public:
  OperatorApi(Tables& tables, const RelayBoard& board, RelaySwitch& relay_switch,
              LiveEvents& events, OperatorApiOptions options)
      : tables_(tables),
        board_(board),
        switch_(relay_switch),
        events_(events),
        options_(std::move(options)) {}

  Result<Response> Relays(const Request& request, const Principal&) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    std::vector<std::string> relays;
    for (const RelaySeen& relay : board_.Relays()) relays.push_back(ToJson(relay));
    return JsonResponse(200, base::JsonObject().AddRaw("relays", base::JsonArray(relays)).Finish());
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

  Result<Response> Events(const Request& request, const Principal&) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {}));
    OUTBOX_ASSIGN_OR_RETURN(auto stream, events_.Listen());
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
    const Status ended = Carry(session, repair, request.deadline, record.changed);
    record.complete = ended.ok();
    if (!repair.dry_run) options_.audit(record);
    OUTBOX_RETURN_IF_ERROR(ended);
    return JsonResponse(200, base::JsonObject()
                                 .Add("action", record.action)
                                 .Add("dry_run", repair.dry_run)
                                 .Add(repair.dry_run ? "matched" : "changed", record.changed)
                                 .Add("limit_reached", record.changed >= repair.limit)
                                 .Finish());
  }

 private:
  Result<Response> Turn(const Request& request, const Principal& who, bool hold) const {
    OUTBOX_RETURN_IF_ERROR(CheckParameters(request.query, {"sink"}));
    OUTBOX_ASSIGN_OR_RETURN(const auto sink, TextParameter(request.query, "sink", kSinkBytesMax));
    const std::string table = tables_.backend().DisplayName(std::string(request.Param("table")));
    const std::size_t relays = switch_.Hold(table, sink.value_or(""), hold);
    if (relays == 0) {
      return Status::Permanent(Code::kNotFound, "This process has no such relay.");
    }
    options_.audit({.subject = who.subject,
                    .request_id = request.id,
                    .table = table,
                    .action = hold ? "pause" : "resume",
                    .filter = base::JsonObject().AddUnlessEmpty("sink", sink.value_or("")).Finish(),
                    .changed = relays});
    return JsonResponse(
        200,
        base::JsonObject().Add("action", hold ? "pause" : "resume").Add("relays", relays).Finish());
  }

  static Status Carry(const Tables::Session& session, const RepairRequest& repair,
                      Deadline deadline, std::size_t& changed) {
    const store::RepairTarget target{.filter = repair.filter};
    while (changed < repair.limit) {
      const std::size_t batch =
          repair.dry_run ? repair.limit : std::min(kRepairBatch, repair.limit - changed);
      OUTBOX_ASSIGN_OR_RETURN(
          const std::size_t now,
          repair.retry ? session->Retry(repair.scope, target, repair.dry_run, batch, deadline)
                       : session->Delete(repair.scope, target, repair.dry_run, batch, deadline));
      changed += now;
      if (repair.dry_run || now < batch) break;
    }
    return Status::Ok();
  }

  Tables& tables_;
  const RelayBoard& board_;
  RelaySwitch& switch_;
  LiveEvents& events_;
  const OperatorApiOptions options_;
};

}  // namespace

void AddOperatorApi(Router& router, Access& access, Tables& tables, const RelayBoard& board,
                    RelaySwitch& relay_switch, LiveEvents& events, OperatorApiOptions options) {
  const auto api =
      std::make_shared<const OperatorApi>(tables, board, relay_switch, events, std::move(options));
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
  add(Method::kPost, "/api/v1/operator/tables/{table}/repair", &OperatorApi::Repair);
  add(Method::kPost, "/api/v1/operator/tables/{table}/pause", &OperatorApi::Pause);
  add(Method::kPost, "/api/v1/operator/tables/{table}/resume", &OperatorApi::Resume);
}

}  // namespace outbox::service
