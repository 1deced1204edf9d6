#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <vector>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/terminal.h"
#include "sink/authority.h"
#include "sink/net/stream.h"
#include "sink/registry.h"

namespace outbox::cli {
namespace {

using std::chrono::steady_clock;

struct SinkTestFlags {
  std::string uri;
  std::string topic = "outboxd.sink.test.v1";
  std::string timeout = "15s";
  bool json = false;
};

// The steps of a test, told as they end.
class Steps {
 public:
  explicit Steps(bool json) : json_(json), colour_(UseColour(STDOUT_FILENO)) {}

  void Add(std::string_view name, bool ok, const std::string& detail, steady_clock::duration took) {
    const double ms = std::chrono::duration<double, std::milli>(took).count();
    if (json_) {
      steps_.push_back(base::JsonObject()
                           .Add("step", name)
                           .Add("ok", ok)
                           .AddUnlessEmpty("detail", detail)
                           .AddRaw("ms", base::JsonNumber(ms))
                           .Finish());
      return;
    }
    char time[32];
    std::snprintf(time, sizeof time, "%9.2f ms", ms);
    const std::string padded =
        base::StrCat(name, std::string(9 - std::min<std::size_t>(name.size(), 9), ' '));
    std::cout << Styled(ok ? "ok    " : "FAILED", ok ? Style::kGood : Style::kBad, colour_) << "  "
              << padded << Styled(time, Style::kDim, colour_) << "  " << detail << '\n';
  }

  // Runs one step and tells of it; returns what it returned.
  template <typename Work>
  Status Run(std::string_view name, std::string_view detail, Work work) {
    const auto started = steady_clock::now();
    Status status = work();
    Add(name, status.ok(), status.ok() ? std::string(detail) : status.ToString(),
        steady_clock::now() - started);
    return status;
  }

  void Finish(bool ok) const {
    if (!json_) return;
    std::cout << base::JsonObject().Add("ok", ok).AddRaw("steps", base::JsonArray(steps_)).Finish()
              << '\n';
  }

 private:
  const bool json_;
  const bool colour_;
  std::vector<std::string> steps_;
};

// Looks at the way to the destination, as far as that can be done without the sink's client.
Status Approach(const sink::SinkUri& uri, const sink::SinkKind& kind, Steps& steps,
                Deadline deadline) {
  if (kind.reach == sink::Reach::kLocal) return Status::Ok();
  OUTBOX_ASSIGN_OR_RETURN(const sink::Authority authority, sink::ParseAuthority(uri, kind.port));
  Status first;
  for (const sink::Endpoint& endpoint : authority.endpoints) {
    Status status;
    if (kind.reach == sink::Reach::kResolve) {
      status = steps.Run("resolve", endpoint.ToString(),
                         [&] { return sink::Resolve(endpoint, deadline).error(); });
    } else {
      std::optional<sink::TlsOptions> tls;
      if (kind.reach == sink::Reach::kTls) {
        sink::OptionReader options(uri);
        tls = sink::ReadTlsOptions(options);
      }
      status = sink::Stream::Connect(endpoint, tls, deadline, [&](const sink::ConnectStep& step) {
                 steps.Add(step.name, step.ok, step.detail, step.took);
               }).error();
    }
    if (first.ok()) first = std::move(status);
  }
  return first;
}

// Marked, so that a consumer can tell it and leave it out.
Message TestMessage(const std::string& topic) {
  Message message;
  message.id = Uuid::NewV7();
  message.seq = 1;
  message.table = "outboxd.sink_test";
  message.topic = topic;
  message.key = "outboxd-sink-test";
  message.payload = R"({"test":true,"from":"outboxd sink test"})";
  message.headers = {{"x-outboxd-test", "true"}};
  message.attempt = 1;
  message.created_at =
      std::chrono::time_point_cast<Timestamp::duration>(std::chrono::system_clock::now());
  return message;
}

Status Deliver(Sink& sink, const std::string& topic, Steps& steps, Deadline deadline) {
  OUTBOX_RETURN_IF_ERROR(
      steps.Run("open", "connected and let in", [&] { return sink.Open(deadline); }));
  const std::vector<Message> batch{TestMessage(topic)};
  std::vector<Status> results(1, Status::Retry(Code::kInternal, "not attempted"));
  return steps.Run("confirm", base::StrCat("message ", batch[0].id.ToString(), " on ", topic), [&] {
    sink.Publish(batch, results, deadline);
    return results[0];
  });
}

Status Run(const SinkTestFlags& options) {
  OUTBOX_ASSIGN_OR_RETURN(const auto timeout, base::ParseDuration(options.timeout));
  OUTBOX_ASSIGN_OR_RETURN(const sink::SinkUri uri, sink::SinkUri::Parse(options.uri));
  OUTBOX_ASSIGN_OR_RETURN(const auto sink, sink::OpenSink(options.uri));
  const Deadline deadline = Deadline::After(timeout);
  Steps steps(options.json);
  Status status = Approach(uri, *sink::FindSinkKind(uri.scheme), steps, deadline);
  if (status.ok()) status = Deliver(*sink, options.topic, steps, deadline);
  sink->Close(Deadline::After(timeout));
  steps.Finish(status.ok());
  return status;
}

}  // namespace

void AddSink(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("sink", "Try a sink");
  command->require_subcommand(1);
  CLI::App* test =
      command->add_subcommand("test", "Send one marked message and tell how each step went");
  auto options = std::make_shared<SinkTestFlags>();
  test->add_option("uri", options->uri, "The sink's address, as for relay --sink")->required();
  test->add_option("--topic", options->topic, "The message's topic")->capture_default_str();
  test->add_option("--timeout", options->timeout, "For all of it together")->capture_default_str();
  AddJsonFlag(*test, options->json);
  test->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
