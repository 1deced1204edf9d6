// A destination that repeats what it was sent, in whatever form and to whichever message: nothing
// of it may be found in what the program writes, keeps or answers.
#include <gtest/gtest.h>

#include <csignal>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "service/http/test_client.h"
#include "tests/e2e/support/dialects.h"
#include "tests/support/echoes.h"
#include "tests/support/http_server.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

// So much of an echo in a row is a find. Letters of our own texts are never so many.
constexpr std::size_t kWindow = 12;

std::string PayloadOf(std::size_t number) {
  return StrCat(R"({"canary":"ca)", number * 7919, R"(nary <b>&\"Zo\u00eb\"</b> 100%","iban":"DE)",
                number * 104729 + 3'700'440'532, R"(","note":"unlike all others )", number, "\"}");
}

// Every passage of kWindow bytes that was found anywhere.
class Found {
 public:
  void Add(const std::string& where, const std::string& text) {
    for (std::size_t at = 0; at + kWindow <= text.size(); ++at) {
      passages_.insert(text.substr(at, kWindow));
    }
    places_.emplace_back(where, text);
  }
  void ExpectNothingOf(std::string_view payload) const {
    for (const Echo& echo : EchoesOf(payload)) {
      for (std::size_t at = 0; at + kWindow <= echo.text.size(); ++at) {
        const std::string passage = echo.text.substr(at, kWindow);
        if (!passages_.contains(passage)) continue;
        ADD_FAILURE() << echo.form << " shows '" << passage << "' in " << PlaceOf(passage);
        return;
      }
    }
  }

 private:
  std::string PlaceOf(const std::string& passage) const {
    for (const auto& [where, text] : places_) {
      const std::size_t at = text.find(passage);
      if (at != std::string::npos)
        return StrCat(where, ": ", text.substr(at - std::min<std::size_t>(at, 200), 600));
    }
    return "";
  }

  std::unordered_set<std::string> passages_;
  std::vector<std::pair<std::string, std::string>> places_;
};

struct Case {
  int status;
  const char* options;
  bool others;  // the answer repeats the payload of the request before, too
};

class EchoTest : public ::testing::TestWithParam<std::tuple<Dialect, Case>> {
 protected:
  // The forms one after the other, in the body, the reason phrase and the content type.
  HttpServer::Reply Answer(const HttpServer::Request& request) {
    const Case& test_case = std::get<1>(GetParam());
    const std::lock_guard lock(mutex_);
    const std::string before = std::exchange(before_, request.body);
    const auto echoes = EchoesOf(request.body);
    const std::size_t form = answers_++ % echoes.size();
    std::string text = echoes[form].text;
    if (test_case.others && !before.empty()) text += " and " + EchoesOf(before)[form].text;
    std::string line = text.substr(0, 2000);
    std::erase_if(line, [](char c) { return c >= 0 && c < ' '; });
    return {.status = test_case.status,
            .headers = {{"Content-Type", line}, {"X-Echo", line}},
            .body = form % 2 == 0 ? text : StrCat("cannot take this: ", text),
            .reason = line};
  }
  std::size_t forms() const { return EchoesOf(PayloadOf(0)).size(); }
  std::size_t answers() const {
    const std::lock_guard lock(mutex_);
    return answers_;
  }

 private:
  mutable std::mutex mutex_;
  std::size_t answers_ = 0;
  std::string before_;
};

TEST_P(EchoTest, NothingOfAPayloadComesBack) {
  const auto& [dialect, test_case] = GetParam();
  OUTBOX_MAKE_STAGE(stage, dialect);
  const auto server = HttpServer::Start(
      {.handler = [this](const HttpServer::Request& request) { return Answer(request); }});
  ASSERT_NE(server, nullptr);
  const std::size_t count = forms() + 3;
  std::vector<NewMessage> messages;
  for (std::size_t i = 0; i < count; ++i) {
    messages.push_back({.topic = "a.b.c.v1", .payload = PayloadOf(i), .tenant_id = Uuid::NewV7()});
  }
  ASSERT_TRUE(stage->sql().Execute("BEGIN"));
  ASSERT_TRUE(stage->sql().EnqueueMany(kTable, messages).ok());
  ASSERT_TRUE(stage->sql().Execute("COMMIT"));

  const std::string sink =
      StrCat(server->url(), "/?outbox.allow=127.0.0.0/8&outbox.body=plain", test_case.options);
  const auto served = Process::Start({OUTBOXD_PATH, "serve"},
                                     {.environment = {{"OUTBOX_DB", stage->url()},
                                                      {"OUTBOX_PROFILE", "default"},
                                                      {"OUTBOX_LOG_LEVEL", "debug"},
                                                      {"OUTBOX_RELAY_TABLES", std::string(kTable)},
                                                      {"OUTBOX_RELAY_SINK", sink},
                                                      {"OUTBOX_RELAY_ATTEMPT_HISTORY", "all"},
                                                      {"OUTBOX_RELAY_RETRY_BASE", "10ms"},
                                                      {"OUTBOX_RELAY_RETRY_CAP", "20ms"},
                                                      {"OUTBOX_RELAY_PROBE_MIN", "10ms"},
                                                      {"OUTBOX_RELAY_PROBE_MAX", "20ms"},
                                                      {"OUTBOX_RELAY_HEARTBEAT_INTERVAL", "100ms"},
                                                      {"OUTBOX_SERVICE_LISTEN", "127.0.0.1:0"},
                                                      {"OUTBOX_SERVICE_AUTH_NONE", "true"},
                                                      {"OUTBOX_METRICS_SAMPLE_INTERVAL", "1s"}}});
  ASSERT_TRUE(WaitFor([&] { return answers() > forms() || !served->Running(); }, 3 * kPatience))
      << answers() << served->Errors();
  const std::string expected = StrCat("answered ", test_case.status);
  ASSERT_TRUE(WaitFor([&] { return served->Errors().find(expected) != std::string::npos; }))
      << served->Errors();

  Found found;
  const std::string log = served->Errors();
  const std::string marker = "address=http://127.0.0.1:";
  const std::size_t at = log.find(marker);
  ASSERT_NE(at, std::string::npos) << log;
  const auto port = static_cast<std::uint16_t>(std::atoi(log.c_str() + at + marker.size()));
  const std::string listed = StrCat(
      "/api/v1/tables/", dialect == Dialect::kPostgres ? "public." : "", kTable, "/messages");
  const std::vector<std::string> paths{"/metrics",
                                       "/healthz",
                                       "/readyz",
                                       "/api/v1/operator/relays",
                                       "/api/v1/operator/stats",
                                       "/api/v1/operator/config",
                                       listed};
  for (const std::string& path : paths) {
    service::TestClient client(port);
    client.Send(StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    const service::TestReply reply = client.Read();
    // Whether it is ready is not the question.
    EXPECT_TRUE(reply.status == 200 || reply.status == 503) << path << ": " << reply.body;
    found.Add(path, reply.body);
  }
  for (const Flags& command : std::vector<Flags>{{"list", "--json"},
                                                 {"list"},
                                                 {"relays", "--json"},
                                                 {"relays"},
                                                 {"stats", "--json"},
                                                 {"sink", "test", sink},
                                                 {"sink", "test", sink, "--json"}}) {
    const Finished finished = stage->Run(command);
    found.Add(base::Join(command, " "), finished.standard_output + finished.standard_error);
  }
  served->Signal(SIGTERM);
  ASSERT_TRUE(served->Wait(kPatience).has_value());
  found.Add("the log", served->Errors());
  const auto add_column = [&](const std::string& column, const std::string& table) {
    for (const std::string& text :
         stage->sql().Column(StrCat("SELECT ", column, " FROM ", table))) {
      found.Add(StrCat(table, ".", column), text);
    }
  };
  add_column("last_error", std::string(kTable));
  add_column("error", StrCat(kTable, "_attempt"));
  EXPECT_GE(stage->sql().Number(StrCat("SELECT count(*) FROM ", kTable,
                                       "_attempt WHERE error LIKE '%", expected, "%'")),
            1);
  for (std::size_t i = 0; i < count; ++i) found.ExpectNothingOf(PayloadOf(i));
}

INSTANTIATE_TEST_SUITE_P(
    On, EchoTest,
    ::testing::Combine(::testing::Values(Dialect::kPostgres, Dialect::kSqlite),
                       ::testing::Values(Case{400, "", true}, Case{500, "", true},
                                         Case{401, "", true},
                                         Case{500, "&outbox.excerpt=1024", false})),
    [](const auto& one) {
      const Case& test_case = std::get<1>(one.param);
      return StrCat(DialectName(std::get<0>(one.param)), "_", test_case.status,
                    test_case.options[0] == '\0' ? "" : "_excerpt");
    });

}  // namespace
}  // namespace outbox::testing
