#include "config/key.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/mask_address.h"
#include "base/text.h"
#include "config/value.h"
#include "sink/option_table.h"

namespace outbox::config {
namespace {

struct KeyText {
  std::string_view name;
  std::string_view environment;
  std::string_view table_name;
  std::string_view help;
  std::string (*mask)(std::string_view text) = nullptr;
};

std::string Masked(std::string_view address) { return base::MaskAddress(address); }

// `Field` maps Settings to the member the key stands for; the member's type does the rest.
template <typename FieldFn>
constexpr Key MakeKey(KeyText text, FieldFn) {
  using Member = std::remove_cvref_t<decltype(FieldFn{}(std::declval<Settings&>()))>;
  return Key{
      .name = text.name,
      .environment = text.environment,
      .table_name = text.table_name,
      .help = text.help,
      .type = TypeName(static_cast<const Member*>(nullptr)),
      .mask = text.mask,
      .set = [](Settings& s, std::string_view value) { return Read(value, FieldFn{}(s)); },
      .print = [](const Settings& s) { return Print(FieldFn{}(s)); },
  };
}

#define OUTBOX_FIELD(member) \
  [](auto& s) -> auto& { return s.member; }

Status SetPollInterval(Settings& s, std::string_view text) {
  OUTBOX_RETURN_IF_ERROR(Read(text, s.relay.poll_min));
  s.relay.poll_max = s.relay.poll_min;
  return Status::Ok();
}

// No pattern would be every topic, which is not what an empty list looks like.
Status SetTopics(Settings& s, std::string_view text) {
  std::vector<std::string> topics;
  OUTBOX_RETURN_IF_ERROR(Read(text, topics));
  if (topics.empty()) {
    return Status::Invalid("has no pattern").WithHint("leave it out, or write #, for every topic");
  }
  s.relay.filter.topics = std::move(topics);
  return Status::Ok();
}

Status SetRetention(Settings& s, std::string_view text) {
  OUTBOX_RETURN_IF_ERROR(ReadRetention(text, s.cleaner.retention));
  s.relay.retention = s.cleaner.retention;
  return Status::Ok();
}

service::SecretSource FirstSecret(const Settings& s) {
  const auto& secrets = s.service.auth.secrets;
  return secrets.empty() ? service::SecretSource() : secrets.front();
}

service::SecretSource& MakeSecret(Settings& s) {
  auto& secrets = s.service.auth.secrets;
  if (secrets.empty()) secrets.emplace_back();
  return secrets.front();
}

Status SetSecretFile(Settings& s, std::string_view text) { return Read(text, MakeSecret(s).file); }
Status SetSecretVariable(Settings& s, std::string_view text) {
  return Read(text, MakeSecret(s).env);
}

Status SetPublicKeys(Settings& s, std::string_view text) {
  std::vector<std::string> files;
  OUTBOX_RETURN_IF_ERROR(Read(text, files));
  s.service.auth.public_keys.clear();
  for (std::string& file : files) s.service.auth.public_keys.push_back({.file = std::move(file)});
  return Status::Ok();
}

std::string PrintPublicKeys(const Settings& s) {
  std::vector<std::string> files;
  for (const auto& key : s.service.auth.public_keys) files.push_back(key.file);
  return Print(files);
}

const std::array kKeys{
    MakeKey({"database", "OUTBOX_DB", "",
             "The database: `postgres://…`, a libpq DSN, or `sqlite:PATH`.", Masked},
            OUTBOX_FIELD(database)),
    MakeKey(
        {"database_wait", "OUTBOX_DB_WAIT", "",
         "How long `serve` and `relay` wait at their start for a database that is away; `0` fails "
         "at once."},
        OUTBOX_FIELD(database_wait)),
    MakeKey({"profile", "OUTBOX_PROFILE", "profile",
             "Defaults to start from: default, orders, leased, toolkit, notifications or "
             "domain-events."},
            OUTBOX_FIELD(profile)),
    MakeKey({"log.level", "OUTBOX_LOG_LEVEL", "", "Log lines below this level are not written."},
            OUTBOX_FIELD(log.level)),
    MakeKey({"log.format", "OUTBOX_LOG_FORMAT", "", "How log lines are written."},
            OUTBOX_FIELD(log.format)),

    MakeKey({"relay.enabled", "OUTBOX_RELAY_ENABLED", "enabled",
             "False delivers nothing; messages wait."},
            OUTBOX_FIELD(relay_enabled)),
    MakeKey({"relay.tables", "OUTBOX_RELAY_TABLES", "",
             "Tables to deliver from, besides those with a `[[table]]` of their own."},
            OUTBOX_FIELD(relay_tables)),
    MakeKey({"relay.sink", "OUTBOX_RELAY_SINK", "sink", "Where messages go, as an address.",
             sink::MaskSinkAddress},
            OUTBOX_FIELD(sink)),
    MakeKey({"relay.body", "OUTBOX_RELAY_BODY", "body",
             "What of a message travels as its body, where the sink's address does not say: the "
             "`plain` payload, or also the message's id and metadata. Empty: as is usual for the "
             "sink."},
            OUTBOX_FIELD(sink_defaults.body)),
    MakeKey(
        {"relay.mandatory", "OUTBOX_RELAY_MANDATORY", "mandatory",
         "RabbitMQ, where its address does not say: a message that no queue takes is a failure; "
         "false counts it as delivered."},
        OUTBOX_FIELD(sink_defaults.mandatory)),
    MakeKey(
        {"relay.unrouted", "OUTBOX_RELAY_UNROUTED", "unrouted",
         "What becomes of a message that no `[[route]]` takes: `error` keeps it pending, `drop` "
         "counts it as delivered."},
        OUTBOX_FIELD(unrouted)),
    MakeKey({"relay.completion", "OUTBOX_RELAY_COMPLETION", "completion",
             "With routes: a message is delivered when all of its sinks have it, or any."},
            OUTBOX_FIELD(relay.completion)),
    MakeKey({"relay.concurrency", "OUTBOX_RELAY_CONCURRENCY", "concurrency",
             "Calls to the sink at a time; `0` is what the sink itself allows."},
            OUTBOX_FIELD(limits.concurrency)),
    MakeKey({"relay.sink_batch", "OUTBOX_RELAY_SINK_BATCH", "sink_batch",
             "Messages in one call to the sink, at most; `0` is what the sink itself takes."},
            OUTBOX_FIELD(limits.batch)),
    MakeKey({"relay.rate_limit", "OUTBOX_RELAY_RATE_LIMIT", "rate_limit",
             "Messages a second, at most; `0` is without limit."},
            OUTBOX_FIELD(limits.per_second)),
    MakeKey({"relay.rate_burst", "OUTBOX_RELAY_RATE_BURST", "rate_burst",
             "Messages that may go at once after a pause; `0` is those of one second."},
            OUTBOX_FIELD(limits.burst)),
    MakeKey({"relay.breaker_failures", "OUTBOX_RELAY_BREAKER_FAILURES", "breaker_failures",
             "Failures in a row after which the sink counts as down; `0` never."},
            OUTBOX_FIELD(limits.breaker_failures)),
    MakeKey({"relay.breaker_cooldown", "OUTBOX_RELAY_BREAKER_COOLDOWN", "breaker_cooldown",
             "How long it is then left alone before a message is tried again."},
            OUTBOX_FIELD(limits.breaker_cooldown)),
    MakeKey(
        {"relay.claim", "OUTBOX_RELAY_CLAIM", "claim",
         "`lease` publishes outside any transaction; `transaction` keeps rows locked while they "
         "are published."},
        OUTBOX_FIELD(relay.claim_mode)),
    MakeKey({"relay.namespace", "OUTBOX_RELAY_NAMESPACE", "namespace",
             "Deliver only messages of this namespace."},
            OUTBOX_FIELD(relay.filter.name_space)),
    Key{.name = "relay.topics",
        .environment = "OUTBOX_RELAY_TOPICS",
        .table_name = "topics",
        .help = "Deliver only topics that match one of these patterns: `orders.*.created.v1`, "
                "`billing.#`.",
        .type = "list",
        .set = SetTopics,
        .print = [](const Settings& s) { return Print(s.relay.filter.topics); }},
    MakeKey(
        {"relay.tenant", "OUTBOX_RELAY_TENANT", "tenant", "Deliver only messages of this tenant."},
        OUTBOX_FIELD(relay.filter.tenant_id)),
    MakeKey({"relay.batch_size", "OUTBOX_RELAY_BATCH_SIZE", "batch_size",
             "Messages per claim. Larger is faster, and repeats more after a crash."},
            OUTBOX_FIELD(relay.batch_size)),
    MakeKey({"relay.window", "OUTBOX_RELAY_WINDOW", "window",
             "Messages claimed and not yet settled, at most."},
            OUTBOX_FIELD(relay.window)),
    MakeKey({"relay.lease", "OUTBOX_RELAY_LOCK_TTL", "lease",
             "How long a claim is this relay's without a heartbeat."},
            OUTBOX_FIELD(relay.lease)),
    Key{.name = "relay.poll_interval",
        .environment = "OUTBOX_RELAY_POLL_INTERVAL",
        .table_name = "poll_interval",
        .help =
            "Poll at a fixed rate: sets `poll_min` and `poll_max`. At most a third of the lease.",
        .type = "duration",
        .set = SetPollInterval,
        .print = [](const Settings&) { return std::string(); }},
    MakeKey({"relay.poll_min", "OUTBOX_RELAY_POLL_MIN", "poll_min",
             "The first wait after an empty poll."},
            OUTBOX_FIELD(relay.poll_min)),
    MakeKey(
        {"relay.poll_max", "OUTBOX_RELAY_POLL_MAX", "poll_max", "The wait it grows to while idle."},
        OUTBOX_FIELD(relay.poll_max)),
    MakeKey({"relay.listen", "OUTBOX_RELAY_LISTEN", "listen",
             "PostgreSQL: also wake up by NOTIFY (`outboxd migrate up --notify`)."},
            OUTBOX_FIELD(relay.listen)),
    MakeKey({"relay.reconnect_max", "OUTBOX_RELAY_RECONNECT_MAX", "reconnect_max",
             "The longest wait between attempts to reach a database that is away; after a minute "
             "five times that."},
            OUTBOX_FIELD(relay.reconnect_max)),
    MakeKey({"relay.dispatch_timeout", "OUTBOX_RELAY_DISPATCH_TIMEOUT", "dispatch_timeout",
             "How long the sink may take to answer."},
            OUTBOX_FIELD(relay.dispatch_timeout)),
    MakeKey({"relay.max_attempts", "OUTBOX_RELAY_MAX_ATTEMPTS", "max_attempts",
             "Deliveries tried altogether, the first included; then the message is dead."},
            OUTBOX_FIELD(relay.retry.attempts_max)),
    MakeKey({"relay.retry_base", "OUTBOX_RELAY_RETRY_BASE", "retry_base",
             "The wait after the first failure; it doubles with each further one."},
            OUTBOX_FIELD(relay.retry.base)),
    MakeKey({"relay.retry_cap", "OUTBOX_RELAY_RETRY_CAP", "retry_cap",
             "The wait does not grow beyond this."},
            OUTBOX_FIELD(relay.retry.cap)),
    MakeKey({"relay.retry_jitter", "OUTBOX_RELAY_RETRY_JITTER", "retry_jitter",
             "`equal`: between half the wait and all of it; `additive`: up to `retry_jitter_max` "
             "more."},
            OUTBOX_FIELD(relay.retry.jitter)),
    MakeKey({"relay.retry_jitter_max", "OUTBOX_RELAY_RETRY_JITTER_MAX", "retry_jitter_max",
             "For `retry_jitter = \"additive\"`."},
            OUTBOX_FIELD(relay.retry.jitter_additive_max)),
    MakeKey({"relay.retry_schedule", "OUTBOX_RELAY_RETRY_SCHEDULE", "retry_schedule",
             "Waits after the first, second, … failure, the last for ever after; replaces base and "
             "cap."},
            OUTBOX_FIELD(relay.retry.schedule)),
    MakeKey({"relay.probe_min", "OUTBOX_RELAY_PROBE_MIN", "probe_min",
             "The first wait between probes while the sink is down."},
            OUTBOX_FIELD(relay.probe_min)),
    MakeKey({"relay.probe_max", "OUTBOX_RELAY_PROBE_MAX", "probe_max", "The longest one."},
            OUTBOX_FIELD(relay.probe_max)),
    MakeKey({"relay.last_error_max_bytes", "OUTBOX_LAST_ERROR_MAX_BYTES", "last_error_max_bytes",
             "Recorded errors are cut to this length."},
            OUTBOX_FIELD(relay.last_error_bytes_max)),
    MakeKey({"relay.async_ack", "OUTBOX_RELAY_ASYNC_ACK", "async_ack",
             "Settle without waiting for the disk. A database crash may repeat deliveries, and "
             "loses none."},
            OUTBOX_FIELD(relay.async_ack)),
    MakeKey({"relay.attempt_history", "OUTBOX_RELAY_ATTEMPT_HISTORY", "attempt_history",
             "Attempts noted in `<table>_attempt`: `failures` those that failed or were cut off, "
             "`all` also successes."},
            OUTBOX_FIELD(relay.attempt_history)),
    MakeKey({"relay.single_active", "OUTBOX_RELAY_SINGLE_ACTIVE", "single_active",
             "One relay at a time per table; the others stand by."},
            OUTBOX_FIELD(relay.single_active)),
    MakeKey({"relay.id", "OUTBOX_RELAY_ID", "id",
             "Names this relay in `locked_by`; made up when empty."},
            OUTBOX_FIELD(relay.relay_id)),
    MakeKey({"relay.shutdown_timeout", "OUTBOX_RELAY_SHUTDOWN_TIMEOUT", "shutdown_timeout",
             "How long a stopping relay waits for dispatches under way."},
            OUTBOX_FIELD(relay.shutdown_timeout)),
    MakeKey({"relay.heartbeat_interval", "OUTBOX_RELAY_HEARTBEAT_INTERVAL", "",
             "How often this process tells the database how its relays stand, and asks which are "
             "paused."},
            OUTBOX_FIELD(heartbeat_interval)),

    MakeKey({"cleaner.enabled", "OUTBOX_CLEANER_ENABLED", "", "False removes nothing."},
            OUTBOX_FIELD(cleaner.enabled)),
    MakeKey({"cleaner.tables", "OUTBOX_CLEANER_TABLES", "",
             "Tables to clean; empty: those the relay delivers from."},
            OUTBOX_FIELD(cleaner_tables)),
    MakeKey({"cleaner.interval", "OUTBOX_CLEANER_INTERVAL", "", "The wait between two rounds."},
            OUTBOX_FIELD(cleaner.interval)),
    Key{.name = "cleaner.retention",
        .environment = "OUTBOX_CLEANER_RETENTION",
        .table_name = "retention",
        .help = "How long delivered messages are kept; `0` deletes them as they are settled.",
        .type = kRetentionType,
        .set = SetRetention,
        .print = [](const Settings& s) { return PrintRetention(s.cleaner.retention); }},
    Key{.name = "cleaner.dead_retention",
        .environment = "OUTBOX_CLEANER_DEAD_RETENTION",
        .table_name = "dead_retention",
        .help = "How long dead messages are kept; `0` means `forever`.",
        .type = kRetentionType,
        .set = [](Settings& s,
                  std::string_view text) { return ReadRetention(text, s.cleaner.dead_retention); },
        .print = [](const Settings& s) { return PrintRetention(s.cleaner.dead_retention); }},
    Key{.name = "cleaner.audit_retention",
        .environment = "OUTBOX_CLEANER_AUDIT_RETENTION",
        .table_name = "audit_retention",
        .help = "How long the audit of repairs and pauses is kept, at least `30d`; `0` means "
                "`forever`.",
        .type = kRetentionType,
        .set = [](Settings& s,
                  std::string_view text) { return ReadRetention(text, s.cleaner.audit_retention); },
        .print = [](const Settings& s) { return PrintRetention(s.cleaner.audit_retention); }},
    MakeKey({"cleaner.batch_size", "OUTBOX_CLEANER_BATCH_SIZE", "", "Rows per delete statement."},
            OUTBOX_FIELD(cleaner.batch_size)),

    MakeKey({"service.listen", "OUTBOX_SERVICE_LISTEN", "",
             "Where the HTTP service listens: `127.0.0.1:8080`, `[::1]:8080`. Empty: nowhere."},
            OUTBOX_FIELD(service.listen)),
    MakeKey({"service.admin_listen", "OUTBOX_SERVICE_ADMIN_LISTEN", "",
             "With it, the operators' API, metrics and health are here and not at `listen`."},
            OUTBOX_FIELD(service.admin_listen)),
    MakeKey({"service.tls_certificate", "OUTBOX_SERVICE_TLS_CERTIFICATE", "",
             "Certificate chain (PEM); with `tls_key`, HTTPS only."},
            OUTBOX_FIELD(service.tls_certificate)),
    MakeKey({"service.tls_key", "OUTBOX_SERVICE_TLS_KEY", "", "Its private key (PEM)."},
            OUTBOX_FIELD(service.tls_key)),
    MakeKey({"service.cors_origins", "OUTBOX_SERVICE_CORS_ORIGINS", "",
             "Pages of these origins may call the API; empty: of none."},
            OUTBOX_FIELD(service.cors_origins)),
    MakeKey({"service.auth_none", "OUTBOX_SERVICE_AUTH_NONE", "",
             "True lets everybody do everything, at loopback addresses only."},
            OUTBOX_FIELD(service.auth.none)),
    Key{.name = "service.auth_secret_file",
        .environment = "OUTBOX_SERVICE_AUTH_SECRET_FILE",
        .table_name = "",
        .help = "A file with the secret (HS256) that tokens are signed with: "
                "`outboxd token --new-secret`.",
        .type = "text",
        .set = SetSecretFile,
        .print = [](const Settings& s) { return FirstSecret(s).file; }},
    Key{.name = "service.auth_secret_env",
        .environment = "OUTBOX_SERVICE_AUTH_SECRET_ENV",
        .table_name = "",
        .help = "The same, as the name of an environment variable.",
        .type = "text",
        .set = SetSecretVariable,
        .print = [](const Settings& s) { return FirstSecret(s).env; }},
    Key{.name = "service.auth_public_keys",
        .environment = "OUTBOX_SERVICE_AUTH_PUBLIC_KEYS",
        .table_name = "",
        .help = "Files with public keys (PEM): RSA for RS256, P-256 for ES256.",
        .type = "list",
        .set = SetPublicKeys,
        .print = PrintPublicKeys},
    MakeKey({"service.auth_jwks_file", "OUTBOX_SERVICE_AUTH_JWKS_FILE", "",
             "A key set (JWKS) in a file, read again when it changes."},
            OUTBOX_FIELD(service.auth.jwks_file)),
    MakeKey({"service.auth_jwks_url", "OUTBOX_SERVICE_AUTH_JWKS_URL", "",
             "A key set behind `https:`, fetched now and then and when a token names a new key.",
             Masked},
            OUTBOX_FIELD(service.auth.jwks_url)),
    MakeKey({"service.auth_issuers", "OUTBOX_SERVICE_AUTH_ISSUERS", "",
             "Whose tokens are accepted: `iss`."},
            OUTBOX_FIELD(service.auth.issuers)),
    MakeKey({"service.auth_audiences", "OUTBOX_SERVICE_AUTH_AUDIENCES", "",
             "For whom a token must be made: `aud`."},
            OUTBOX_FIELD(service.auth.audiences)),
    MakeKey({"service.auth_leeway", "OUTBOX_SERVICE_AUTH_LEEWAY", "",
             "How far clocks may be apart, at most `60s`."},
            OUTBOX_FIELD(service.auth.leeway)),
    MakeKey({"service.auth_tenant_claim", "OUTBOX_SERVICE_AUTH_TENANT_CLAIM", "",
             "The claim that names the tenant."},
            OUTBOX_FIELD(service.auth.claims.tenant)),
    MakeKey({"service.auth_permissions_claim", "OUTBOX_SERVICE_AUTH_PERMISSIONS_CLAIM", "",
             "The claim that lists permissions, besides `scope`."},
            OUTBOX_FIELD(service.auth.claims.permissions)),
    MakeKey({"service.auth_operator_scope", "OUTBOX_SERVICE_AUTH_OPERATOR_SCOPE", "",
             "The scope of those who see all tenants."},
            OUTBOX_FIELD(service.auth.operator_scope)),
    MakeKey({"service.rate_limit", "OUTBOX_SERVICE_RATE_LIMIT", "",
             "Requests a second of one subject (`sub`) of a tenant, with all of its tokens."},
            OUTBOX_FIELD(service.rate_limit)),
    MakeKey(
        {"service.rate_burst", "OUTBOX_SERVICE_RATE_BURST", "", "Requests at once after a pause."},
        OUTBOX_FIELD(service.rate_burst)),
    MakeKey({"service.refusal_limit", "OUTBOX_SERVICE_REFUSAL_LIMIT", "",
             "Refused tokens a second of one address; beyond it the answer is 429."},
            OUTBOX_FIELD(service.refusal_limit)),
    MakeKey({"service.refusal_burst", "OUTBOX_SERVICE_REFUSAL_BURST", "",
             "Refused tokens at once after a pause."},
            OUTBOX_FIELD(service.refusal_burst)),
    MakeKey(
        {"service.workers", "OUTBOX_SERVICE_WORKERS", "", "Requests that are worked on at a time."},
        OUTBOX_FIELD(service.workers)),
    MakeKey({"service.connections", "OUTBOX_SERVICE_CONNECTIONS", "",
             "Connections that are open at a time at `service.listen`."},
            OUTBOX_FIELD(service.connections)),
    MakeKey({"service.connections_per_address", "OUTBOX_SERVICE_CONNECTIONS_PER_ADDRESS", "",
             "Of those, from one address, which may be a proxy's; 0 is no limit."},
            OUTBOX_FIELD(service.connections_per_address)),
    MakeKey({"service.admin_connections", "OUTBOX_SERVICE_ADMIN_CONNECTIONS", "",
             "Connections that are open at a time at `service.admin_listen`."},
            OUTBOX_FIELD(service.admin_connections)),
    MakeKey({"service.enqueue", "OUTBOX_SERVICE_ENQUEUE", "",
             "True lets holders of the permission enqueue messages over HTTP."},
            OUTBOX_FIELD(service.enqueue)),
    MakeKey({"service.notification_table", "OUTBOX_SERVICE_NOTIFICATION_TABLE", "",
             "The table behind `/api/v1/notification-outbox`."},
            OUTBOX_FIELD(service.notification_table)),
    MakeKey({"service.stalled_after", "OUTBOX_SERVICE_STALLED_AFTER", "",
             "`/readyz` fails when work has been due for this long and nothing was settled."},
            OUTBOX_FIELD(service.stalled_after)),
    MakeKey({"metrics.enabled", "PROMETHEUS_METRICS_ENABLED", "",
             "Whether the HTTP service offers metrics."},
            OUTBOX_FIELD(service.metrics.enabled)),
    MakeKey({"metrics.path", "PROMETHEUS_METRICS_PATH", "", "Where a scrape is answered."},
            OUTBOX_FIELD(service.metrics.path)),
    MakeKey({"metrics.topics_max", "OUTBOX_METRICS_TOPICS_MAX", "",
             "Topics with series of their own; the rest is `other`."},
            OUTBOX_FIELD(service.metrics.topics_max)),
    MakeKey({"metrics.sample_interval", "OUTBOX_METRICS_SAMPLE_INTERVAL", "",
             "How often tables are counted for the gauges."},
            OUTBOX_FIELD(service.metrics.sample_interval)),
};

#undef OUTBOX_FIELD

}  // namespace

std::string Key::flag() const {
  if (table_name.empty()) return {};
  std::string flag = base::StrCat("--", table_name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string Key::PrintMasked(const Settings& settings) const {
  std::string text = print(settings);
  return mask != nullptr ? mask(text) : text;
}

std::span<const Key> Keys() { return kKeys; }

const Key* FindKey(std::string_view name) {
  const auto* found =
      std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& key) { return key.name == name; });
  return found == kKeys.end() ? nullptr : found;
}

const Key* FindTableKey(std::string_view table_name) {
  if (table_name.empty()) return nullptr;
  const auto* found = std::find_if(kKeys.begin(), kKeys.end(),
                                   [&](const Key& key) { return key.table_name == table_name; });
  return found == kKeys.end() ? nullptr : found;
}

std::vector<std::string_view> KeysSetBy(std::string_view name) {
  if (name == "relay.poll_interval") return {"relay.poll_min", "relay.poll_max"};
  return {};
}

}  // namespace outbox::config
