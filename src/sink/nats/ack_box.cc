#include "sink/nats/ack_box.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/text.h"

namespace outbox::sink {
namespace {

struct Boxes {
  std::mutex mutex;
  std::uintptr_t last_number = 0;
  std::map<std::uintptr_t, std::weak_ptr<AckBox>> by_number;
};

// Never destroyed: the client's threads may outlive main.
Boxes& All() {
  static Boxes* const boxes = new Boxes;
  return *boxes;
}

template <typename T>
bool ParseNumber(std::string_view text, T& number) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

}  // namespace

std::shared_ptr<AckBox> AckBox::Make() {
  Boxes& all = All();
  const std::lock_guard lock(all.mutex);
  std::shared_ptr<AckBox> box(new AckBox(++all.last_number));
  all.by_number[box->number()] = box;
  return box;
}

std::shared_ptr<AckBox> AckBox::Find(std::uintptr_t number) {
  Boxes& all = All();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_number.find(number);
  return found == all.by_number.end() ? nullptr : found->second.lock();
}

AckBox::~AckBox() {
  Boxes& all = All();
  const std::lock_guard lock(all.mutex);
  all.by_number.erase(number_);
}

void AckBox::Begin(std::size_t count) {
  const std::lock_guard lock(mutex_);
  ++batch_;
  acks_.assign(count, std::nullopt);
  answered_ = 0;
  denials_.clear();
}

std::string AckBox::Address(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  return base::StrCat(batch_, ".", index);
}

void AckBox::Put(std::string_view subject, Ack ack) {
  const std::size_t index_dot = subject.rfind('.');
  if (index_dot == std::string_view::npos || index_dot == 0) return;
  const std::size_t batch_dot = subject.rfind('.', index_dot - 1);
  if (batch_dot == std::string_view::npos) return;
  std::uint64_t batch = 0;
  std::size_t index = 0;
  if (!ParseNumber(subject.substr(batch_dot + 1, index_dot - batch_dot - 1), batch) ||
      !ParseNumber(subject.substr(index_dot + 1), index)) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (batch == batch_) PutLocked(index, std::move(ack));
}

void AckBox::PutAt(std::size_t index, Ack ack) {
  const std::lock_guard lock(mutex_);
  PutLocked(index, std::move(ack));
}

void AckBox::PutLocked(std::size_t index, Ack ack) {
  if (index >= acks_.size() || acks_[index]) return;
  acks_[index] = std::move(ack);
  // Waking the publisher for each answer would cost more than the answers do.
  if (++answered_ >= wanted_) changed_.notify_all();
}

void AckBox::PutDenial(std::string text) {
  const std::lock_guard lock(mutex_);
  denials_.push_back(std::move(text));
  changed_.notify_all();
}

void AckBox::Break() {
  const std::lock_guard lock(mutex_);
  broken_ = true;
  changed_.notify_all();
}

bool AckBox::WaitForAnswers(std::size_t sent, std::size_t open_max, Deadline deadline) {
  std::unique_lock lock(mutex_);
  wanted_ = sent - std::min(sent, open_max);
  const auto few = [&] { return answered_ + open_max >= sent; };
  changed_.wait_until(lock, deadline.at(), [&] { return few() || broken_ || !denials_.empty(); });
  return few();
}

bool AckBox::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

std::optional<AckBox::Ack> AckBox::Take(std::size_t index) {
  const std::lock_guard lock(mutex_);
  return std::move(acks_[index]);
}

std::vector<std::string> AckBox::TakeDenials() {
  const std::lock_guard lock(mutex_);
  return std::exchange(denials_, {});
}

}  // namespace outbox::sink
