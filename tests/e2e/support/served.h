// Served: `outboxd serve` on a stage, with tokens from a secret of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "service/http/test_client.h"
#include "tests/e2e/support/stage.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait.h"

namespace outbox::testing {

class Served {
 public:
  // `open_files`: its limit of them, soft and hard; 0 leaves it as it is.
  Served(const Stage& stage, std::map<std::string, std::string> environment,
         std::size_t open_files = 0)
      : stage_(stage) {
    secret_ = folder_.File("secret");
    EXPECT_EQ(stage.Run({"token", "--new-secret", secret_}).exit_code, 0);
    environment.insert({{"OUTBOX_DB", stage.url()},
                        {"OUTBOX_PROFILE", "default"},
                        {"OUTBOX_RELAY_TABLES", std::string(kTable)},
                        {"OUTBOX_SERVICE_LISTEN", "127.0.0.1:0"},
                        {"OUTBOX_SERVICE_AUTH_SECRET_FILE", secret_},
                        {"OUTBOX_METRICS_SAMPLE_INTERVAL", "1s"}});
    process_ = Process::Start(Command(open_files), {.environment = std::move(environment)});
    const std::string marker = "http://127.0.0.1:";
    EXPECT_TRUE(WaitFor([&] {
      return process_->Errors().find("\"serving\"") != std::string::npos || !process_->Running();
    }));
    const std::string log = process_->Errors();
    for (std::size_t at = 0; (at = log.find(marker, at)) != std::string::npos;) {
      at += marker.size();
      ports_.push_back(static_cast<std::uint16_t>(std::atoi(log.c_str() + at)));
    }
    EXPECT_FALSE(ports_.empty()) << log;
    if (ports_.empty()) ports_.push_back(0);
  }

  // With a hard limit nothing can raise it again.
  static std::vector<std::string> Command(std::size_t open_files) {
    if (open_files == 0) return {OUTBOXD_PATH, "serve", "--json"};
    return {"/bin/sh", "-c", base::StrCat("ulimit -n ", open_files, "; exec \"$0\" serve --json"),
            OUTBOXD_PATH};
  }

  std::uint16_t port() const { return ports_.front(); }
  // Of the operators' address, where they have one of their own.
  std::uint16_t admin_port() const { return ports_[ports_.size() > 1 ? 1 : 0]; }
  Process& process() { return *process_; }

  std::string OperatorToken() const {
    std::string token =
        stage_.Run({"token", "--secret-file", secret_, "--operator"}).standard_output;
    while (token.ends_with('\n')) token.pop_back();
    return token;
  }
  service::TestReply Get(const std::string& path, const std::string& token = "") const {
    service::TestClient client(port());
    return client.Get(path,
                      token.empty() ? "" : base::StrCat("Authorization: Bearer ", token, "\r\n"));
  }
  service::TestReply Post(const std::string& path, const std::string& token) const {
    service::TestClient client(port());
    client.Send(base::StrCat("POST ", path, " HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ",
                             token, "\r\nContent-Length: 0\r\n\r\n"));
    return client.Read();
  }
  // As the operators' API lists them; none when it does not answer in time.
  nlohmann::json Relays(const std::string& token) const {
    const nlohmann::json answer =
        nlohmann::json::parse(Get("/api/v1/operator/relays", token).body, nullptr, false);
    return answer.is_object() ? answer.value("relays", nlohmann::json::array())
                              : nlohmann::json::array();
  }
  // The value of one line of a scrape; -1 when it is not there.
  static double Value(const std::string& scrape, const std::string& series) {
    std::istringstream lines(scrape);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
    }
    return -1;
  }

 private:
  const Stage& stage_;
  TempFolder folder_;
  std::string secret_;
  std::unique_ptr<Process> process_;
  std::vector<std::uint16_t> ports_;  // listen, admin_listen
};

}  // namespace outbox::testing
