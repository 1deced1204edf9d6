#include "sink/file/stdout_sink.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "base/turn.h"
#include "sink/file/line_writer.h"
#include "sink/option_reader.h"

namespace outbox::sink {
namespace {

class StdoutSink final : public Sink {
 public:
  std::string_view name() const noexcept override { return "stdout"; }

  Status Open(Deadline) override { return Status::Ok(); }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    const std::unique_lock turn(turn_, deadline.at());
    if (!turn) {
      std::fill(results.begin(), results.end(), StillBusy("standard output"));
      return;
    }
    const LineWriter::Written written =
        writer_.Write(STDOUT_FILENO, "standard output", batch, deadline);
    const auto split = results.begin() + static_cast<std::ptrdiff_t>(written.lines);
    std::fill(results.begin(), split, Status::Ok());
    std::fill(split, results.end(), written.status);
  }

 private:
  base::Turn turn_;
  LineWriter writer_{isatty(STDOUT_FILENO) == 1};  // guarded by turn_
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeStdoutSink(const SinkUri& uri) {
  OUTBOX_RETURN_IF_ERROR(OptionReader(uri).Finish());
  if (!uri.target.empty()) {
    return Status::Invalid("the stdout: sink takes no target").WithHint("write stdout:");
  }
  return std::shared_ptr<Sink>(std::make_shared<StdoutSink>());
}

}  // namespace outbox::sink
