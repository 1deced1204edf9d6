#include "service/api/service.h"

#include <future>
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
#include "service/auth/key_sources.h"
#include "service/http/problem.h"
#include "service/http/server.h"
#include "service/http/tls_context.h"
#include "service/metrics/stats_sampler.h"
#include "service_api/openapi.h"

namespace outbox::service {
namespace {

constexpr std::chrono::seconds kOpenTime{10};
// The operators' server is small, and its own: what comes to the other one takes nothing from it.
constexpr std::size_t kAdminWorkers = 2;
constexpr std::size_t kAdminQueueMax = 16;

Result<std::vector<SampledTable>> Sampled(Tables& tables) {
  std::vector<SampledTable> sampled;
  for (const std::string& name : tables.names()) {
    OUTBOX_ASSIGN_OR_RETURN(auto store,
                            tables.backend().OpenInspect(name, Deadline::After(kOpenTime)));
    sampled.push_back({name, AskStatsOf(std::shared_ptr<store::InspectStore>(std::move(store)))});
  }
  return sampled;
}

std::set<std::string> LimitedTables(const ServiceParts& parts) {
  std::set<std::string> names;
  for (const std::string& name : parts.limited) names.insert(parts.backend.DisplayName(name));
  return names;
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

// Tells whoever comes along what this is, and where to read on.
constexpr std::string_view kRoot =
    R"({"service":"outboxd","description":"Delivers the messages of transactional outboxes",)"
    R"("links":{"docs":"/docs","openapi":"/openapi.json"}})";

void AddDocuments(Router& router) {
  router.Add(Method::kGet, "/",
             [](const Request&) { return JsonResponse(200, std::string(kRoot)); }, {.quick = true});
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
        access(std::move(authenticator),
               {.per_second = static_cast<double>(options.rate_limit),
                .burst = static_cast<double>(options.rate_burst)},
               {.per_second = static_cast<double>(options.refusal_limit),
                .burst = static_cast<double>(options.refusal_burst)},
               options.cors_origins),
        health(tables, *parts.board, [this] { return access.authenticator().ready(); },
               {.stalled_after = options.stalled_after, .limited = LimitedTables(parts)}),
        events(*parts.board),
        watch(std::make_shared<RequestWatch>(parts.logger, parts.metrics)) {}

  void AddPublic(Router& router, const ServiceOptions& options) {
    AddMessageApi(router, access, tables,
                  {.enqueue = options.enqueue, .enqueued = parts.metrics.get()});
    AddNotificationApi(
        router, access, tables,
        {.table = options.notification_table, .attempts_max = parts.notification_attempts_max});
    AddDocuments(router);
  }
  void AddAdmin(Router& router, const ServiceOptions& options) {
    // At an address of its own it is among operators.
    const bool open = options.admin_listen.empty();
    AddHealth(router, health, [this, open](const Request& request) {
      return open ? access.IsOperator(request) : !access.IsOfOthers(request);
    });
    AddOperatorApi(router, access, tables, *parts.board, *parts.relay_switch, events,
                   {.process = parts.process,
                    .config_json = parts.config_json,
                    .audit = AuditLog(parts.logger)});
    if (!options.metrics.enabled) return;
    router.Add(Method::kGet, options.metrics.path,
               [this](const Request&) {
                 return Response{.content_type = std::string(MetricsObserver::kContentType),
                                 .body = parts.metrics->Exposition()};
               },
               {.apart = true});
  }

  // Without an admin_listen the one server has everything.
  Status StartServers(const ServiceOptions& options, const std::shared_ptr<const Router>& open,
                      const std::shared_ptr<const Router>& admin) {
    if (!options.listen.empty()) {
      ServerOptions server{.worker_threads = options.workers, .cors_origins = options.cors_origins};
      server.limits.connections_max = options.connections;
      server.limits.connections_per_address_max = options.connections_per_address;
      OUTBOX_RETURN_IF_ERROR(StartServer(std::move(server), options, options.listen, open));
    }
    if (!options.admin_listen.empty()) {
      ServerOptions server{.io_threads = 1,
                           .worker_threads = kAdminWorkers,
                           .worker_queue_max = kAdminQueueMax,
                           .cors_origins = options.cors_origins};
      server.limits.connections_max = options.admin_connections;
      OUTBOX_RETURN_IF_ERROR(StartServer(std::move(server), options, options.admin_listen, admin));
    }
    return Status::Ok();
  }
  Status StartServer(ServerOptions server, const ServiceOptions& options,
                     const std::vector<std::string>& addresses,
                     const std::shared_ptr<const Router>& router) {
    server.before_body = [this](const Request& request) -> std::optional<Response> {
      if (request.route.starts_with("/api/")) return access.Refusal(request);
      return Problem(413, "body_too_large", "The body is too large", "This path takes no body.");
    };
    std::optional<TlsOptions> files;
    if (tls) files = {options.tls_certificate, options.tls_key};
    std::vector<ListenerOptions> listeners;
    for (const std::string& text : addresses) {
      OUTBOX_ASSIGN_OR_RETURN(ListenAddress address, ParseListenAddress(text));
      listeners.push_back({std::move(address), router, files});
    }
    OUTBOX_ASSIGN_OR_RETURN(auto started, Server::Start(std::move(server), listeners, watch));
    servers.push_back(std::move(started));
    return Status::Ok();
  }

  const ServiceParts parts;
  Tables tables;
  Access access;
  Health health;
  LiveEvents events;
  std::unique_ptr<StatsSampler> sampler;
  std::shared_ptr<const Router> all;  // the router that has every route
  const std::shared_ptr<RequestWatch> watch;
  bool tls = false;
  std::vector<std::unique_ptr<Server>> servers;  // for everybody, for operators
};

Service::Service(std::unique_ptr<Running> running) : running_(std::move(running)) {}

Service::~Service() { running_->parts.board->Tell(nullptr); }

std::vector<Service::Finding> Service::Check(const ServiceOptions& options) {
  std::vector<Finding> findings;
  if (!options.enabled()) return findings;
  const auto add = [&](std::string_view key, Status status) {
    if (!status.ok()) findings.push_back({key, std::move(status)});
  };
  add("service.cors_origins", Validate(ServerOptions{.cors_origins = options.cors_origins}));
  if (!options.tls_certificate.empty() && !options.tls_key.empty()) {
    add("service.tls_certificate",
        MakeTlsContext({options.tls_certificate, options.tls_key}).error());
  }
  const auto add_keys = [&](std::string_view key, const AuthOptions& keys) {
    add(key, OpenKeySources(keys, [](const auto&) {}, {}).error());
  };
  for (const SecretSource& secret : options.auth.secrets) {
    if (secret.file.empty() == secret.env.empty()) continue;  // told by ServiceOptions::Problems
    add_keys(secret.file.empty() ? "service.auth_secret_env" : "service.auth_secret_file",
             {.secrets = {secret}});
  }
  for (const PublicKeySource& key : options.auth.public_keys) {
    add_keys("service.auth_public_keys", {.public_keys = {key}});
  }
  add_keys("service.auth_jwks_file", {.jwks_file = options.auth.jwks_file});
  return findings;
}

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

  running->tls = !options.tls_certificate.empty();
  if (options.metrics.enabled) {
    OUTBOX_ASSIGN_OR_RETURN(auto sampled, Sampled(running->tables));
    running->sampler = StatsSampler::Start(std::move(sampled), options.metrics.sample_interval,
                                           running->parts.metrics, running->parts.observers);
  }
  OUTBOX_RETURN_IF_ERROR(running->StartServers(options, open, admin));
  // Last: had anything failed, there would be nobody left to tell.
  running->parts.board->Tell(
      [events = &running->events](const RelaySeen& relay) { events->Changed(relay); });
  return std::unique_ptr<Service>(new Service(std::move(running)));
}

std::vector<std::string> Service::addresses() const {
  std::vector<std::string> addresses;
  for (const auto& server : running_->servers) {
    for (const ListenAddress& address : server->addresses()) {
      addresses.push_back(base::StrCat(running_->tls ? "https://" : "http://", address.ToString()));
    }
  }
  return addresses;
}

std::vector<std::string> Service::routes() const { return running_->all->Routes(); }

Status Service::ReloadTls() {
  for (const auto& server : running_->servers) OUTBOX_RETURN_IF_ERROR(server->ReloadTls());
  return Status::Ok();
}

void Service::BeginStop() { running_->health.BeginStop(); }

Status Service::Stop(Deadline deadline) {
  BeginStop();
  running_->events.Close();
  // At the same time: one that takes long leaves the other its time.
  std::vector<std::future<Status>> stops;
  for (const auto& server : running_->servers) {
    stops.push_back(
        std::async(std::launch::async, [&server, deadline] { return server->Stop(deadline); }));
  }
  Status stopped;
  for (std::future<Status>& stop : stops) {
    const Status one = stop.get();
    if (stopped.ok()) stopped = one;
  }
  return stopped;
}

}  // namespace outbox::service
