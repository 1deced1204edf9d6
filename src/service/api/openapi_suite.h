// The OpenAPI document against the running service.
#pragma once

#include <map>

#include "service/api/api_suite.h"
#include "service/http/problem.h"

namespace outbox::service {

class OpenApiSuite : public ApiSuite {
 protected:
  void SetUp() override {
    ApiSuite::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    options_.enqueue = true;
    StartService();
  }
};

TEST_P(OpenApiSuite, EveryRouteIsDocumentedAndEveryDocumentedOneIsThere) {
  const std::vector<std::string> routes = service_->routes();
  EXPECT_EQ(std::set<std::string>(routes.begin(), routes.end()), check_->Operations());
}

TEST_P(OpenApiSuite, EveryOperationAnswersAsDocumented) {
  const std::string ann = TokenOf(kAnn);
  const auto order = [&](Made state, const char* more = "") {
    return base::StrCat(Messages(orders_), "/", Make(state, orders_, kAnn).ToString(), more);
  };
  for (const Made state : {Made::kFailed, Made::kProcessing, Made::kDelivered, Made::kDead}) {
    EXPECT_EQ(Get(NotePath(Make(state, notes_, kAnn)), ann).status, 200);
    EXPECT_EQ(Get(order(state), ann).status, 200);
  }
  const std::string repair = R"({"action":"retry","filter":{"status":"dead"}})";
  const struct {
    std::string method, target, token, body;
    int status = 200;
  } calls[] = {
      {"GET", kNotifications, ann, ""},
      {"GET", base::StrCat(kNotifications, "/stats"), ann, ""},
      {"POST", NotePath(Make(Made::kDead, notes_, kAnn), "/retry"), ann, ""},
      {"DELETE", NotePath(Make(Made::kDead, notes_, kAnn)), ann, "", 204},
      {"GET", "/api/v1/tables", ann, ""},
      {"GET", base::StrCat("/api/v1/tables/", orders_, "/stats"), ann, ""},
      {"GET", Messages(orders_) + "?status=all", ann, ""},
      {"POST", Messages(orders_), ann, R"({"topic":"orders.order.created.v1","payload":1})", 201},
      {"POST", order(Made::kDead, "/retry"), ann, ""},
      {"DELETE", order(Made::kDead), ann, "", 204},
      {"GET", "/api/v1/operator/relays", OperatorToken(), ""},
      {"GET", "/api/v1/operator/audit", OperatorToken(), ""},
      {"GET", "/api/v1/operator/stats", OperatorToken(), ""},
      {"GET", "/api/v1/operator/config", OperatorToken(), ""},
      {"GET", "/api/v1/operator/events", OperatorToken(), ""},
      {"POST", base::StrCat("/api/v1/operator/tables/", orders_, "/repair"), OperatorToken(),
       repair},
      {"POST", base::StrCat("/api/v1/operator/tables/", orders_, "/pause"), OperatorToken(), ""},
      {"POST", base::StrCat("/api/v1/operator/tables/", orders_, "/resume"), OperatorToken(), ""},
      {"GET", "/healthz", "", ""},
      {"GET", "/readyz", "", ""},
      {"GET", "/metrics", "", ""},
      {"GET", "/openapi.json", "", ""},
      {"GET", "/", "", ""},
      {"GET", "/docs", "", ""}};
  switch_->Connect([](auto, auto, bool) { return std::size_t{1}; });
  for (const auto& call : calls) {
    EXPECT_EQ(Call(call.method, call.target, call.token, call.body).status, call.status)
        << call.method << " " << call.target;
  }
  EXPECT_EQ(called_, check_->Operations());
}

// Whatever a handler does, the server and the ends of time and room have answers of their own.
TEST_P(OpenApiSuite, EveryOperationHasTheServersAnswers) {
  const auto answer = [&](const std::string& request) {
    TestClient client(Port());
    client.Send(request);
    return client.Read();
  };
  const std::string head = " HTTP/1.1\r\nHost: test\r\n";
  const std::vector<TestReply> replies{
      answer("GET /docs" + head + "Content-Length: x\r\n\r\n"),
      answer("GET /docs" + head + "Content-Length: 1000000000\r\n\r\n"),
      answer("GET /docs?" + std::string(5000, 'x') + head + "\r\n"),
      answer("GET /docs" + head + "Expect: tea\r\n\r\n"),
      answer("POST /docs" + head + "Transfer-Encoding: gzip, chunked\r\n\r\n"),
      answer("GET /docs" + head + "A: " + std::string(20'000, 'x') + "\r\n\r\n")};
  std::map<int, std::pair<std::string, std::string>> answers;
  for (const TestReply& reply : replies) {
    answers[reply.status] = {reply.header("content-type"), reply.body};
  }
  // Those that take long to bring about, as the server makes them.
  for (const Code code : {Code::kUnavailable, Code::kDeadline, Code::kInternal}) {
    Response response = ProblemOf(Status::Retry(code, ""));
    SetInstance(response, "7");
    answers[response.status] = {response.content_type, response.body};
  }
  Response slow = Problem(408, "request_timeout", "The request took too long to arrive", "");
  SetInstance(slow, "7");
  answers[408] = {slow.content_type, slow.body};
  std::set<int> statuses;
  for (const auto& [status, text] : answers) {
    statuses.insert(status);
    for (const std::string& operation : check_->Operations()) {
      const auto problems = check_->Problems(operation, status, text.first, text.second);
      EXPECT_TRUE(problems.empty()) << operation << " " << status << base::Join(problems, "\n");
    }
  }
  EXPECT_EQ(statuses, (std::set<int>{400, 408, 413, 414, 417, 431, 500, 501, 503, 504}));
  // And nothing is documented that neither the server nor an endpoint answers.
  statuses.insert({200, 201, 204, 401, 403, 404, 409, 429});
  EXPECT_EQ(statuses, check_->Statuses());
}

// A document that says something else is found wrong: the check can fail.
TEST_P(OpenApiSuite, AChangedDocumentIsFoundWrong) {
  const Json document = Json::parse(Plain("GET", "/openapi.json").body);
  const TestReply reply = Get(NotePath(Make(Made::kFailed, notes_, kAnn)), TokenOf(kAnn));
  const auto problems = [&](const char* pointer, const Json& value) {
    Json changed = document;
    changed[Json::json_pointer(pointer)] = value;
    return OpenApiCheck(changed).Problems("GET /api/v1/notification-outbox/{id}", reply.status,
                                          reply.header("content-type"), reply.body);
  };
  const std::string schema = "/components/schemas/Notification";
  const auto at = [&](const char* more) { return schema + more; };
  EXPECT_TRUE(problems(at("/description").c_str(), "the same").empty());
  const std::pair<std::string, Json> changes[] = {
      {at("/properties/title/type"), "integer"},
      {at("/properties/locked_at/type"), Json::array({"string", "integer"})},
      {at("/properties/title/format"), "uuid"},
      {at("/properties/title/format"), "date-time"},
      {at("/properties/status/enum"), Json::array({"pending"})},
      {at("/properties/metadata/properties"), {{"n", {{"type", "string"}}}}},
      {at("/properties/title/minLength"), 1},  // a keyword that the check does not know
      {at("/required/0"), "colour"},
      {at("/type"), "array"},
      {"/paths/~1api~1v1~1notification-outbox~1{id}/get/responses", Json::object()}};
  for (const auto& [pointer, value] : changes) {
    EXPECT_FALSE(problems(pointer.c_str(), value).empty()) << pointer;
  }
  Json narrower = document;
  narrower[Json::json_pointer(at("/properties"))].erase("title");
  EXPECT_FALSE(OpenApiCheck(narrower)
                   .Problems("GET /api/v1/notification-outbox/{id}", reply.status,
                             reply.header("content-type"), reply.body)
                   .empty());
}

}  // namespace outbox::service
