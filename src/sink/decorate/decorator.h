// Decorator: a sink around another that passes everything on; decorators change one thing each.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "outbox/sink.h"

namespace outbox::sink {

class Decorator : public Sink {
 public:
  explicit Decorator(std::shared_ptr<Sink> inner) : inner_(std::move(inner)) {}

  std::string_view name() const noexcept override { return inner_->name(); }
  SinkTraits traits() const noexcept override { return inner_->traits(); }
  Status Open(Deadline deadline) override { return inner_->Open(deadline); }
  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    inner_->Publish(batch, results, deadline);
  }
  void Close(Deadline deadline) noexcept override { inner_->Close(deadline); }

 protected:
  Sink& inner() const noexcept { return *inner_; }

 private:
  const std::shared_ptr<Sink> inner_;
};

}  // namespace outbox::sink
