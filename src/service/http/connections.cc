#include "service/http/connections.h"

#include <utility>
#include <vector>

namespace outbox::service {

Connections::Ticket::Ticket(Ticket&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), entry_(other.entry_) {}

Connections::Ticket::~Ticket() {
  if (owner_ == nullptr) return;
  const std::lock_guard lock(owner_->mutex_);
  owner_->Unwait(*entry_);
  if (entry_->leaving) {
    --owner_->leaving_;
  } else {
    owner_->Leave(*entry_);
  }
  owner_->open_.erase(entry_);
  // With the lock, since whoever waits may be about to destroy the owner.
  if (owner_->open_.empty()) owner_->none_.notify_all();
}

void Connections::Ticket::Register(std::weak_ptr<Stoppable> connection) {
  const std::lock_guard lock(owner_->mutex_);
  entry_->connection = std::move(connection);
}

void Connections::Ticket::SetWaiting(bool waiting) {
  const std::lock_guard lock(owner_->mutex_);
  Entry& entry = *entry_;
  owner_->Unwait(entry);
  if (!waiting || entry.leaving) return;
  Waiting& all = owner_->waiting_;
  Waiting& of_client = entry.client->second.waiting;
  entry.in_all = all.insert(all.end(), &entry);
  entry.in_client = of_client.insert(of_client.end(), &entry);
  entry.waiting = true;
}

std::optional<Connections::Ticket> Connections::Admit(const std::string& client) {
  std::shared_ptr<Stoppable> displaced;
  std::optional<Ticket> ticket;
  {
    const std::lock_guard lock(mutex_);
    Entry entry{.client = clients_.try_emplace(client).first};
    Client& known = entry.client->second;
    const bool has_many = per_client_max_ > 0 && known.open >= per_client_max_;
    const bool full = open_.size() - leaving_ >= max_;
    ++known.open;  // first, so that making room does not forget it
    if (has_many || full) displaced = Displace(has_many ? known.waiting : waiting_);
    if ((has_many || full) && displaced == nullptr) {
      ++refused_;
      Leave(entry);
    } else {
      ticket.emplace(Ticket(this, open_.insert(open_.end(), std::move(entry))));
    }
  }
  if (displaced != nullptr) displaced->MakeRoom();
  return ticket;
}

void Connections::Unwait(Entry& entry) {
  if (!std::exchange(entry.waiting, false)) return;
  waiting_.erase(entry.in_all);
  entry.client->second.waiting.erase(entry.in_client);
}

std::shared_ptr<Stoppable> Connections::Displace(const Waiting& waiting) {
  if (leaving_ >= kLeavingMax) return nullptr;
  for (Entry* const entry : waiting) {
    auto connection = entry->connection.lock();
    if (connection == nullptr) continue;  // it is about to go
    Unwait(*entry);
    Leave(*entry);
    entry->leaving = true;
    ++leaving_;
    ++displaced_;
    return connection;
  }
  return nullptr;
}

void Connections::Leave(const Entry& entry) {
  if (--entry.client->second.open == 0) clients_.erase(entry.client);
}

template <typename Call>
void Connections::ForEach(Call call) {
  std::vector<std::shared_ptr<Stoppable>> open;
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : open_) {
      if (auto connection = entry.connection.lock()) open.push_back(std::move(connection));
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

std::size_t Connections::displaced() const {
  const std::lock_guard lock(mutex_);
  return displaced_;
}

}  // namespace outbox::service
