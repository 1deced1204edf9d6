#include "service/api/service.h"

#include <utility>

#include "base/text.h"
#include "service/api/access.h"
#include "service/api/docs_page.h"
#include "service/api/health.h"
#include "service/api/live_events.h"
#include "service/api/message_api.h"
#include "service/api/notification_api.h"
#include "service/api/operator_api.h"
#include "service/api/request_watch.h"
#include "service/api/tables.h"
#include "service/http/server.h"
#include "service/metrics/stats_sampler.h"
#include "service_api/openapi.h"

namespace outbox::service {
namespace {

constexpr std::chrono::seconds kOpenTime{10};

Result<std::vector<SampledTable>> Sampled(Tables& tables) {
  std::vector<SampledTable> sampled;
  for (const std::string& name : tables.names()) {
    OUTBOX_ASSIGN_OR_RETURN(auto store,
                            tables.backend().OpenInspect(name, Deadline::After(kOpenTime)));
    sampled.push_back({name, AskStatsOf(std::shared_ptr<store::InspectStore>(std::move(store)))});
  }
  return sampled;
}

std::function<void(const AuditRecord&)> AuditLog(const log::Logger& logger) {
  return [&logger](const AuditRecord& record) {
    logger.Write(log::Level::kWarn, "audit",
                 {{"subject", record.subject},
                  {"request_id", record.request_id},
                  {"table", record.table},
                  {"action", record.action},
                  {"filter", record.filter},
                  {"changed", record.changed},
                  {"complete", record.complete}});
  };
}

void AddDocuments(Router& router) {
  router.Add(Method::kGet, "/openapi.json",
             [](const Request&) { return JsonResponse(200, std::string(kOpenApi)); },
             {.quick = true});
  const std::string page = DocsPage(kOpenApi);
  router.Add(Method::kGet, "/docs",
             [page](const Request&) {
               return Response{.content_type = "text/html; charset=utf-8",
                               .body = page,
                               .headers = {{"Content-Security-Policy",
                                            "default-src 'none'; style-src 'unsafe-inline'"}}};
             },
             {.quick = true});
}

}  // namespace

// Destroyed from the last to the first: the server goes before what its handlers use.
struct Service::Running {
  Running(ServiceParts given, std::unique_ptr<Authenticator> authenticator,
          const ServiceOptions& options)
      : parts(std::move(given)),
        tables(parts.backend, parts.tables),
        access(std::move(authenticator), {.per_second = static_cast<double>(options.rate_limit),
                                          .burst = static_cast<double>(options.rate_burst)}),
        health(tables, *parts.board, [this] { return access.authenticator().ready(); },
               {.stalled_after = options.stalled_after}),
        events(*parts.board) {}

  void AddPublic(Router& router, const ServiceOptions& options) {
    AddMessageApi(router, access, tables,
                  {.enqueue = options.enqueue, .enqueued = parts.metrics.get()});
    AddNotificationApi(
        router, access, tables,
        {.table = options.notification_table, .attempts_max = parts.notification_attempts_max});
    AddDocuments(router);
  }
  void AddAdmin(Router& router, const ServiceOptions& options) {
    AddHealth(router, health);
    AddOperatorApi(router, access, tables, *parts.board, *parts.relay_switch, events,
                   {.process = parts.process,
                    .config_json = parts.config_json,
                    .audit = AuditLog(parts.logger)});
    if (!options.metrics.enabled) return;
    router.Add(Method::kGet, options.metrics.path, [this](const Request&) {
      return Response{.content_type = std::string(MetricsObserver::kContentType),
                      .body = parts.metrics->Exposition()};
    });
  }

  const ServiceParts parts;
  Tables tables;
  Access access;
  Health health;
  LiveEvents events;
  std::unique_ptr<StatsSampler> sampler;
  std::shared_ptr<const Router> all;  // the router that has every route
  bool tls = false;
  std::unique_ptr<Server> server;
};

Service::Service(std::unique_ptr<Running> running) : running_(std::move(running)) {}

Service::~Service() { running_->parts.board->Tell(nullptr); }

Result<std::unique_ptr<Service>> Service::Start(const ServiceOptions& options, ServiceParts parts) {
  const log::Logger& logger = parts.logger;
  OUTBOX_ASSIGN_OR_RETURN(auto authenticator,
                          Authenticator::Open(options.auth, {.notice = [&logger](const auto& text) {
                                                logger.Write(log::Level::kWarn, text, {});
                                              }}));
  auto running = std::make_unique<Running>(std::move(parts), std::move(authenticator), options);
  const auto open = std::make_shared<Router>();
  const auto admin = options.admin_listen.empty() ? open : std::make_shared<Router>();
  running->AddPublic(*open, options);
  running->AddAdmin(*admin, options);
  if (admin != open) running->AddPublic(*admin, options);

  running->all = admin;

  std::vector<ListenerOptions> listeners;
  std::optional<TlsOptions> tls;
  if (!options.tls_certificate.empty()) tls = {options.tls_certificate, options.tls_key};
  running->tls = tls.has_value();
  for (const auto& [addresses, router] :
       {std::pair(options.listen, open), std::pair(options.admin_listen, admin)}) {
    for (const std::string& text : addresses) {
      OUTBOX_ASSIGN_OR_RETURN(ListenAddress address, ParseListenAddress(text));
      listeners.push_back({std::move(address), router, tls});
    }
  }
  if (options.metrics.enabled) {
    OUTBOX_ASSIGN_OR_RETURN(auto sampled, Sampled(running->tables));
    running->sampler = StatsSampler::Start(std::move(sampled), options.metrics.sample_interval,
                                           running->parts.metrics, running->parts.board);
  }
  OUTBOX_ASSIGN_OR_RETURN(
      running->server,
      Server::Start({.worker_threads = options.workers, .cors_origins = options.cors_origins},
                    listeners, std::make_shared<RequestWatch>(logger, running->parts.metrics)));
  // Last: had anything failed, there would be nobody left to tell.
  running->parts.board->Tell(
      [events = &running->events](const RelaySeen& relay) { events->Changed(relay); });
  return std::unique_ptr<Service>(new Service(std::move(running)));
}

std::vector<std::string> Service::addresses() const {
  std::vector<std::string> addresses;
  for (const ListenAddress& address : running_->server->addresses()) {
    addresses.push_back(base::StrCat(running_->tls ? "https://" : "http://", address.ToString()));
  }
  return addresses;
}

std::vector<std::string> Service::routes() const { return running_->all->Routes(); }

Status Service::Stop(Deadline deadline) {
  running_->events.Close();
  return running_->server->Stop(deadline);
}

}  // namespace outbox::service
