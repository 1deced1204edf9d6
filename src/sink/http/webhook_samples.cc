// Sends signed webhooks through the sink to a server of its own and prints what arrived, one JSON
// object a line, for tests/support/standard_webhooks.js to verify.
//
//   webhook_samples SECRET SECRET2
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sink/http/http_test_sink.h"
#include "tests/support/http_server.h"

namespace outbox::sink {
namespace {

bool SendSamples(const std::string& url, const std::string& options) {
  std::vector<Message> messages = SomeMessages(4);
  messages[1].payload = R"({"text":"Grüße, 世界 🎉 \u0000"})";
  messages[2].payload = "[ 1.0 ,\n 1e3 ]";
  messages[3].payload = "\"" + std::string(100'000, 'x') + "\"";
  const auto sink = SinkAt(url + "/?outbox.allow=127.0.0.0/8" + options);
  for (const Status& status : PublishAll(*sink, messages)) {
    if (status.ok()) continue;
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return false;
  }
  return true;
}

int Main(const std::string& secret, const std::string& secret2) {
  const auto server = outbox::testing::HttpServer::Start({});
  if (server == nullptr) return 1;
  const auto encode = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('+', at)) != std::string::npos;) {
      text.replace(at, 1, "%2B");
    }
    return text;
  };
  const std::string first = "&outbox.secret=" + encode(secret);
  const std::string both = first + "&outbox.secret2=" + encode(secret2);
  for (const std::string& options :
       {both, both + "&outbox.body=plain", both + "&outbox.body=binary",
        both + "&outbox.body=envelope", both + "&outbox.batch=true"}) {
    if (!SendSamples(server->url(), options)) return 1;
  }
  for (const auto& request : server->requests()) {
    const nlohmann::json line{{"headers", request.headers}, {"body", request.body}};
    std::puts(line.dump().c_str());
  }
  return 0;
}

}  // namespace
}  // namespace outbox::sink

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return outbox::sink::Main(argv[1], argv[2]);
}
