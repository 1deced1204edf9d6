#include "outbox/enqueue.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/standard_streams.h"
#include "cli/terminal.h"
#include "cli/when.h"
#include "cli/wrap.h"
#include "message/message_line.h"
#include "message/validate.h"

namespace outbox::cli {
namespace {

using base::StrCat;

constexpr std::size_t kBatchMax = 1000;
constexpr std::size_t kBatchBytesMax = std::size_t{16} << 20;
constexpr std::size_t kRefusedShownMax = 20;

struct EnqueueFlags {
  std::string database;
  std::string table;
  std::string topics = "strict";
  bool skip_invalid = false;
  bool json = false;
  // One message; without a topic, messages come from standard input.
  bool one = false;
  std::string message_flag;  // one that was given and is not the topic
  NewMessage message;
  std::string id;
  std::string tenant_id;
  std::vector<std::string> headers;
  std::string delay;
  std::string available_at;
};

EnqueueOptions ToEnqueueOptions(const EnqueueFlags& options) {
  return {.topics = options.topics == "relaxed" ? TopicRule::kRelaxed : TopicRule::kStrict};
}

Result<NewMessage> MessageFromFlags(const EnqueueFlags& options) {
  NewMessage message = options.message;
  if (message.payload.empty()) {
    return Status::Invalid("--payload: is required with --topic")
        .WithHint("give JSON, or leave --topic out and write JSON lines to standard input");
  }
  const auto read_id = [](const std::string& text, const char* flag,
                          std::optional<Uuid>& out) -> Status {
    if (text.empty()) return Status::Ok();
    out = Uuid::Parse(text);
    return out ? Status::Ok() : Status::Invalid(StrCat(flag, ": '", text, "' is not a UUID"));
  };
  OUTBOX_RETURN_IF_ERROR(read_id(options.id, "--id", message.id));
  OUTBOX_RETURN_IF_ERROR(read_id(options.tenant_id, "--tenant", message.tenant_id));
  for (const std::string& header : options.headers) {
    const std::size_t equals = header.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Status::Invalid("--header: is not of the form NAME=VALUE");
    }
    message.headers.emplace_back(header.substr(0, equals), header.substr(equals + 1));
  }
  if (!options.delay.empty()) {
    OUTBOX_ASSIGN_OR_RETURN(message.delay, ParseSpan("--delay", options.delay));
  }
  if (!options.available_at.empty()) {
    message.available_at = base::ParseTimestamp(options.available_at);
    if (!message.available_at) {
      return Status::Invalid(StrCat("--available-at: '", options.available_at, "' is not a time"))
          .WithHint("write it as 2026-01-05T00:00:00Z");
    }
  }
  return message;
}

// Runs `write` in a transaction of its own.
template <typename Write>
auto InTransaction(store::Session& session, Write write) -> decltype(write(session.executor())) {
  OUTBOX_RETURN_IF_ERROR(session.Begin());
  auto written = write(session.executor());
  if (!written.ok()) {
    session.Rollback();
    return written;
  }
  OUTBOX_RETURN_IF_ERROR(session.Commit());
  return written;
}

Status EnqueueOne(const EnqueueFlags& options, store::Session& session) {
  OUTBOX_ASSIGN_OR_RETURN(const NewMessage message, MessageFromFlags(options));
  OUTBOX_ASSIGN_OR_RETURN(const Enqueued enqueued, InTransaction(session, [&](Executor& executor) {
                            return Enqueue(executor, options.table, message,
                                           ToEnqueueOptions(options));
                          }));
  if (options.json) {
    PrintJson(base::JsonObject()
                  .Add("id", enqueued.id.ToString())
                  .Add("seq", enqueued.seq)
                  .Add("already_enqueued", enqueued.already_enqueued)
                  .Finish());
  } else {
    PrintLine(StrCat(enqueued.already_enqueued ? "already enqueued " : "enqueued ",
                     enqueued.id.ToString(), " (seq ", enqueued.seq, ")"));
  }
  return Status::Ok();
}

// Standard input's size when it is a file, for the bar.
std::optional<std::uint64_t> InputBytes() {
  struct stat info {};
  if (fstat(STDIN_FILENO, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(info.st_size);
}

class BulkEnqueue {
 public:
  BulkEnqueue(const EnqueueFlags& options, store::Session& session)
      : options_(options), session_(session), progress_("enqueue", InputBytes()) {}

  Status Run() {
    std::string line;
    while (std::getline(std::cin, line) && std::ferror(stdin) == 0) {
      bytes_ += line.size() + 1;
      ++line_number_;
      if (base::Trim(line).empty()) continue;
      Read(line);
      const bool full =
          batch_.size() + refused_in_batch_ >= kBatchMax || batch_bytes_ >= kBatchBytesMax;
      if (full) OUTBOX_RETURN_IF_ERROR(Flush());
    }
    if (const Status end = InputEnd(); !end.ok()) return CutOff(end);
    OUTBOX_RETURN_IF_ERROR(Flush());
    return refused_ == 0 ? Status::Ok() : Refused();
  }

  void PrintSummary() const {
    if (options_.json) {
      PrintJson(base::JsonObject()
                    .Add("enqueued", enqueued_)
                    .Add("already_enqueued", already_enqueued_)
                    .Add("refused", refused_)
                    .Finish());
    } else {
      std::string line = StrCat("enqueued ", Plural(enqueued_, "message"));
      if (already_enqueued_ > 0)
        line += StrCat(", ", FormatCount(already_enqueued_), " already there");
      if (refused_ > 0) line += StrCat(", ", FormatCount(refused_), " refused");
      PrintLine(line);
    }
  }

 private:
  void Read(const std::string& line) {
    if (batch_.empty() && refused_in_batch_ == 0) batch_first_line_ = line_number_;
    auto message = message::ParseMessageLine(line);
    Status status = message.error();
    if (status.ok()) status = message::Validate(*message, ToEnqueueOptions(options_));
    if (status.ok()) {
      batch_bytes_ += line.size();
      batch_.push_back(std::move(*message));
      return;
    }
    ++refused_in_batch_;
    if (++refused_ <= kRefusedShownMax) {
      PrintNote(
          StrCat("line ", line_number_, ": ", Harmless(base::CleanError(status.message(), 512))));
    }
  }

  // One transaction: all of the batch, or none of it.
  Status Flush() {
    if (refused_in_batch_ > 0 && !options_.skip_invalid) return Refused();
    refused_in_batch_ = 0;
    if (batch_.empty()) return Status::Ok();
    const auto written = InTransaction(session_, [&](Executor& executor) {
      return EnqueueMany(executor, options_.table, batch_, ToEnqueueOptions(options_));
    });
    if (!written.ok()) return NotWritten(written.error());
    for (const Enqueued& result : *written) {
      ++(result.already_enqueued ? already_enqueued_ : enqueued_);
    }
    batch_.clear();
    batch_bytes_ = 0;
    progress_.Update(bytes_, Plural(enqueued_ + already_enqueued_, "message"));
    return Status::Ok();
  }

  Status CutOff(const Status& why) const {
    const bool between = batch_.empty() && refused_in_batch_ == 0;
    const std::uint64_t first = between ? line_number_ + 1 : batch_first_line_;
    return Status::Permanent(why.code(), why.message())
        .WithHint(StrCat("nothing from line ", first, " on was enqueued"));
  }

  Status NotWritten(const Status& why) const {
    return Status(why.code() == Code::kInvalidArgument ? Code::kRejected : why.code(),
                  why.disposition(),
                  StrCat("lines ", batch_first_line_, " to ", line_number_, ": ", why.message()))
        .WithHint(StrCat(why.hint(), why.hint().empty() ? "" : "; ",
                         "no message of these lines was enqueued, all before them were"));
  }

  Status Refused() const {
    return Status::Permanent(Code::kRejected, StrCat(Plural(refused_, "line"), " refused"))
        .WithHint(options_.skip_invalid
                      ? "all other lines were enqueued"
                      : StrCat("nothing from line ", batch_first_line_,
                               " on was enqueued; mend the input, or give --skip-invalid"));
  }

  const EnqueueFlags& options_;
  store::Session& session_;
  Progress progress_;
  std::vector<NewMessage> batch_;
  std::size_t batch_bytes_ = 0;
  std::uint64_t line_number_ = 0;
  std::uint64_t batch_first_line_ = 1;
  std::uint64_t bytes_ = 0;
  std::uint64_t refused_in_batch_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t enqueued_ = 0;
  std::uint64_t already_enqueued_ = 0;
};

Status Run(const EnqueueFlags& options) {
  if (!options.one && !options.message_flag.empty()) {
    return Status::Invalid(StrCat(options.message_flag, ": goes with --topic only"))
        .WithHint("give --topic and --payload for one message, or JSON lines on standard input");
  }
  if (!options.one && isatty(STDIN_FILENO) == 1) {
    return Status::Invalid("nothing to enqueue")
        .WithHint("give --topic and --payload, or JSON lines on standard input");
  }
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(options.database));
  // Says what is wrong with the table before a line of input is read. A role that may only enqueue
  // may not look; then the database has the word.
  const Status table = backend->OpenInspect(options.table, CommandDeadline()).error();
  if (!table.ok() && table.code() != Code::kPermission) return table;
  OUTBOX_ASSIGN_OR_RETURN(const auto session, backend->OpenSession(CommandDeadline()));
  if (options.one) return EnqueueOne(options, *session);
  BulkEnqueue bulk(options, *session);
  const Status status = bulk.Run();
  bulk.PrintSummary();
  return status;
}

constexpr const char* kMessageGroup = "One message";

void AddMessageFlags(CLI::App& command, EnqueueFlags& options) {
  NewMessage& message = options.message;
  const auto text = [&](const char* flag, std::string& field, const char* help) {
    command.add_option(flag, field, help)->group(kMessageGroup);
  };
  text("--topic", message.topic, "Topic: <module>.<aggregate>.<event>.vN");
  text("--payload", message.payload, "Payload: JSON");
  text("--key", message.key, "Ordering key");
  text("--id", options.id, "Message id: a UUID; made when absent");
  text("--namespace", message.name_space, "Namespace");
  text("--event-type", message.event_type, "Event type");
  command.add_option("--event-version", message.event_version, "Event version")
      ->group(kMessageGroup);
  text("--aggregate-type", message.aggregate_type, "Aggregate type");
  text("--aggregate-id", message.aggregate_id, "Aggregate id");
  text("--tenant", options.tenant_id, "Tenant: a UUID");
  text("--dedupe-key", message.dedupe_key, "A second message with it adds no row");
  command.add_option("--header", options.headers, "NAME=VALUE; may be repeated")
      ->group(kMessageGroup);
  text("--traceparent", message.traceparent, "W3C trace context");
  text("--tracestate", message.tracestate, "W3C trace state");
  text("--delay", options.delay, "Deliver this much later: 5m");
  text("--available-at", options.available_at, "Deliver from this time on: 2026-01-05T00:00:00Z");
}

void NoteMessageFlags(const CLI::App& command, EnqueueFlags& options) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group() != kMessageGroup || option->count() == 0) continue;
    if (option->get_name() == "--topic") {
      options.one = true;
    } else {
      options.message_flag = option->get_name();
    }
  }
}

}  // namespace

void AddEnqueue(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("enqueue", "Add one message, or JSON lines from standard input");
  auto options = std::make_shared<EnqueueFlags>();
  AddDatabaseFlag(*command, options->database);
  AddTableFlag(*command, options->table, "Outbox table")->required();
  command->add_option("--topics", options->topics, "Rule for topics: strict or relaxed")
      ->check(OneOf({"strict", "relaxed"}));
  command->add_flag("--skip-invalid", options->skip_invalid,
                    "Enqueue the good lines of the input and report the bad ones");
  AddJsonFlag(*command, options->json);
  AddMessageFlags(*command, *options);
  command->callback([&action, command, options] {
    NoteMessageFlags(*command, *options);
    action = [options] { return Run(*options); };
  });
}

}  // namespace outbox::cli
