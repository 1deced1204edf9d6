// The operators' API, health and the edges of the service, on any database.
#pragma once

#include <thread>

#include "service/api/api_suite.h"
#include "service/metrics/scrape.h"

namespace outbox::service {

class OperatorApiSuite : public ApiSuite {
 protected:
  TestReply Repair(const std::string& body, const std::string& token) {
    return Call("POST", base::StrCat("/api/v1/operator/tables/", orders_, "/repair"), token, body);
  }
  Json Repaired(const std::string& body) {
    const TestReply reply = Repair(body, OperatorToken());
    EXPECT_EQ(reply.status, 200) << reply.body;
    return Json::parse(reply.body, nullptr, false);
  }
  std::vector<Json> AuditLines() const {
    std::vector<Json> lines;
    std::istringstream log(Log());
    for (std::string line; std::getline(log, line);) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.value("msg", "") == "audit") lines.push_back(json);
    }
    return lines;
  }
  // The audit in the database, newest first.
  Json AuditRecords() {
    return GetJson(base::StrCat("/api/v1/operator/audit?table=", orders_), OperatorToken())
        .at("records");
  }
  // The relays of a table of this test; others may share the database.
  Json RelaysOf(const std::string& table) {
    Json relays = Json::array();
    const Json all = GetJson("/api/v1/operator/relays", OperatorToken());
    for (const Json& one : all.at("relays")) {
      if (one.at("table") == table) relays.push_back(one);
    }
    return relays;
  }
  Json TableStats() {
    return GetJson(base::StrCat("/api/v1/tables/", orders_, "/stats"), OperatorToken());
  }
  std::vector<std::pair<std::string, std::string>> OperatorCalls() const {
    return {{"GET", "/api/v1/operator/relays"},
            {"GET", "/api/v1/operator/audit"},
            {"GET", "/api/v1/operator/stats"},
            {"GET", "/api/v1/operator/config"},
            {"GET", "/api/v1/operator/events"},
            {"POST", base::StrCat("/api/v1/operator/tables/", orders_, "/repair")},
            {"POST", base::StrCat("/api/v1/operator/tables/", orders_, "/pause")},
            {"POST", base::StrCat("/api/v1/operator/tables/", orders_, "/resume")}};
  }
};

TEST_P(OperatorApiSuite, IsForOperators) {
  StartService();
  for (const auto& [method, target] : OperatorCalls()) {
    const TestReply missing = Call(method, target, "");
    EXPECT_EQ(missing.status, 401);
    EXPECT_EQ(missing.header("www-authenticate"), "Bearer");
    EXPECT_EQ(Call(method, target, "a.b.c").status, 401);
    ExpectRefused(403, "operators", Call(method, target, TokenOf(kAnn)));
    if (method == "GET") ExpectRefused(400, "x", Call(method, target + "?x=1", OperatorToken()));
  }
}

TEST_P(OperatorApiSuite, ShowsRelaysCountsAndSettings) {
  StartService();
  Make(Made::kDead, orders_, kAnn);
  auto relay =
      Relay::Start(url_, {.table = orders_},
                   MakeCallbackSink([](const auto&, auto) { return Status::Ok(); }), board_);
  ASSERT_OK(relay);
  Enqueue(orders_, {Note(kAnn), Note(kBob)});
  ASSERT_OK((*relay)->Drain(Soon()));
  ASSERT_TRUE(outbox::testing::WaitFor([&] {
    const Json relays = RelaysOf(orders_);
    return relays.size() == 1 && relays[0].at("delivered") == 2;
  }));
  const Json one = RelaysOf(orders_).at(0);
  EXPECT_EQ(one.at("table"), orders_);
  EXPECT_EQ(one.at("state"), "running");
  const Json stats = GetJson("/api/v1/operator/stats", OperatorToken()).at("tables");
  EXPECT_EQ(stats.size(), 2u);
  for (const Json& table : stats) EXPECT_EQ(table.at("dead"), table.at("table") == orders_ ? 1 : 0);
  EXPECT_TRUE(GetJson("/api/v1/operator/config", OperatorToken()).contains("settings"));
  EXPECT_OK((*relay)->Stop());
}

TEST_P(OperatorApiSuite, ARepairIsARehearsalUntilToldOtherwise) {
  StartService();
  std::set<Uuid> dead;
  for (int i = 0; i < 5; ++i) dead.insert(Enqueue(orders_, {Note(i < 3 ? kAnn : kBob)}).at(0));
  Bring(orders_, dead, Made::kDead);
  Make(Made::kFailed, orders_, kAnn);

  const Json rehearsed = Repaired(R"({"action":"retry","filter":{"status":"dead"}})");
  EXPECT_EQ(rehearsed.at("dry_run"), true);
  EXPECT_EQ(rehearsed.at("matched"), 5);
  EXPECT_FALSE(rehearsed.contains("changed"));
  EXPECT_EQ(TableStats().at("dead"), 5);
  EXPECT_TRUE(AuditLines().empty());

  const Json some =
      Repaired(R"({"action":"retry","filter":{"status":"dead"},"dry_run":false,"limit":2})");
  EXPECT_EQ(some.at("changed"), 2);
  EXPECT_EQ(some.at("limit_reached"), true);
  EXPECT_EQ(TableStats().at("dead"), 3);
  ASSERT_EQ(AuditLines().size(), 1u);
  const Json line = AuditLines().at(0);
  EXPECT_EQ(line.at("subject"), "olga");
  EXPECT_EQ(line.at("table"), orders_);
  EXPECT_EQ(line.at("action"), "retry");
  EXPECT_EQ(line.at("changed"), 2);
  EXPECT_EQ(line.at("complete"), true);
  EXPECT_THAT(line.at("filter").get<std::string>(), ::testing::HasSubstr("dead"));
  EXPECT_FALSE(line.at("request_id").get<std::string>().empty());

  const Json bobs = Repaired(R"({"action":"delete","dry_run":false,"filter":{"status":"dead",)"
                             R"("tenant":")" +
                             kBob.ToString() + R"(","error":"sink said"}})");
  EXPECT_EQ(bobs.at("changed"), 2);
  EXPECT_EQ(bobs.at("limit_reached"), false);
  EXPECT_EQ(TableStats().at("dead"), 1);
  EXPECT_EQ(
      Repaired(R"({"action":"retry","dry_run":false,"filter":{"status":"failed"}})").at("changed"),
      1);
  EXPECT_EQ(TableStats().at("retrying"), 0);
  EXPECT_EQ(AuditLines().size(), 3u);

  const Json records = AuditRecords();
  ASSERT_EQ(records.size(), 3u);
  const Json first = records.at(2);
  EXPECT_EQ(first.at("actor"), "olga");
  EXPECT_EQ(first.at("action"), "retry");
  EXPECT_EQ(first.at("table"), orders_);
  EXPECT_EQ(first.at("filter"), Json({{"status", "dead"}}));
  EXPECT_EQ(first.at("matched"), 2);
  EXPECT_EQ(first.at("changed"), 2);
  EXPECT_EQ(first.at("request_id"), line.at("request_id"));
  EXPECT_EQ(records.at(1).at("action"), "delete");
  EXPECT_EQ(records.at(1).at("filter").at("error"), "sink said");
  EXPECT_EQ(records.at(1).at("changed"), 2);
  EXPECT_EQ(records.at(0).at("filter").at("status"), "failed");
}

TEST_P(OperatorApiSuite, TheAuditHasPagesAndKnowsWhoRepairedOneMessage) {
  StartService();
  const Uuid annas = Make(Made::kDead, orders_, kAnn);
  const auto retry = [&](const Uuid& id, const std::string& token) {
    return Call("POST", base::StrCat(Messages(orders_), "/", id.ToString(), "/retry"), token)
        .status;
  };
  EXPECT_EQ(retry(annas, TokenOf(kAnn)), 200);
  EXPECT_TRUE(AuditRecords().empty()) << "a tenant's own affair";
  const Uuid bobs = Make(Made::kDead, orders_, kBob);
  EXPECT_EQ(retry(bobs, OperatorToken()), 200);
  EXPECT_EQ(retry(bobs, OperatorToken()), 409);
  EXPECT_EQ(
      Call("DELETE", base::StrCat(Messages(orders_), "/", bobs.ToString()), OperatorToken()).status,
      204);
  const std::string path = base::StrCat("/api/v1/operator/audit?limit=1&table=", orders_);
  const Json newest = GetJson(path, OperatorToken());
  ASSERT_EQ(newest.at("records").size(), 1u);
  EXPECT_EQ(newest["records"][0].at("action"), "delete");
  EXPECT_EQ(newest["records"][0].at("filter"), Json({{"id", bobs.ToString()}}));
  const Json oldest =
      GetJson(base::StrCat(path, "&after=", newest.at("next").get<std::string>()), OperatorToken());
  ASSERT_EQ(oldest.at("records").size(), 1u);
  EXPECT_EQ(oldest["records"][0].at("action"), "retry");
  EXPECT_TRUE(oldest.at("next").is_null());
  ExpectRefused(400, "after", Get("/api/v1/operator/audit?after=x", OperatorToken()));
  ExpectRefused(400, "limit", Get("/api/v1/operator/audit?limit=501", OperatorToken()));
}

TEST_P(OperatorApiSuite, AnOperatorWhoActsForATenantIsAudited) {
  StartService();
  const Uuid id = Make(Made::kDead, orders_, kAnn);
  const std::string message = base::StrCat(Messages(orders_), "/", id.ToString());
  const std::string for_ann = "?tenant=" + kAnn.ToString();
  const std::string for_bob = "?tenant=" + kBob.ToString();
  EXPECT_EQ(Call("POST", message + "/retry" + for_bob, OperatorToken()).status, 404);
  EXPECT_EQ(Call("DELETE", message + for_bob, OperatorToken()).status, 404);
  EXPECT_TRUE(AuditRecords().empty()) << "nothing was done";
  EXPECT_EQ(Call("POST", message + "/retry" + for_ann, OperatorToken()).status, 200);
  EXPECT_EQ(Call("DELETE", message + for_ann, OperatorToken()).status, 204);
  const Json records = AuditRecords();
  ASSERT_EQ(records.size(), 2u);
  for (const Json& record : records) {
    EXPECT_EQ(record.at("actor"), "olga");
    EXPECT_EQ(record.at("filter"), Json({{"id", id.ToString()}}));
  }
}

TEST_P(OperatorApiSuite, ListsTheRelaysOfOtherProcesses) {
  StartService();
  const auto control = backend_->OpenControl();
  const store::ProcessInfo other{.id = orders_ + ":other", .host = "there", .pid = 9};
  ASSERT_OK(control->Beat(other,
                          std::vector<store::RelayBeat>{{.table = orders_,
                                                         .sink = "rabbit",
                                                         .state = "running",
                                                         .leading = true,
                                                         .delivered = 5}},
                          std::chrono::hours(1), Soon()));
  ASSERT_EQ(RelaysOf(orders_).size(), 1u);
  Json relay = RelaysOf(orders_).at(0);
  EXPECT_EQ(relay.at("name"), orders_ + "/rabbit");
  EXPECT_EQ(relay.at("host"), "there");
  EXPECT_EQ(relay.at("leading"), true);
  EXPECT_EQ(relay.at("delivered"), 5);
  EXPECT_EQ(relay.at("paused"), false);
  EXPECT_EQ(relay.at("gone"), false);
  EXPECT_GE(relay.at("beat_age_ms"), 0);
  // Its sink can be paused here, though no relay of this process serves it.
  const std::string pause = base::StrCat("/api/v1/operator/tables/", orders_, "/pause?sink=");
  EXPECT_EQ(Call("POST", pause + "nats", OperatorToken()).status, 404);
  const TestReply paused = Call("POST", pause + "rabbit&reason=upgrade", OperatorToken());
  EXPECT_EQ(paused.status, 200) << paused.body;
  relay = RelaysOf(orders_).at(0);
  EXPECT_EQ(relay.at("paused"), true);
  EXPECT_EQ(relay.at("pause").at("by"), "olga");
  EXPECT_EQ(relay.at("pause").at("reason"), "upgrade");
  EXPECT_OK(control->Leave(other, Soon()));
}

TEST_P(OperatorApiSuite, RefusesBadRepairs) {
  StartService();
  Make(Made::kDead, orders_, kAnn);
  const std::string dead = R"("filter":{"status":"dead"})";
  const std::string long_text(256, 'x');
  const std::pair<std::string, std::string> table[] = {
      {"", "empty"},
      {"[]", "object"},
      {"{", "not JSON"},
      {"{}", "action"},
      {R"({"action":"retry"})", "filter"},
      {R"({"action":"burn",)" + dead + "}", "action"},
      {R"({"action":7,)" + dead + "}", "action"},
      {R"({"action":"retry","filter":[]})", "filter"},
      {R"({"action":"retry","filter":{}})", "status"},
      {R"({"action":"retry","filter":{"status":"delivered"}})", "status"},
      {R"({"action":"retry","filter":{"status":"dead","tpoic":"x"}})", "tpoic"},
      {R"({"action":"retry","filter":{"status":"dead","topic":7}})", "topic"},
      {R"({"action":"retry","filter":{"status":"dead","topic":")" + long_text + "\"}}", "topic"},
      {R"({"action":"retry","filter":{"status":"dead","tenant":"7"}})", "tenant"},
      {R"({"action":"retry","filter":{"status":"dead","tenant":""}})", "tenant"},
      {R"({"action":"retry","filter":{"status":"dead","tenant":null}})", "tenant"},
      {R"({"action":"retry","filter":{"status":"dead","created_from":"x"}})", "created_from"},
      {R"({"action":"retry","filter":{"status":"dead","created_until":""}})", "created_until"},
      {R"({"action":"retry","dry_run":"false",)" + dead + "}", "dry_run"},
      {R"({"action":"retry","limit":0,)" + dead + "}", "limit"},
      {R"({"action":"retry","limit":-1,)" + dead + "}", "limit"},
      {R"({"action":"retry","limit":100001,)" + dead + "}", "limit"},
      {R"({"action":"retry","limit":1.5,)" + dead + "}", "limit"},
      {R"({"action":"retry","now":true,)" + dead + "}", "now"}};
  for (const auto& [body, field] : table) {
    SCOPED_TRACE(body);
    ExpectRefused(400, field, Repair(body, OperatorToken()));
  }
  EXPECT_EQ(Call("POST", "/api/v1/operator/tables/nothing/repair", OperatorToken(),
                 R"({"action":"retry","filter":{"status":"dead"}})")
                .status,
            404);
  EXPECT_EQ(TableStats().at("dead"), 1);
  EXPECT_TRUE(AuditLines().empty());
}

// Messages fail once and are retried by hand while a relay delivers the others and them.
TEST_P(OperatorApiSuite, RetryAndDeliveryDoNotDisturbEachOther) {
  StartService();
  constexpr int kMessages = 60;
  std::mutex mutex;
  std::map<Uuid, int> tries;
  const auto sink = MakeCallbackSink([&](const outbox::Message& message, Deadline) {
    const std::lock_guard lock(mutex);
    return ++tries[message.id] == 1 ? Status::Permanent(Code::kInternal, "not yet") : Status::Ok();
  });
  auto relay = Relay::Start(url_, {.table = orders_, .batch_size = 5}, sink, board_);
  ASSERT_OK(relay);
  const auto ids = Enqueue(orders_, std::vector<NewMessage>(kMessages, Note(kAnn)));
  std::atomic<int> retried = 0, strange = 0;
  std::vector<std::thread> hands;
  for (int hand = 0; hand < 3; ++hand) {
    hands.emplace_back([&] {
      const std::string token = TokenOf(kAnn);
      const auto end = std::chrono::steady_clock::now() + outbox::testing::kPatience;
      while (retried < kMessages && std::chrono::steady_clock::now() < end) {
        for (const Uuid& id : ids) {
          const int status =
              Plain("POST", base::StrCat(Messages(orders_), "/", id.ToString(), "/retry"), token)
                  .status;
          if (status == 200) ++retried;
          if (status != 200 && status != 409) ++strange;
        }
      }
    });
  }
  for (std::thread& hand : hands) hand.join();
  EXPECT_EQ(strange, 0);
  EXPECT_EQ(retried, kMessages);  // each was dead exactly once
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return TableStats().at("delivered") == kMessages; }));
  EXPECT_OK((*relay)->Stop());
  for (const Uuid& id : ids) EXPECT_EQ(tries[id], 2);
}

TEST_P(OperatorApiSuite, PausesRelaysAndResumesThem) {
  StartService();
  auto relay =
      Relay::Start(url_, {.table = orders_},
                   MakeCallbackSink([](const auto&, auto) { return Status::Ok(); }), board_);
  ASSERT_OK(relay);
  switch_->Connect([&](std::string_view table, std::string_view sink, bool pause) -> std::size_t {
    if (table != orders_ || !sink.empty()) return 0;
    pause ? (*relay)->Pause() : (*relay)->Resume();
    return 1;
  });
  const auto turn = [&](const std::string& table, const char* action) {
    return Call("POST", base::StrCat("/api/v1/operator/tables/", table, action), OperatorToken());
  };
  const auto state = [&] {
    const Json relays = RelaysOf(orders_);
    return relays.empty() ? "" : relays[0].at("state").get<std::string>();
  };
  EXPECT_EQ(turn("nothing", "/pause").status, 404);
  EXPECT_EQ(turn(orders_, "/pause?sink=rabbit").status, 404);
  EXPECT_TRUE(AuditLines().empty());
  EXPECT_EQ(turn(orders_, "/pause").status, 200);
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return state() == "paused"; }));
  Enqueue(orders_, {Note(kAnn)});
  EXPECT_EQ(TableStats().at("pending"), 1);
  EXPECT_EQ(turn(orders_, "/resume").status, 200);
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return TableStats().at("delivered") == 1; }));
  EXPECT_EQ(AuditLines().size(), 2u);
  EXPECT_EQ(AuditRecords().size(), 2u);
  const Json again = Json::parse(turn(orders_, "/resume").body);
  EXPECT_EQ(again.at("changed"), false);
  EXPECT_EQ(AuditRecords().size(), 2u) << "nothing changed";
  EXPECT_EQ(turn(orders_, "/pause").status, 200);
  EXPECT_EQ(turn(orders_, "/resume?sink=rabbit").status, 409) << "all of it is paused";
  EXPECT_EQ(turn(orders_, "/resume").status, 200);
  switch_->Connect(nullptr);
  EXPECT_OK((*relay)->Stop());
}

TEST_P(OperatorApiSuite, LimitsTheRateOfEachSubject) {
  options_.rate_limit = 1;
  options_.rate_burst = 3;
  StartService();
  const std::string ann = TokenOf(kAnn);
  TestReply reply;
  for (int i = 0; i < 20 && (reply = Get("/api/v1/tables", ann)).status == 200; ++i) {
  }
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.header("retry-after"), "1");
  EXPECT_EQ(Get("/api/v1/tables", TokenOf(kBob)).status, 200);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Get("/healthz", "").status, 200);
}

TEST_P(OperatorApiSuite, HealthMetricsAndDocumentsNeedNoToken) {
  StartService();
  EXPECT_EQ(GetJson("/healthz", "").at("status"), "ok");
  EXPECT_EQ(GetJson("/readyz", "").at("status"), "ready");
  EXPECT_THAT(Get("/metrics", "").body, ::testing::HasSubstr("# TYPE outbox_"));
  EXPECT_THAT(Get("/docs", "").body, ::testing::HasSubstr("/api/v1/notification-outbox"));
  EXPECT_EQ(Call("GET", "/nothing", "").status, 404);
  EXPECT_EQ(Call("DELETE", "/healthz", "").status, 405);
}

TEST_P(OperatorApiSuite, RequestsAreCountedByRouteMethodAndStatus) {
  StartService();  // asks for /openapi.json once
  const auto count = [&](const char* route, const char* method, const char* status) {
    return testing::Scrape(metrics_->Exposition())
        .Find("outbox_http_requests_total",
              {{"route", route}, {"method", method}, {"status", status}})
        .value_or(0);
  };
  const auto becomes = [&](double wanted, const char* route, const char* method,
                           const char* status) {
    EXPECT_TRUE(outbox::testing::WaitFor([&] { return count(route, method, status) == wanted; }))
        << route << " " << method << " " << status << " " << count(route, method, status);
  };
  const std::string ann = TokenOf(kAnn);
  const Uuid id = Make(Made::kDead, notes_, kAnn);
  for (int i = 0; i < 3; ++i) Plain("GET", NotePath(id), ann);
  for (int i = 0; i < 2; ++i) Plain("GET", NotePath(id), TokenOf(kBob));
  Plain("GET", NotePath(id));
  Plain("DELETE", NotePath(id), ann);
  Plain("GET", "/nowhere/" + id.ToString(), ann);
  Plain("POST", "/healthz");
  const char* const one = "/api/v1/notification-outbox/{id}";
  becomes(3, one, "GET", "2xx");
  becomes(3, one, "GET", "4xx");
  becomes(1, one, "DELETE", "2xx");
  becomes(1, "other", "GET", "4xx");
  becomes(1, "other", "POST", "4xx");
  becomes(1, "/openapi.json", "GET", "2xx");
  const std::string text = metrics_->Exposition();
  EXPECT_EQ(text.find(id.ToString()), std::string::npos);
  const testing::Scrape scrape(text);
  EXPECT_EQ(scrape.Find("outbox_http_request_duration_seconds_count",
                        {{"route", one}, {"method", "GET"}}),
            6);
  // Connections and streams that are open, and those that are not any more.
  const auto open = [&](const char* gauge) {
    return testing::Scrape(metrics_->Exposition()).Find(gauge).value_or(-1);
  };
  {
    TestClient listener(Port());
    listener.Send("GET /api/v1/operator/events HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer " +
                  OperatorToken() + "\r\n\r\n");
    listener.ReadUntil("event: counters");
    EXPECT_TRUE(outbox::testing::WaitFor([&] {
      return open("outbox_http_connections") == 1 && open("outbox_http_event_streams") == 1;
    }));
    EXPECT_EQ(count("/api/v1/operator/events", "GET", "2xx"), 0) << "it is not over";
  }
  becomes(1, "/api/v1/operator/events", "GET", "2xx");
  EXPECT_TRUE(outbox::testing::WaitFor([&] {
    return open("outbox_http_connections") == 0 && open("outbox_http_event_streams") == 0;
  }));
  EXPECT_EQ(testing::Scrape(metrics_->Exposition())
                .Find("outbox_http_request_duration_seconds_count",
                      {{"route", "/api/v1/operator/events"}, {"method", "GET"}}),
            std::nullopt)
      << "listening is no request's duration";
}

TEST_P(OperatorApiSuite, MetricsCanMoveOrGo) {
  options_.metrics.path = "/internal/metrics";
  StartService();
  EXPECT_EQ(Plain("GET", "/internal/metrics").status, 200);
  EXPECT_EQ(Plain("GET", "/metrics").status, 404);
  service_.reset();
  options_.metrics.enabled = false;
  StartService();
  EXPECT_EQ(Plain("GET", "/internal/metrics").status, 404);
}

TEST_P(OperatorApiSuite, AnAdminListenerTakesTheOperatorsAway) {
  options_.admin_listen = {"127.0.0.1:0"};
  StartService();
  switch_->Connect([](auto, auto, bool) { return std::size_t{1}; });
  auto calls = OperatorCalls();
  calls.insert(calls.end(), {{"GET", "/healthz"}, {"GET", "/readyz"}, {"GET", "/metrics"}});
  for (const auto& [method, target] : calls) {
    EXPECT_EQ(Plain(method, target, OperatorToken()).status, 404) << target;
    if (target.ends_with("events")) continue;
    const int status = Plain(method, target, OperatorToken(), "{}", 1).status;
    EXPECT_EQ(status, target.ends_with("/repair") ? 400 : 200) << target;
  }
  EXPECT_EQ(Plain("GET", "/api/v1/tables", TokenOf(kAnn)).status, 200);
  EXPECT_EQ(Plain("GET", "/api/v1/tables", TokenOf(kAnn), "", 1).status, 200);
}

}  // namespace outbox::service
