#include "sink/decorate/tuned.h"

#include <algorithm>
#include <utility>

#include "sink/decorate/decorator.h"

namespace outbox::sink {
namespace {

class TunedSink final : public Decorator {
 public:
  TunedSink(std::shared_ptr<Sink> inner, SinkTraits wanted)
      : Decorator(std::move(inner)), wanted_(wanted) {}

  SinkTraits traits() const noexcept override {
    SinkTraits traits = inner().traits();
    if (wanted_.batch_max > 0) traits.batch_max = std::min(traits.batch_max, wanted_.batch_max);
    if (wanted_.concurrency > 0) {
      traits.concurrency = std::min(traits.concurrency, wanted_.concurrency);
    }
    return traits;
  }

 private:
  const SinkTraits wanted_;
};

}  // namespace

std::shared_ptr<Sink> Tuned(std::shared_ptr<Sink> sink, SinkTraits traits) {
  return std::make_shared<TunedSink>(std::move(sink), traits);
}

}  // namespace outbox::sink
