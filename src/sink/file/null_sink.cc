#include "sink/file/null_sink.h"

#include <algorithm>

#include "sink/option_reader.h"

namespace outbox::sink {
namespace {

class NullSink final : public Sink {
 public:
  std::string_view name() const noexcept override { return "null"; }
  SinkTraits traits() const noexcept override { return {.batch_max = 10'000, .concurrency = 1}; }
  Status Open(Deadline) override { return Status::Ok(); }
  void Publish(std::span<const Message>, std::span<Status> results, Deadline) override {
    std::fill(results.begin(), results.end(), Status::Ok());
  }
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeNullSink(const SinkUri& uri) {
  OUTBOX_RETURN_IF_ERROR(OptionReader(uri).Finish());
  if (!uri.target.empty()) {
    return Status::Invalid("the null: sink takes no target").WithHint("write null:");
  }
  return std::shared_ptr<Sink>(std::make_shared<NullSink>());
}

}  // namespace outbox::sink
