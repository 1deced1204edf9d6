#include <exception>
#include <utility>

#include "base/text.h"
#include "outbox/sink.h"

namespace outbox {
namespace {

class CallbackSink final : public Sink {
 public:
  CallbackSink(Handler handler, std::size_t concurrency)
      : handler_(std::move(handler)), concurrency_(concurrency == 0 ? 1 : concurrency) {}

  std::string_view name() const noexcept override { return "callback"; }
  SinkTraits traits() const noexcept override {
    return {.batch_max = 1, .concurrency = concurrency_};
  }
  Status Open(Deadline) override {
    return handler_ ? Status::Ok() : Status::Invalid("sink: the handler is empty");
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    for (std::size_t i = 0; i < batch.size(); ++i) results[i] = Call(batch[i], deadline);
  }

 private:
  Status Call(const Message& message, Deadline deadline) {
    try {
      return handler_(message, deadline);
    } catch (const std::exception& exception) {
      return Status::Retry(Code::kInternal, base::StrCat("the handler threw: ", exception.what()));
    } catch (...) {
      return Status::Retry(Code::kInternal, "the handler threw something unknown");
    }
  }

  const Handler handler_;
  const std::size_t concurrency_;
};

}  // namespace

std::shared_ptr<Sink> MakeCallbackSink(Handler handler, std::size_t concurrency) {
  return std::make_shared<CallbackSink>(std::move(handler), concurrency);
}

}  // namespace outbox
