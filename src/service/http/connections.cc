#include "service/http/connections.h"

#include <utility>
#include <vector>

namespace outbox::service {

Connections::Ticket::Ticket(Connections* owner, std::string address, Entry entry)
    : owner_(owner), address_(std::move(address)), entry_(entry) {}

Connections::Ticket::Ticket(Ticket&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      address_(std::move(other.address_)),
      entry_(other.entry_) {}

Connections::Ticket::~Ticket() {
  if (owner_ == nullptr) return;
  const std::lock_guard lock(owner_->mutex_);
  owner_->open_.erase(entry_);
  const auto counted = owner_->per_address_.find(address_);
  if (--counted->second == 0) owner_->per_address_.erase(counted);
  // With the lock, since whoever waits may be about to destroy the owner.
  if (owner_->open_.empty()) owner_->none_.notify_all();
}

void Connections::Ticket::Register(std::weak_ptr<Stoppable> connection) {
  const std::lock_guard lock(owner_->mutex_);
  *entry_ = std::move(connection);
}

std::optional<Connections::Ticket> Connections::Admit(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto counted = per_address_.find(address);
  const std::size_t from_there = counted == per_address_.end() ? 0 : counted->second;
  if (open_.size() >= max_ || (per_address_max_ > 0 && from_there >= per_address_max_)) {
    ++refused_;
    return std::nullopt;
  }
  ++per_address_[address];
  return Ticket(this, address, open_.emplace(open_.end()));
}

template <typename Call>
void Connections::ForEach(Call call) {
  std::vector<std::shared_ptr<Stoppable>> open;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : open_) {
      if (auto connection = entry.lock()) open.push_back(std::move(connection));
    }
  }
  for (const auto& connection : open) call(*connection);
}

void Connections::BeginStop() {
  ForEach([](Stoppable& connection) { connection.BeginStop(); });
}

void Connections::Abort() {
  ForEach([](Stoppable& connection) { connection.Abort(); });
}

bool Connections::WaitUntilNone(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return none_.wait_until(lock, deadline.at(), [this] { return open_.empty(); });
}

std::size_t Connections::count() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

std::size_t Connections::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

}  // namespace outbox::service
