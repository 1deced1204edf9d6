#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/consent.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/terminal.h"
#include "cli/when.h"
#include "cli/wrap.h"
#include "sink/file/file_sink.h"
#include "sink/net/connect_step.h"
#include "sink/net/probe.h"
#include "sink/net/way.h"
#include "sink/registry.h"
#include "sink/sent_observer.h"

namespace outbox::cli {
namespace {

using std::chrono::steady_clock;

// Beyond the test's own time, for all servers together. Only those that say nothing cost it.
constexpr std::chrono::seconds kTlsPatience{5};

struct SinkTestFlags {
  std::string uri;
  std::string topic = "outboxd.sink.test.v1";
  std::string timeout = "15s";
  JsonFlags output;
  bool yes = false;
};

enum class StepEnd { kOk, kAway, kFailed };

// The steps of a test, told as they end. What made the test fail is left to the error that ends it.
class Steps {
 public:
  explicit Steps(const JsonFlags& output)
      : json_(output.any()),
        by_line_(output.jsonl),
        colour_(UseColour(STDOUT_FILENO)),
        below_(IsNarrow(TerminalWidth(STDOUT_FILENO))),
        room_(Room(TerminalWidth(STDOUT_FILENO))) {}

  void Add(std::string_view name, StepEnd end, const std::string& detail,
           steady_clock::duration took) {
    last_ = steady_clock::now();
    failed_ = failed_ || end == StepEnd::kFailed;
    const double ms = std::chrono::duration<double, std::milli>(took).count();
    if (json_) {
      steps_.push_back(base::JsonObject()
                           .Add("step", name)
                           .Add("ok", end == StepEnd::kOk)
                           .AddUnlessEmpty("detail", detail)
                           .AddRaw("ms", base::JsonNumber(ms))
                           .Finish());
      if (by_line_) (void)WriteJsonLine(steps_.back());
      return;
    }
    char time[32];
    std::snprintf(time, sizeof time, "%9.2f ms", ms);
    const std::string padded =
        base::StrCat(name, std::string(9 - std::min<std::size_t>(name.size(), 9), ' '));
    std::cout << Label(end) << "  " << padded << Styled(time, Style::kDim, colour_);
    if (!detail.empty()) {
      std::cout << (below_ ? "\n  " : "  ")
                << base::Join(WrapLines(Harmless(detail), room_),
                              "\n" + std::string(below_ ? 2 : kDetailColumn, ' '));
    }
    std::cout << std::endl;
  }
  // One of a connection to `endpoint`.
  void Add(const sink::ConnectStep& step, const sink::Endpoint& endpoint, StepEnd failure) {
    const StepEnd end = step.ok ? StepEnd::kOk : step.more ? StepEnd::kAway : failure;
    const std::string server = endpoint.ToString();
    std::string detail = step.detail;
    if (detail.empty() || (end == StepEnd::kFailed && !json_)) {
      detail = server;
    } else if (detail.find(server) == std::string::npos) {
      detail = base::StrCat(server, ": ", detail);
    }
    Add(step.name, end, detail, step.took);
  }

  // A step that is over, since the last one.
  void AddDone(std::string_view name, const std::string& detail) {
    Add(name, StepEnd::kOk, detail, steady_clock::now() - last_);
  }
  void AddEnd(std::string_view name, const std::string& detail, const Status& status) {
    const std::string failure = json_ ? status.ToString() : "";
    Add(name, status.ok() ? StepEnd::kOk : StepEnd::kFailed, status.ok() ? detail : failure,
        steady_clock::now() - last_);
  }

  // Runs one step and tells of it, timed from the last step that was told meanwhile and unless that
  // has failed. Returns what it returned.
  template <typename Work>
  Status Run(std::string_view name, const std::string& detail, Work work) {
    last_ = steady_clock::now();
    Status status = work();
    if (!failed_) AddEnd(name, detail, status);
    return status;
  }
  void Begin() { last_ = steady_clock::now(); }
  bool failed() const { return failed_; }

  void Finish(const Status& status) const {
    if (!json_ || by_line_) return;
    base::JsonObject end;
    end.Add("ok", status.ok());
    if (!status.ok()) end.Add("error", status.message()).AddUnlessEmpty("hint", status.hint());
    PrintJson(end.AddRaw("steps", base::JsonArray(steps_)).Finish());
  }

 private:
  static constexpr std::size_t kDetailColumn = 31;
  static constexpr std::size_t kRoomMin = 37;  // an id fits

  // Too narrow for details beside their steps.
  static bool IsNarrow(std::size_t columns) {
    return columns != 0 && columns < kDetailColumn + kRoomMin;
  }
  static std::size_t Room(std::size_t columns) {
    if (columns == 0) return std::numeric_limits<std::size_t>::max();
    return columns - std::min(columns / 2, IsNarrow(columns) ? 2 : kDetailColumn);
  }

  std::string Label(StepEnd end) const {
    switch (end) {
      case StepEnd::kOk: return Styled("ok    ", Style::kGood, colour_);
      case StepEnd::kAway: return Styled("away  ", Style::kWarn, colour_);
      case StepEnd::kFailed: break;
    }
    return Styled("FAILED", Style::kBad, colour_);
  }

  const bool json_;
  const bool by_line_;  // JSON lines, each as its step ends
  const bool colour_;
  const bool below_;        // details stand below their steps
  const std::size_t room_;  // columns for details
  steady_clock::time_point last_ = steady_clock::now();
  bool failed_ = false;
  std::vector<std::string> steps_;
};

// Goes the way to the destination as far as that can be done without the sink's client. Of several
// servers one is enough, as it is for the sink.
Status Approach(const sink::Way& way, Steps& steps, Deadline deadline) {
  const std::size_t count = way.endpoints.size();
  const StepEnd failure = count > 1 ? StepEnd::kAway : StepEnd::kFailed;
  bool reached = count == 0;
  Status last;
  for (std::size_t i = 0; i < count; ++i) {
    const sink::Endpoint& endpoint = way.endpoints[i];
    const Deadline share = Deadline::After(deadline.remaining() / static_cast<long>(count - i + 1));
    Status status = sink::Probe(way, endpoint, share, [&](const sink::ConnectStep& step) {
      steps.Add(step, endpoint, failure);
    });
    reached = reached || status.ok();
    if (!status.ok()) last = std::move(status);
  }
  return reached ? Status::Ok() : last;
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

// The message leaves, and is confirmed. Where nobody tells when it has left, both are `confirm`.
Status Publish(Sink& sink, const sink::SinkKind& kind, const std::string& topic, Steps& steps,
               Deadline deadline) {
  const std::vector<Message> batch{TestMessage(topic)};
  std::vector<Status> results(1, Status::NotAttempted());
  const std::string message = base::StrCat("message ", batch[0].id.ToString(), " on ", topic);
  bool sent = false;
  steps.Begin();
  {
    const sink::SentObserver observer([&] {
      if (!std::exchange(sent, true)) steps.AddDone("publish", message);
    });
    sink.Publish(batch, results, deadline);
  }
  const Status& status = results[0];
  if (steps.failed()) return status;
  // A request carries its credentials; there is no login before it.
  const bool request = kind.make_observed != nullptr;
  const bool refused = request && status.code() == Code::kPermission;
  const bool unsent = !sent && !status.ok();
  steps.AddEnd(refused ? "auth" : (unsent ? "publish" : "confirm"), sent ? "" : message, status);
  return status;
}

Status Deliver(Sink& sink, const sink::SinkKind& kind, const std::string& topic, Steps& steps,
               Deadline deadline) {
  if (kind.way == nullptr) {
    OUTBOX_RETURN_IF_ERROR(steps.Run("open", "", [&] { return sink.Open(deadline); }));
  } else if (kind.make_observed == nullptr) {
    OUTBOX_RETURN_IF_ERROR(steps.Run("auth", "let in", [&] { return sink.Open(deadline); }));
  }
  return Publish(sink, kind, topic, steps, deadline);
}

Result<std::chrono::milliseconds> Timeout(const std::string& text) {
  OUTBOX_ASSIGN_OR_RETURN(const auto timeout, ParseSpan("--timeout", text));
  if (timeout.count() > 0) return timeout;
  return Status::Invalid("--timeout: leaves no time").WithHint("write for instance --timeout 15s");
}

// A server that was spoken to in the clear and gave no good answer may want TLS.
Status WithTlsHint(Status status, const sink::Way& way) {
  const bool refused = status.code() == Code::kPermission || status.code() == Code::kNotFound;
  if (status.ok() || refused || way.tls || way.instead.empty()) return status;
  const Deadline patience = Deadline::After(kTlsPatience);
  long left = static_cast<long>(way.endpoints.size());
  for (const sink::Endpoint& endpoint : way.endpoints) {
    const Deadline share = Deadline::After(patience.remaining() / left--);
    if (sink::SpeaksTls(endpoint, way.allows, share)) {
      return std::move(status).WithHint(
          base::StrCat(endpoint.ToString(), " speaks TLS: ", way.instead));
    }
  }
  return status;
}

// A file that is somebody else's does not get a line of ours by mistake.
Status AskForFile(const sink::SinkUri& uri, bool yes) {
  if (uri.scheme != "file") return Status::Ok();
  OUTBOX_ASSIGN_OR_RETURN(const std::string path, sink::FilePath(uri));
  if (!sink::IsForeignFile(path)) return Status::Ok();
  return AskFirst(base::StrCat("append a test message to ", path,
                               ", whose last line no file: sink has written"),
                  yes, "give --yes");
}

Status Run(const SinkTestFlags& options) {
  OUTBOX_ASSIGN_OR_RETURN(const auto timeout, Timeout(options.timeout));
  Steps steps(options.output);
  sink::Way way;
  OUTBOX_ASSIGN_OR_RETURN(const auto sink,
                          sink::OpenSink(options.uri, [&](const sink::ConnectStep& step) {
                            steps.Add(step, way.endpoints.front(), StepEnd::kFailed);
                          }));
  OUTBOX_ASSIGN_OR_RETURN(const sink::SinkUri uri, sink::SinkUri::Parse(options.uri));
  if (options.output.any() && uri.scheme == "stdout") {
    return Status::Invalid("--json, --jsonl: the sink itself writes to standard output");
  }
  OUTBOX_RETURN_IF_ERROR(AskForFile(uri, options.yes));
  const sink::SinkKind& kind = *sink::FindSinkKind(uri.scheme);
  if (kind.way != nullptr) {
    OUTBOX_ASSIGN_OR_RETURN(way, kind.way(uri));
  }
  const Deadline deadline = Deadline::After(timeout);
  Status status;
  if (kind.make_observed == nullptr) status = Approach(way, steps, deadline);
  if (status.ok()) {
    status = WithTlsHint(Deliver(*sink, kind, options.topic, steps, deadline), way);
  }
  sink->Close(Deadline::After(timeout));
  steps.Finish(status);
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
  test->add_flag("--yes,-y", options->yes, "Do not ask");
  AddJsonFlags(*test, options->output);
  test->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
