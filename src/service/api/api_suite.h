// For tests: the whole service over a real database, with two tables, tokens, and messages in every
// state. Each answer to Call is held against the OpenAPI document.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "log/log_observer.h"
#include "log/logger.h"
#include "outbox/enqueue.h"
#include "outbox/relay.h"
#include "relay/observer_list.h"
#include "service/api/access.h"
#include "service/api/openapi_check.h"
#include "service/api/service.h"
#include "service/auth/mint.h"
#include "service/auth/secret.h"
#include "service/http/test_client.h"
#include "store/backend.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait.h"

namespace outbox::service {

using Json = nlohmann::json;

inline const Uuid kAnn = *Uuid::Parse("0190b6a0-7c1e-7abc-8def-0000000000a1");
inline const Uuid kBob = *Uuid::Parse("0190b6a0-7c1e-7abc-8def-0000000000b2");
inline constexpr const char* kNobodysId = "0190b6a0-7c1e-7abc-8def-00000000dead";
inline constexpr const char* kNotifications = "/api/v1/notification-outbox";
inline constexpr const char* kTestTopic = "orders.order.created.v1";

struct ApiParam {
  std::string name;
  // The database's address; empty for a new SQLite file.
  std::function<std::string()> url;
  std::function<std::string()> unavailable = [] { return std::string(); };
};

inline void PrintTo(const ApiParam& param, std::ostream* out) { *out << param.name; }
inline std::string ApiParamName(const ::testing::TestParamInfo<ApiParam>& info) {
  return info.param.name;
}

enum class Made { kPending, kFailed, kProcessing, kDelivered, kDead };

class ApiSuite : public ::testing::TestWithParam<ApiParam> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().unavailable(); !why.empty()) {
      if (std::getenv("CI") != nullptr) FAIL() << why;
      GTEST_SKIP() << why;
    }
    static std::atomic<int> number = 0;
    const std::string mark = base::StrCat(getpid(), "_", ++number);
    url_ = GetParam().url();
    if (url_.empty()) url_ = "sqlite:" + folder_.File("test.db");
    auto backend = store::OpenBackend(url_);
    ASSERT_OK(backend);
    backend_ = *std::move(backend);
    orders_ = backend_->DisplayName("api_orders_" + mark);
    notes_ = backend_->DisplayName("api_notes_" + mark);
    auto migrator = backend_->OpenMigrator(Soon());
    ASSERT_OK(migrator);
    migrator_ = *std::move(migrator);
    for (const std::string& table : {orders_, notes_}) {
      ASSERT_OK(migrator_->Up({.table = table}, Soon()));
    }
    auto session = backend_->OpenSession(Soon());
    ASSERT_OK(session);
    session_ = *std::move(session);
    ASSERT_OK(CreateSecretFile(folder_.File("secret")));
    secret_ = *ReadSecretFile(folder_.File("secret"));
    log_ = open(folder_.File("log").c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    options_.listen = {"127.0.0.1:0"};
    options_.auth.secrets = {{.file = folder_.File("secret")}};
    options_.rate_limit = options_.rate_burst = 100'000;
    options_.notification_table = notes_;
    options_.metrics.sample_interval = std::chrono::seconds(1);
  }
  void TearDown() override {
    service_.reset();
    session_.reset();
    for (const std::string& table : {orders_, notes_}) {
      if (migrator_ == nullptr) break;
      EXPECT_OK(migrator_->Down({.table = table, .discard_undelivered = true}, Soon()));
    }
    if (log_ >= 0) close(log_);
  }

  static Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

  void StartService() {
    logger_ = std::make_shared<log::Logger>(log::LogOptions{.format = log::Format::kJson}, log_);
    board_ = std::make_shared<RelayBoard>();
    switch_ = std::make_shared<RelaySwitch>();
    metrics_ = std::make_shared<MetricsObserver>(options_.metrics);
    const std::vector<std::shared_ptr<RelayObserver>> observers{
        std::make_shared<log::LogObserver>(logger_), board_, metrics_};
    auto started =
        Service::Start(options_, {.backend = *backend_,
                                  .tables = {orders_, notes_},
                                  .board = board_,
                                  .relay_switch = switch_,
                                  .metrics = metrics_,
                                  .observers = std::make_shared<relay::ObserverList>(observers),
                                  .logger = *logger_,
                                  .config_json = R"({"settings":[],"tables":[]})",
                                  .notification_attempts_max = 4});
    ASSERT_OK(started);
    service_ = *std::move(started);
    check_ = std::make_unique<OpenApiCheck>(Json::parse(Plain("GET", "/openapi.json").body));
  }
  std::uint16_t Port(std::size_t listener = 0) const {
    const std::string address = service_->addresses().at(listener);
    return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }

  // --- tokens ---
  std::string Token(MintedClaims claims) const {
    claims.issued = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    if (claims.expires == Timestamp{}) claims.expires = claims.issued + std::chrono::hours(1);
    return MintToken(claims, secret_, "");
  }
  std::string TenantToken(const Uuid& tenant, std::vector<std::string> permissions) const {
    return Token({.subject = "tenant", .tenant = tenant, .permissions = std::move(permissions)});
  }
  // With every permission that a tenant can have.
  std::string TokenOf(const Uuid& tenant) const {
    using namespace permission;
    std::vector<std::string> all;
    for (const auto one : {kNotificationsRead, kNotificationsWrite, kNotificationsDelete,
                           kMessagesRead, kMessagesWrite, kMessagesDelete, kMessagesEnqueue}) {
      all.emplace_back(one);
    }
    return TenantToken(tenant, all);
  }
  std::string OperatorToken() const { return Token({.subject = "olga", .operator_scope = true}); }

  // --- calls ---
  TestReply Plain(const std::string& method, const std::string& target,
                  const std::string& token = "", const std::string& body = "",
                  std::size_t listener = 0) const {
    TestClient client(Port(listener));
    std::string fields = token.empty() ? "" : "Authorization: Bearer " + token + "\r\n";
    if (method != "GET") fields += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    client.Send(method + " " + target + " HTTP/1.1\r\nHost: test\r\n" + fields + "\r\n" + body);
    return client.Read();
  }
  TestReply Call(const std::string& method, const std::string& target, const std::string& token,
                 const std::string& body = "") {
    const TestReply reply = Plain(method, target, token, body);
    const std::string operation = check_->Operation(method, target);
    const bool by_server = operation.empty() || reply.status == 405;
    const auto problems =
        by_server
            ? check_->ProblemProblems(reply.header("content-type"), reply.body)
            : check_->Problems(operation, reply.status, reply.header("content-type"), reply.body);
    EXPECT_TRUE(problems.empty()) << method << " " << target << " → " << reply.status << "\n"
                                  << base::Join(problems, "\n") << "\n"
                                  << reply.body;
    if (!by_server) called_.insert(operation);
    return reply;
  }
  TestReply Get(const std::string& target, const std::string& token) {
    return Call("GET", target, token);
  }
  Json GetJson(const std::string& target, const std::string& token) {
    const TestReply reply = Get(target, token);
    EXPECT_EQ(reply.status, 200) << target << "\n" << reply.body;
    return Json::parse(reply.body, nullptr, false);
  }
  // Refused with this status, and the detail says `detail`.
  void ExpectRefused(int status, const std::string& detail, const TestReply& reply) const {
    EXPECT_EQ(reply.status, status) << reply.body;
    const Json json = Json::parse(reply.body, nullptr, false);
    EXPECT_THAT(json.value("detail", ""), ::testing::HasSubstr(detail)) << reply.body;
  }
  // The body without what differs between requests.
  static Json WithoutInstance(const TestReply& reply) {
    Json json = Json::parse(reply.body, nullptr, false);
    EXPECT_EQ(json.erase("instance"), 1u) << reply.body;
    return json;
  }

  // --- messages ---
  std::vector<Uuid> Enqueue(const std::string& table, const std::vector<NewMessage>& messages) {
    EXPECT_OK(session_->Begin());
    const auto enqueued = EnqueueMany(session_->executor(), table, messages);
    EXPECT_OK(enqueued);
    EXPECT_OK(session_->Commit());
    std::vector<Uuid> ids;
    if (enqueued.ok()) {
      for (const Enqueued& one : *enqueued) ids.push_back(one.id);
    }
    return ids;
  }
  static NewMessage Note(const Uuid& tenant, const std::string& title = "Hello") {
    return {.topic = kTestTopic,
            .payload = R"({"title":")" + title +
                       R"(","body":"b","severity":"info","url":"https://x.example/1","metadata":)"
                       R"({"n":1}})",
            .event_type = "created",
            .aggregate_type = "order",
            .aggregate_id = "7",
            .tenant_id = tenant};
  }
  // A message brought to a state in the way a relay would.
  Uuid Make(Made state, const std::string& table, const Uuid& tenant) {
    const Uuid id = Enqueue(table, {Note(tenant)}).at(0);
    if (state != Made::kPending) Bring(table, {id}, state);
    return id;
  }
  // Whatever else was due stays as it was.
  void Bring(const std::string& table, const std::set<Uuid>& ids, Made state,
             std::chrono::milliseconds retry_in = std::chrono::hours(1)) {
    using Kind = store::Outcome::Kind;
    auto relay = backend_->OpenRelay({.table = table, .relay_id = "maker"}, Soon());
    ASSERT_OK(relay);
    auto claim = (*relay)->Next({.limit = 1000, .lease = std::chrono::minutes(5)}, Soon());
    ASSERT_OK(claim);
    std::vector<store::Outcome> outcomes;
    std::size_t found = 0;
    for (std::uint32_t i = 0; i < (*claim)->messages().size(); ++i) {
      if (!ids.contains((*claim)->messages()[i].id)) {
        outcomes.push_back({.index = i, .kind = Kind::kReleased});
        continue;
      }
      ++found;
      if (state == Made::kProcessing) continue;
      store::Outcome outcome{.index = i, .kind = Kind::kDelivered};
      if (state == Made::kFailed) outcome.kind = Kind::kRetry;
      if (state == Made::kDead) outcome.kind = Kind::kDead;
      if (state != Made::kDelivered) outcome.error = "the sink said no";
      outcome.retry_in = retry_in;
      outcomes.push_back(outcome);
    }
    ASSERT_EQ(found, ids.size());
    if (!outcomes.empty()) ASSERT_OK((*claim)->Settle(outcomes, Soon()));
  }
  std::string Messages(const std::string& table) const {
    return "/api/v1/tables/" + table + "/messages";
  }
  static std::string NotePath(const Uuid& id, const char* more = "") {
    return base::StrCat(kNotifications, "/", id.ToString(), more);
  }

  std::string Log() const {
    std::ostringstream text;
    text << std::ifstream(folder_.File("log")).rdbuf();
    return text.str();
  }

  const outbox::testing::TempFolder folder_;
  std::string url_, orders_, notes_, secret_;
  std::unique_ptr<store::Backend> backend_;
  std::unique_ptr<store::Migrator> migrator_;
  std::unique_ptr<store::Session> session_;
  int log_ = -1;
  ServiceOptions options_;
  std::shared_ptr<log::Logger> logger_;
  std::shared_ptr<RelayBoard> board_;
  std::shared_ptr<RelaySwitch> switch_;
  std::shared_ptr<MetricsObserver> metrics_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<OpenApiCheck> check_;
  std::set<std::string> called_;  // documented operations that were called
};

}  // namespace outbox::service
