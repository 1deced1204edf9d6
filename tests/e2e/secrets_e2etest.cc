// Canaries: a payload, a database password and a sink's credential must not come out again, neither
// in logs, nor in the process list, nor in errors.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

constexpr std::string_view kPayload = "canary-payload-93b1";
constexpr std::string_view kPassword = "canary-password-17c4";
constexpr std::string_view kToken = "canary-token-5e20";

std::string CommandLine(pid_t pid) {
  std::ifstream file(StrCat("/proc/", pid, "/cmdline"), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void ExpectClean(const std::string& text, std::string_view where) {
  EXPECT_EQ(text.find("canary"), std::string::npos) << where << ": " << text;
}

class Secrets : public OnDialect {
 protected:
  // The stage's address with a password in it; a server that trusts everybody ignores it.
  static std::string UrlWithPassword(const Stage& stage) {
    if (GetParam() == Dialect::kSqlite) return stage.url();
    std::string url = stage.url();
    return url.insert(url.find('@'), StrCat(":", kPassword));
  }
  static void EnqueueCanary(Stage& stage) {
    const Finished enqueued =
        stage.Run({"enqueue", "--table", std::string(kTable), "--topic", "orders.order.created.v1",
                   "--payload", StrCat(R"({"secret":")", kPayload, R"("})")});
    ASSERT_EQ(enqueued.exit_code, 0) << enqueued.standard_error;
    ExpectClean(enqueued.standard_error, "enqueue");
  }
};
OUTBOX_ON_EVERY_DIALECT(Secrets);

TEST_P(Secrets, StayOutOfLogsAndTheProcessList) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  EnqueueCanary(*stage);
  const auto relay = stage->StartRelay(
      "relay", {"--sink", "file:/dev/full", "--probe-min", "20ms", "--probe-max", "50ms"},
      {.environment = {{"OUTBOX_DB", UrlWithPassword(*stage)}, {"OUTBOX_LOG_LEVEL", "debug"}}});
  ASSERT_TRUE(WaitFor([&] {
    return relay->Errors().find("relay waiting for sink") != std::string::npos;
  })) << relay->Errors();
  ExpectClean(CommandLine(relay->pid()), "the process list");
  relay->Signal(SIGTERM);
  ASSERT_TRUE(relay->Wait(kPatience).has_value());
  ExpectClean(relay->Errors(), "the log");
  EXPECT_EQ(stage->sql().Number(
                StrCat("SELECT count(*) FROM ", kTable, " WHERE last_error LIKE '%canary%'")),
            0);
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT count(*) FROM ", kTable)), 1);
}

TEST_P(Secrets, StayOutOfErrors) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string table(kTable);
  const Finished unknown_sink = stage->Run(
      {"relay", "--table", table, "--sink", StrCat("carrier://pigeon:", kToken, "@loft/")});
  EXPECT_NE(unknown_sink.exit_code, 0);
  ExpectClean(unknown_sink.standard_error, "an unknown sink");

  const std::string nowhere = StrCat("postgres://relay:", kPassword, "@127.0.0.1:1/shop");
  const Finished unreachable =
      stage->Run({"stats", "--table", table}, {.environment = {{"OUTBOX_DB", nowhere}}});
  EXPECT_EQ(unreachable.exit_code, 1);
  ExpectClean(unreachable.standard_error, "an unreachable database");

  const Finished bad_payload =
      stage->Run({"enqueue", "--table", table, "--topic", "orders.order.created.v1", "--payload",
                  StrCat("{\"secret\":\"", kPayload)});
  EXPECT_NE(bad_payload.exit_code, 0);
  ExpectClean(bad_payload.standard_error, "a payload that is not JSON");
}

TEST_P(Secrets, AreMaskedInThePrintedConfiguration) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string database = StrCat("postgres://relay:", kPassword, "@db/shop");
  const Finished config = stage->Run({"config"}, {.environment = {{"OUTBOX_DB", database}}});
  EXPECT_EQ(config.exit_code, 0) << config.standard_error;
  EXPECT_NE(config.standard_output.find("db/shop"), std::string::npos) << config.standard_output;
  ExpectClean(config.standard_output + config.standard_error, "config");
}

}  // namespace
}  // namespace outbox::testing
