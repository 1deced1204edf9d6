// The API of every table, on any database.
#pragma once

#include "service/api/api_suite.h"

namespace outbox::service {

class MessageApiSuite : public ApiSuite {
 protected:
  std::string Message(const Uuid& id, const char* more = "") const {
    return base::StrCat(Messages(orders_), "/", id.ToString(), more);
  }
  std::string Stats() const { return base::StrCat("/api/v1/tables/", orders_, "/stats"); }
  static std::string Body(const std::string& more = "") {
    return base::StrCat(R"({"topic":")", kTestTopic, R"(","payload":{"n":1})", more, "}");
  }
};

TEST_P(MessageApiSuite, ListsTablesAndCounts) {
  StartService();
  const Json tables = GetJson("/api/v1/tables", TokenOf(kAnn)).at("tables");
  EXPECT_THAT(tables.get<std::vector<std::string>>(),
              ::testing::UnorderedElementsAre(orders_, notes_));
  Make(Made::kDead, orders_, kAnn);
  Make(Made::kFailed, orders_, kBob);
  Make(Made::kDelivered, orders_, kAnn);
  Make(Made::kPending, orders_, kAnn);
  const Json own = GetJson(Stats(), TokenOf(kAnn));
  EXPECT_EQ(own.at("pending"), 1);
  EXPECT_EQ(own.at("dead"), 1);
  EXPECT_EQ(own.at("delivered"), 1);
  EXPECT_EQ(own.at("retrying"), 0);
  const Json all = GetJson(Stats(), OperatorToken());
  EXPECT_EQ(all.at("pending"), 2);
  EXPECT_EQ(all.at("retrying"), 1);
  EXPECT_EQ(GetJson(Stats() + "?tenant=" + kBob.ToString(), OperatorToken()).at("pending"), 1);
  EXPECT_EQ(Get("/api/v1/tables/nothing/stats", TokenOf(kAnn)).status, 404);
  EXPECT_EQ(Get(Messages("nothing"), TokenOf(kAnn)).status, 404);
  EXPECT_EQ(Get(Messages("%22%3B--"), TokenOf(kAnn)).status, 404);
}

TEST_P(MessageApiSuite, AForeignMessageLooksLikeNone) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  const Uuid foreign = Make(Made::kDead, orders_, kBob);
  const Uuid nobodys = *Uuid::Parse(kNobodysId);
  const struct {
    const char* method;
    const char* more;
  } calls[] = {{"GET", ""}, {"POST", "/retry"}, {"DELETE", ""}};
  for (const auto& call : calls) {
    const TestReply theirs = Call(call.method, Message(foreign, call.more), ann);
    EXPECT_EQ(theirs.status, 404);
    EXPECT_EQ(WithoutInstance(theirs),
              WithoutInstance(Call(call.method, Message(nobodys, call.more), ann)));
  }
  const Json whole = GetJson(Message(foreign), OperatorToken());
  EXPECT_EQ(whole.at("status"), "dead");
  EXPECT_EQ(whole.at("tenant_id"), kBob.ToString());
  // An operator who names a tenant sees what that one sees.
  EXPECT_EQ(Get(Message(foreign) + "?tenant=" + kAnn.ToString(), OperatorToken()).status, 404);
  ExpectRefused(400, "tenant", Get(Message(foreign) + "?tenant=" + kBob.ToString(), ann));
  ExpectRefused(400, "tenant", Get(Message(foreign) + "?tenant=7", OperatorToken()));
}

TEST_P(MessageApiSuite, ShowsTheAttemptsThatWereNoted) {
  StartService();
  const Uuid id = Enqueue(orders_, {Note(kAnn)}).at(0);
  EXPECT_FALSE(GetJson(Message(id), TokenOf(kAnn)).contains("attempt_history"));
  auto relay = backend_->OpenRelay(
      {.table = orders_, .relay_id = "maker", .attempt_history = AttemptHistory::kFailures},
      Soon());
  ASSERT_OK(relay);
  const auto claim = (*relay)->Next({.limit = 1, .lease = std::chrono::minutes(5)}, Soon());
  ASSERT_OK(claim);
  ASSERT_OK((*claim)->Settle(std::vector<store::Outcome>{{.index = 0,
                                                          .kind = store::Outcome::Kind::kDead,
                                                          .error = "the sink said no",
                                                          .error_class = Disposition::kPermanent}},
                             Soon()));
  const Json attempts = GetJson(Message(id), TokenOf(kAnn)).at("attempt_history");
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts.at(0).at("attempt"), 1);
  EXPECT_FALSE(attempts.at(0).contains("worker")) << "is for operators";
  EXPECT_EQ(GetJson(Message(id), OperatorToken()).at("attempt_history").at(0).at("worker"),
            "maker");
  EXPECT_EQ(attempts.at(0).at("result"), "dead");
  EXPECT_EQ(attempts.at(0).at("error_class"), "permanent");
  EXPECT_EQ(attempts.at(0).at("error"), "the sink said no");
  EXPECT_GE(attempts.at(0).at("duration_ms"), 0);
  EXPECT_EQ(Get(Message(id), TokenOf(kBob)).status, 404);
  const Json listed = GetJson(Messages(orders_) + "?status=dead", TokenOf(kAnn));
  EXPECT_FALSE(listed.at("messages").at(0).contains("attempt_history"));
}

TEST_P(MessageApiSuite, WantsTheRightToken) {
  options_.enqueue = true;
  StartService();
  using namespace permission;
  const Uuid id = Make(Made::kDead, orders_, kAnn);
  const struct {
    const char* method;
    std::string target;
    std::string_view permission;
  } calls[] = {
      {"GET", "/api/v1/tables", kMessagesRead},        {"GET", Stats(), kMessagesRead},
      {"GET", Messages(orders_), kMessagesRead},       {"GET", Message(id), kMessagesRead},
      {"POST", Message(id, "/retry"), kMessagesWrite}, {"DELETE", Message(id), kMessagesDelete},
      {"POST", Messages(orders_), kMessagesEnqueue}};
  for (const auto& call : calls) {
    const TestReply missing = Call(call.method, call.target, "");
    EXPECT_EQ(missing.status, 401);
    EXPECT_EQ(missing.header("www-authenticate"), "Bearer");
    EXPECT_EQ(Call(call.method, call.target, "a.b.c").status, 401);
    std::vector<std::string> others{std::string(kNotificationsRead)};
    for (const auto one : {kMessagesRead, kMessagesWrite, kMessagesDelete, kMessagesEnqueue}) {
      if (one != call.permission) others.emplace_back(one);
    }
    ExpectRefused(403, std::string(call.permission),
                  Call(call.method, call.target, TenantToken(kAnn, others)));
    // A permission without a tenant: whose rows would they be?
    if (call.target == "/api/v1/tables") continue;
    EXPECT_EQ(Call(call.method, call.target,
                   Token({.subject = "x", .permissions = {std::string(call.permission)}}))
                  .status,
              403)
        << call.target;
  }
  EXPECT_EQ(GetJson(Message(id), TokenOf(kAnn)).at("status"), "dead");
}

TEST_P(MessageApiSuite, NamesTheParameterThatIsWrong) {
  StartService();
  const std::string long_text(256, 'x');
  const std::pair<std::string, std::string> table[] = {
      {"limit=0", "limit"},
      {"limit=501", "limit"},
      {"limit=x", "limit"},
      {"limit=1&limit=2", "limit"},
      {"status=done", "status"},
      {"state=dead", "status"},
      {"created_from=yesterday", "created_from"},
      {"created_until=2026-13-01T00:00:00Z", "created_until"},
      {"topic=", "topic"},
      {"topic=" + long_text, "topic"},
      {"key=" + long_text, "key"},
      {"error=" + long_text, "error"},
      {"error=%FF", "UTF-8"},
      {"aggregate_id=7", "aggregate_type"},
      {"after=x", "after"},
      {"page=1", "page"}};
  for (const auto& [query, field] : table) {
    ExpectRefused(400, field, Get(Messages(orders_) + "?" + query, OperatorToken()));
  }
  // Every state at once is a tenant's or an aggregate's list.
  ExpectRefused(400, "status", Get(Messages(orders_) + "?status=all", OperatorToken()));
  EXPECT_EQ(Get(Messages(orders_) + "?status=all", TokenOf(kAnn)).status, 200);
}

TEST_P(MessageApiSuite, WalksByNextAndFilters) {
  StartService();
  std::vector<NewMessage> messages;
  for (int i = 0; i < 17; ++i) messages.push_back(Note(i < 10 ? kAnn : kBob));
  messages[3].topic = "billing.invoice.sent.v1";
  Enqueue(orders_, messages);
  const Uuid dead = Make(Made::kDead, orders_, kAnn);

  const auto walk = [&](const std::string& query, const std::string& token) {
    std::vector<std::string> ids;
    std::string after;
    for (int steps = 0; steps < 30; ++steps) {
      const Json page = GetJson(Messages(orders_) + "?limit=4" + query + after, token);
      for (const Json& row : page.at("messages")) ids.push_back(row.at("id"));
      if (page.at("next").is_null()) break;
      after = "&after=" + page.at("next").get<std::string>();
    }
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size()) << query;
    return ids;
  };
  EXPECT_EQ(walk("&status=pending", OperatorToken()).size(), 17u);
  EXPECT_EQ(walk("", OperatorToken()).size(), 18u);
  EXPECT_EQ(walk("", TokenOf(kAnn)).size(), 11u);
  EXPECT_EQ(walk("&tenant=" + kBob.ToString(), OperatorToken()).size(), 7u);
  EXPECT_EQ(walk("&topic=billing.invoice.sent.v1", OperatorToken()).size(), 1u);
  EXPECT_EQ(walk("&error=sink%20said", OperatorToken()), std::vector{dead.ToString()});
  EXPECT_EQ(walk("&aggregate_type=order&aggregate_id=7", OperatorToken()).size(), 18u);
  EXPECT_EQ(walk("&created_until=2001-01-01T00:00:00Z", OperatorToken()).size(), 0u);
}

TEST_P(MessageApiSuite, RepairsOneByOne) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  const Uuid dead = Make(Made::kDead, orders_, kAnn);
  const TestReply retried = Call("POST", Message(dead, "/retry"), ann);
  ASSERT_EQ(retried.status, 200) << retried.body;
  EXPECT_EQ(Json::parse(retried.body).at("status"), "pending");
  EXPECT_EQ(Json::parse(retried.body).at("attempts"), 0);
  ExpectRefused(409, "pending", Call("POST", Message(dead, "/retry"), ann));
  EXPECT_EQ(Call("DELETE", Message(dead), ann).status, 204);
  EXPECT_EQ(Call("DELETE", Message(dead), ann).status, 404);
  EXPECT_EQ(Call("DELETE", Message(Make(Made::kDelivered, orders_, kAnn)), ann).status, 204);
  ExpectRefused(409, "processing",
                Call("DELETE", Message(Make(Made::kProcessing, orders_, kAnn)), ann));
}

TEST_P(MessageApiSuite, EnqueuesOnlyWhenSwitchedOn) {
  StartService();
  const TestReply off = Call("POST", Messages(orders_), TokenOf(kAnn), Body());
  EXPECT_EQ(off.status, 405);
  EXPECT_EQ(off.header("allow"), "GET, HEAD, OPTIONS");

  service_.reset();
  options_.enqueue = true;
  StartService();
  const std::string ann = TokenOf(kAnn);
  const std::string once = Body(R"(,"dedupe_key":")" + kAnn.ToString() + R"(/1")");
  const TestReply first = Call("POST", Messages(orders_), ann, once);
  ASSERT_EQ(first.status, 201) << first.body;
  const TestReply again = Call("POST", Messages(orders_), ann, once);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(Json::parse(first.body).at("id"), Json::parse(again.body).at("id"));
  EXPECT_EQ(Json::parse(again.body).at("already_enqueued"), true);
  const Uuid id = *Uuid::Parse(Json::parse(first.body).at("id").get<std::string>());
  EXPECT_EQ(GetJson(Message(id), ann).at("tenant_id"), kAnn.ToString());
  EXPECT_EQ(Get(Message(id), TokenOf(kBob)).status, 404);
  EXPECT_EQ(Call("POST", Messages(orders_), OperatorToken(), Body()).status, 201);
  EXPECT_EQ(Call("POST", Messages("nothing"), ann, Body()).status, 404);
}

TEST_P(MessageApiSuite, RefusesBadMessages) {
  options_.enqueue = true;
  StartService();
  const std::string ann = TokenOf(kAnn);
  const std::pair<std::string, std::string> table[] = {
      {Body(R"(,"tenant_id":")" + kBob.ToString() + "\""), "tenant_id"},
      {R"({"topic":"orders.order.created.v1","payload":)" + std::string(2000, '[') +
           std::string(2000, ']') + "}",
       "nested deeper"},
      {R"({"topic":"orders.order.created.v1"})", "payload"},
      {R"({"payload":{}})", "topic"},
      {R"({"topic":"Bad Topic","payload":{}})", "topic"},
      {R"({"topic":7,"payload":{}})", "topic"},
      {Body(R"(,"colour":"red")"), "colour"},
      {Body(R"(,"delay":"soon")"), "delay"},
      {Body(R"(,"id":"7")"), "id"},
      {Body(R"(,"topic":"orders.order.paid.v1")"), "topic: is given twice"},
      {Body(R"(,"p\u0061yload":2)"), "payload: is given twice"},
      {Body(R"(,"headers":{"h":"a","\u0068":"b"})"), "headers: 'h' is given twice"},
      {"[]", "object"},
      {"{", "not JSON"},
      {R"({"topic":"orders.order.created.v1","payload":1e400})", "too large"},
      {R"({"topic":"orders.order.created.v1","payload":"\ud800"})", "not JSON"},
      {Body(R"(,"headers":{"h":"\ud800"})"), "not JSON"},
      {Body() + std::string(1, '\0') + "\"garbage", "not JSON"},
      {std::string("{}\0\"", 4) + std::string(3000, 'a'), "not JSON"},
      {"", "empty"}};
  for (const auto& [body, field] : table) {
    ExpectRefused(400, field, Call("POST", Messages(orders_), ann, body));
  }
  EXPECT_EQ(GetJson(Stats(), OperatorToken()).at("pending"), 0);
}

// Another tenant's id, or its dedupe key, tells nothing and takes nothing.
TEST_P(MessageApiSuite, AForeignIdCanNotBeEnqueuedAgain) {
  options_.enqueue = true;
  StartService();
  const Uuid foreign = Make(Made::kPending, orders_, kBob);
  const TestReply reply = Call("POST", Messages(orders_), TokenOf(kAnn),
                               Body(R"(,"id":")" + foreign.ToString() + "\""));
  ExpectRefused(409, "in use", reply);
  for (const std::string& told : {foreign.ToString(), std::string("seq"), kBob.ToString()}) {
    EXPECT_THAT(reply.body, ::testing::Not(::testing::HasSubstr(told)));
  }
  EXPECT_EQ(GetJson(Message(foreign), OperatorToken()).at("tenant_id"), kBob.ToString());
  EXPECT_EQ(Get(Message(foreign), TokenOf(kAnn)).status, 404);
}

// A relay may be quicker than the answer: a trigger stands for it.
TEST_P(MessageApiSuite, ARetryThatWasDoneIsToldSoThoughTheMessageIsGone) {
  StartService();
  const std::vector<Uuid> ids{Make(Made::kDead, orders_, kAnn), Make(Made::kDead, notes_, kAnn)};
  for (const std::string& table : {orders_, notes_}) {
    ASSERT_OK(session_->Execute(
        GetParam().name == "sqlite"
            ? "CREATE TRIGGER quick_" + table + " AFTER UPDATE ON " + table +
                  " WHEN new.status = 'pending' BEGIN DELETE FROM " + table +
                  " WHERE id = new.id; END"
            : "CREATE OR REPLACE FUNCTION public.quick() RETURNS trigger LANGUAGE plpgsql AS $$"
              " BEGIN EXECUTE format('DELETE FROM %s WHERE id = $1', TG_RELID::regclass)"
              " USING new.id; RETURN NULL; END $$; CREATE TRIGGER quick AFTER UPDATE ON " +
                  table + " FOR EACH ROW EXECUTE FUNCTION public.quick()"));
  }
  const TestReply message = Call("POST", Message(ids[0]) + "/retry", TokenOf(kAnn));
  ASSERT_EQ(message.status, 200) << message.body;
  EXPECT_EQ(Json::parse(message.body).at("status"), "pending");
  EXPECT_EQ(Json::parse(message.body).at("attempts"), 0);
  EXPECT_EQ(Get(Message(ids[0]), TokenOf(kAnn)).status, 404);
  const TestReply note =
      Call("POST", "/api/v1/notification-outbox/" + ids[1].ToString() + "/retry", TokenOf(kAnn));
  ASSERT_EQ(note.status, 200) << note.body;
  EXPECT_EQ(Json::parse(note.body).at("status"), "pending");
}

TEST_P(MessageApiSuite, WhoDeliversIsForOperators) {
  StartService();
  const Uuid id = Make(Made::kProcessing, orders_, kAnn);
  EXPECT_TRUE(GetJson(Message(id), OperatorToken()).contains("locked_by"));
  const Json own = GetJson(Message(id), TokenOf(kAnn));
  EXPECT_TRUE(own.contains("locked_until"));
  EXPECT_FALSE(own.contains("locked_by"));
  EXPECT_FALSE(GetJson(Messages(orders_), TokenOf(kAnn)).at("messages")[0].contains("locked_by"));
}

TEST_P(MessageApiSuite, WithoutAuthenticationNoPageOfOthersIsServed) {
  options_.auth.secrets.clear();
  options_.auth.none = true;
  options_.cors_origins = {"https://ui.example"};
  StartService();
  const std::string body = R"({"action":"delete","filter":{"status":"dead"},"dry_run":false})";
  Make(Made::kDead, orders_, kAnn);
  const auto repair = [&](const std::string& fields) {
    TestClient client(Port());
    client.Send("POST /api/v1/operator/tables/" + orders_ + "/repair HTTP/1.1\r\n" + fields +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.Read().status;
  };
  for (const char* foreign :
       {"Host: evil.example", "Host: 127.0.0.1.evil.example", "Host: localhost.evil.example",
        "Host: localhost\r\nOrigin: https://evil.example", "Host: localhost\r\nOrigin: null",
        "Host: localhost\r\nOrigin: http://localhost.evil.example",
        "Host: localhost\r\nSec-Fetch-Site: cross-site"}) {
    EXPECT_EQ(repair(foreign), 403) << foreign;
  }
  EXPECT_EQ(backend_->OpenInspect(orders_, Soon())
                .value()
                ->Stats(store::Scope::All(), true, Soon())
                .value()
                .dead,
            1);
  for (const char* own : {"Host: localhost:8080", "Host: 127.0.0.1", "Host: [::1]:8080",
                          "Host: localhost\r\nOrigin: http://127.0.0.1:3000",
                          "Host: localhost\r\nOrigin: https://ui.example",
                          "Host: localhost\r\nSec-Fetch-Site: same-origin"}) {
    EXPECT_EQ(repair(own), 200) << own;
  }
}

}  // namespace outbox::service
