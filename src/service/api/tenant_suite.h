// The tenants' API, on any database.
#pragma once

#include "service/api/api_suite.h"

namespace outbox::service {

class TenantApiSuite : public ApiSuite {};

TEST_P(TenantApiSuite, ShowsAnEntryAsDocumented) {
  StartService();
  const Uuid id = Make(Made::kFailed, notes_, kAnn);
  const Json entry = GetJson(NotePath(id), TokenOf(kAnn));
  EXPECT_EQ(entry.at("id"), id.ToString());
  EXPECT_EQ(entry.at("title"), "Hello");
  EXPECT_EQ(entry.at("metadata"), Json({{"n", 1}}));
  EXPECT_EQ(entry.at("status"), "failed");
  EXPECT_EQ(entry.at("severity"), "info");
  EXPECT_EQ(entry.at("aggregate_id"), "7");
  EXPECT_EQ(entry.at("retry_count"), 1);
  EXPECT_EQ(entry.at("max_retries"), 3);
  EXPECT_EQ(entry.at("last_error"), "the sink said no");
  EXPECT_EQ(entry.at("locked_at"), nullptr);
  EXPECT_FALSE(entry.contains("tenant_id"));
}

TEST_P(TenantApiSuite, EntriesKeepTheirShapeWhateverThePayloadIs) {
  StartService();
  for (const char* payload : {"[1]", "\"text\"", "null", "{}",
                              R"({"title":7,"body":null,"severity":[],"url":{},"metadata":"x"})"}) {
    NewMessage note = Note(kAnn);
    note.payload = payload;
    note.aggregate_id.clear();
    const Uuid id = Enqueue(notes_, {note}).at(0);
    const Json entry = GetJson(NotePath(id), TokenOf(kAnn));
    EXPECT_EQ(entry.at("metadata"), Json::object()) << payload;
    EXPECT_EQ(entry.at("severity"), "info") << payload;
    EXPECT_EQ(entry.at("aggregate_id"), nullptr) << payload;
  }
  EXPECT_EQ(GetJson(kNotifications, TokenOf(kAnn)).at("data").size(), 5u);
}

TEST_P(TenantApiSuite, CountsTheRetryThatAnEntryWaitsFor) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  const Uuid id = Make(Made::kPending, notes_, kAnn);
  EXPECT_EQ(GetJson(NotePath(id), ann).at("retry_count"), 0);
  for (int failures = 1; failures <= 3; ++failures) {
    Bring(notes_, {id}, Made::kFailed, std::chrono::milliseconds(0));
    const Json entry = GetJson(NotePath(id), ann);
    EXPECT_EQ(entry.at("status"), "failed");
    EXPECT_EQ(entry.at("retry_count"), failures);
    EXPECT_EQ(entry.at("processed_at"), nullptr);
  }
  Bring(notes_, {id}, Made::kDead);
  const Json dead = GetJson(NotePath(id), ann);
  EXPECT_EQ(dead.at("status"), "dead");
  EXPECT_EQ(dead.at("retry_count"), 3);
  EXPECT_EQ(dead.at("scheduled_at"), nullptr) << "no next attempt, and no time far ahead";
  EXPECT_EQ(dead.at("processed_at"), dead.at("updated_at")) << "when it died";
  EXPECT_LT(dead.at("created_at"), dead.at("updated_at"));
  EXPECT_EQ(dead.at("last_error"), "the sink said no");
  const Uuid refused = Make(Made::kPending, notes_, kAnn);
  Bring(notes_, {refused}, Made::kDead);
  EXPECT_EQ(GetJson(NotePath(refused), ann).at("retry_count"), 0) << "it was not tried again";

  // An attempt under way is no retry yet, or the retry that it is.
  const Uuid other = Make(Made::kProcessing, notes_, kAnn);
  EXPECT_EQ(GetJson(NotePath(other), ann).at("retry_count"), 0);
  const Uuid again = Make(Made::kPending, notes_, kAnn);
  Bring(notes_, {again}, Made::kFailed, std::chrono::milliseconds(0));
  Bring(notes_, {again}, Made::kDelivered);
  EXPECT_EQ(GetJson(NotePath(again), ann).at("retry_count"), 1);
}

TEST_P(TenantApiSuite, AForeignNotificationLooksLikeNone) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  for (const Made state : {Made::kPending, Made::kFailed, Made::kDead, Made::kDelivered}) {
    const Uuid foreign = Make(state, notes_, kBob);
    const struct {
      const char* method;
      const char* more;
    } calls[] = {{"GET", ""}, {"POST", "/retry"}, {"DELETE", ""}};
    for (const auto& call : calls) {
      const TestReply theirs = Call(call.method, NotePath(foreign, call.more), ann);
      const TestReply none =
          Call(call.method, base::StrCat(kNotifications, "/", kNobodysId, call.more), ann);
      EXPECT_EQ(theirs.status, 404) << call.method;
      EXPECT_EQ(WithoutInstance(theirs), WithoutInstance(none));
      const TestReply no_id = Call(call.method, base::StrCat(kNotifications, "/7", call.more), ann);
      EXPECT_EQ(WithoutInstance(no_id), WithoutInstance(none));
    }
    EXPECT_EQ(Get(NotePath(foreign), TokenOf(kBob)).status, 200);  // it is there, untouched
  }
  EXPECT_EQ(GetJson(kNotifications, ann).at("total"), 0);
  EXPECT_EQ(GetJson(base::StrCat(kNotifications, "/stats"), ann).at("total"), 0);
}

TEST_P(TenantApiSuite, WantsTheRightToken) {
  StartService();
  using namespace permission;
  const Uuid id = Make(Made::kDead, notes_, kAnn);
  const struct {
    const char* method;
    std::string target;
    std::string_view permission;
  } calls[] = {{"GET", kNotifications, kNotificationsRead},
               {"GET", base::StrCat(kNotifications, "/stats"), kNotificationsRead},
               {"GET", NotePath(id), kNotificationsRead},
               {"POST", NotePath(id, "/retry"), kNotificationsWrite},
               {"DELETE", NotePath(id), kNotificationsDelete}};
  for (const auto& call : calls) {
    const TestReply missing = Call(call.method, call.target, "");
    EXPECT_EQ(missing.status, 401);
    EXPECT_EQ(missing.header("www-authenticate"), "Bearer");
    const Timestamp past = std::chrono::floor<std::chrono::seconds>(
        std::chrono::system_clock::now() - std::chrono::hours(2));
    const TestReply refused =
        Call(call.method, call.target,
             Token({.subject = "x", .tenant = kAnn, .permissions = {"a"}, .expires = past}));
    EXPECT_EQ(refused.status, 401);
    EXPECT_THAT(refused.header("www-authenticate"), ::testing::HasSubstr("invalid_token"));
    EXPECT_EQ(Call(call.method, call.target, "no.token").status, 401);

    std::vector<std::string> others{std::string(kMessagesRead), std::string(kMessagesWrite)};
    for (const auto one : {kNotificationsRead, kNotificationsWrite, kNotificationsDelete}) {
      if (one != call.permission) others.emplace_back(one);
    }
    ExpectRefused(403, std::string(call.permission),
                  Call(call.method, call.target, TenantToken(kAnn, others)));
    // An operator has no notifications of its own.
    ExpectRefused(403, "no tenant", Call(call.method, call.target, OperatorToken()));
  }
  EXPECT_EQ(GetJson(NotePath(id), TokenOf(kAnn)).at("status"), "dead");  // nothing happened
}

TEST_P(TenantApiSuite, NamesTheParameterThatIsWrong) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  const struct {
    const char* query;
    const char* field;
  } table[] = {{"page=0", "page"},
               {"page=-1", "page"},
               {"page=1000001", "page"},
               {"page=", "page"},
               {"page=1x", "page"},
               {"page=99999999999999999999", "page"},
               {"page=100000&page_size=100", "page"},  // beyond what pages can reach
               {"page_size=0", "page_size"},
               {"page_size=101", "page_size"},
               {"page_size=2.5", "page_size"},
               {"status=done", "status"},
               {"status=", "status"},
               {"pagesize=3", "page_size"},  // did you mean
               {"tenant=x", "tenant"},
               {"page=1&page=2", "page"},
               {"page=1&after=x", "after"},
               {"after=", "after"},
               {"after=x", "after"}};
  for (const auto& one : table) {
    ExpectRefused(400, one.field, Get(base::StrCat(kNotifications, "?", one.query), ann));
  }
  ExpectRefused(400, "limit", Get(base::StrCat(kNotifications, "/stats?limit=1"), ann));
  const Uuid id = Make(Made::kPending, notes_, kAnn);
  ExpectRefused(400, "x", Get(NotePath(id, "?x=1"), ann));
  ExpectRefused(400, "x", Call("POST", NotePath(id, "/retry?x=1"), ann));
  ExpectRefused(400, "x", Call("DELETE", NotePath(id, "?x=1"), ann));
}

TEST_P(TenantApiSuite, PagesAndCursorsShowTheSameRowsOnce) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  std::vector<NewMessage> notes;
  for (int i = 0; i < 23; ++i) notes.push_back(Note(i % 8 == 7 ? kBob : kAnn));  // 21 of Ann's
  Enqueue(notes_, notes);

  std::vector<std::string> by_page, by_cursor;
  for (int page = 1; page <= 6; ++page) {
    const Json got = GetJson(base::StrCat(kNotifications, "?page_size=5&page=", page), ann);
    EXPECT_EQ(got.at("total"), 21);
    EXPECT_EQ(got.at("total_is_exact"), true);
    EXPECT_EQ(got.at("total_pages"), 5);
    EXPECT_EQ(got.at("page"), page);
    EXPECT_EQ(got.at("data").size(), page < 5 ? 5u : page == 5 ? 1u : 0u);
    EXPECT_EQ(got.at("next").is_null(), page >= 5) << page;
    for (const Json& entry : got.at("data")) by_page.push_back(entry.at("id"));
  }
  Json got = GetJson(base::StrCat(kNotifications, "?page_size=4"), ann);
  for (int steps = 0; steps < 20; ++steps) {
    for (const Json& entry : got.at("data")) by_cursor.push_back(entry.at("id"));
    if (got.at("next").is_null()) break;
    got = GetJson(
        base::StrCat(kNotifications, "?page_size=4&after=", got.at("next").get<std::string>()),
        ann);
  }
  EXPECT_EQ(by_page, by_cursor);
  EXPECT_EQ(std::set<std::string>(by_page.begin(), by_page.end()).size(), 21u);
  EXPECT_EQ(GetJson(base::StrCat(kNotifications, "?page_size=100"), ann).at("data").size(), 21u);
  EXPECT_EQ(GetJson(kNotifications, ann).at("data").size(), 20u);
}

TEST_P(TenantApiSuite, StatusesAndStatisticsAddUp) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  const std::vector<std::pair<Made, std::string>> states{{Made::kFailed, "failed"},
                                                         {Made::kProcessing, "processing"},
                                                         {Made::kDelivered, "completed"},
                                                         {Made::kDead, "dead"},
                                                         {Made::kPending, "pending"}};
  int count = 0, total = 0;
  for (const auto& [state, name] : states) {
    for (int i = 0; i <= count; ++i) Make(state, notes_, kAnn);
    Make(state, notes_, kBob);
    total += ++count;
  }
  const Json stats = GetJson(base::StrCat(kNotifications, "/stats"), ann);
  EXPECT_EQ(stats.at("exact"), true);
  count = 0;
  for (const auto& [state, name] : states) {
    EXPECT_EQ(stats.at(name), ++count) << name;
    const Json page = GetJson(base::StrCat(kNotifications, "?status=", name), ann);
    EXPECT_EQ(page.at("total"), count) << name;
    for (const Json& entry : page.at("data")) {
      EXPECT_EQ(entry.at("status"), name);
      EXPECT_EQ(entry.at("locked_at").is_string(), state == Made::kProcessing);
      EXPECT_EQ(entry.at("processed_at").is_string(),
                state == Made::kDelivered || state == Made::kDead);
    }
  }
  EXPECT_EQ(stats.at("total"), total);
  EXPECT_EQ(GetJson(kNotifications, ann).at("total"), total);
}

TEST_P(TenantApiSuite, RetriesWhatFailedOrIsDead) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  for (const Made state : {Made::kFailed, Made::kDead}) {
    const Uuid id = Make(state, notes_, kAnn);
    const Json before = GetJson(NotePath(id), ann);
    EXPECT_EQ(before.at("scheduled_at").is_null(), state == Made::kDead);
    const TestReply reply = Call("POST", NotePath(id, "/retry"), ann);
    ASSERT_EQ(reply.status, 200) << reply.body;
    const Json entry = Json::parse(reply.body);
    EXPECT_EQ(entry.at("status"), "pending");
    EXPECT_EQ(entry.at("retry_count"), 0);
    EXPECT_EQ(entry.at("locked_at"), nullptr);
    EXPECT_EQ(entry.at("processed_at"), nullptr);
    EXPECT_EQ(entry.at("scheduled_at"), entry.at("updated_at"));  // now, by the database's clock
    EXPECT_GE(entry.at("updated_at"), before.at("updated_at"));
    EXPECT_EQ(GetJson(NotePath(id), ann), entry);
    ExpectRefused(409, "pending", Call("POST", NotePath(id, "/retry"), ann));
    Call("DELETE", NotePath(id), ann);
  }
}

TEST_P(TenantApiSuite, RefusesWhatTheStateDoesNotAllow) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  const struct {
    Made state;
    const char* name;
    int retry;
    int remove;
  } table[] = {{Made::kDelivered, "delivered", 409, 204},
               {Made::kProcessing, "processing", 409, 409},
               {Made::kFailed, "pending", 200, 204},
               {Made::kDead, "dead", 200, 204},
               {Made::kPending, "pending", 409, 204}};
  for (const auto& one : table) {
    const Uuid id = Make(one.state, notes_, kAnn);
    const TestReply retried = Call("POST", NotePath(id, "/retry"), ann);
    EXPECT_EQ(retried.status, one.retry) << one.name;
    if (one.retry == 409) ExpectRefused(409, one.name, retried);
    const TestReply removed = Call("DELETE", NotePath(id), ann);
    EXPECT_EQ(removed.status, one.remove) << one.name;
    if (one.remove == 409) ExpectRefused(409, one.name, removed);
    EXPECT_EQ(Get(NotePath(id), ann).status, one.remove == 204 ? 404 : 200);
  }
}

}  // namespace outbox::service
