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

std::unique_ptr<AckBox::Batch> AckBox::Begin(std::size_t count) {
  const std::lock_guard lock(mutex_);
  Answers& answers = batches_.emplace_back();
  answers.batch = ++last_batch_;
  answers.acks.resize(count);
  return std::make_unique<Batch>(shared_from_this(), answers);
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
  for (Answers& answers : batches_) {
    if (answers.batch == batch) return PutLocked(answers, index, std::move(ack));
  }
}

void AckBox::PutLocked(Answers& answers, std::size_t index, Ack ack) {
  if (index >= answers.acks.size() || answers.acks[index]) return;
  answers.acks[index] = std::move(ack);
  ++answers.answered;
  --open_;
  // Waking publishers for each answer would cost more than the answers do.
  if (open_ == room_at_) room_.notify_all();
  if (answers.all_sent && answers.answered == answers.sent) answers.changed.notify_all();
}

void AckBox::PutDenial(std::string_view text) {
  const std::lock_guard lock(mutex_);
  for (Answers& answers : batches_) {
    answers.denials.emplace_back(text);
    answers.changed.notify_all();
  }
  room_.notify_all();
}

void AckBox::Break() {
  const std::lock_guard lock(mutex_);
  broken_ = true;
  for (Answers& answers : batches_) answers.changed.notify_all();
  room_.notify_all();
}

bool AckBox::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

AckBox::Batch::~Batch() {
  const std::lock_guard lock(box_->mutex_);
  box_->open_ -= answers_.sent - answers_.answered;
  box_->room_.notify_all();
  box_->batches_.remove_if([&](const Answers& other) { return &other == &answers_; });
}

std::size_t AckBox::Batch::TakeRoom(std::size_t wanted, std::size_t window, Deadline deadline) {
  std::unique_lock lock(box_->mutex_);
  if (box_->open_ >= window) {
    box_->room_at_ = window / 2;  // and then send many at a time
    const auto room = [&] { return box_->open_ <= box_->room_at_; };
    box_->room_.wait_until(lock, deadline.at(),
                           [&] { return room() || box_->broken_ || !answers_.denials.empty(); });
    if (!room()) return 0;
  }
  const std::size_t taken = std::min(wanted, window - box_->open_);
  answers_.sent += taken;
  box_->open_ += taken;
  return taken;
}

void AckBox::Batch::GiveBack(std::size_t count) {
  const std::lock_guard lock(box_->mutex_);
  answers_.sent -= count;
  box_->open_ -= count;
}

bool AckBox::Batch::WaitForAll(Deadline deadline) {
  std::unique_lock lock(box_->mutex_);
  answers_.all_sent = true;
  const auto all = [&] { return answers_.answered == answers_.sent; };
  answers_.changed.wait_until(lock, deadline.at(),
                              [&] { return all() || box_->broken_ || !answers_.denials.empty(); });
  return all();
}

void AckBox::Batch::Put(std::size_t index, Ack ack) {
  const std::lock_guard lock(box_->mutex_);
  box_->PutLocked(answers_, index, std::move(ack));
}

bool AckBox::Batch::AnyUnheard() const {
  const std::lock_guard lock(box_->mutex_);
  return std::any_of(answers_.acks.begin(), answers_.acks.end(),
                     [](const auto& ack) { return ack && ack->no_responders; });
}

std::vector<std::optional<AckBox::Ack>> AckBox::Batch::TakeAll() {
  const std::lock_guard lock(box_->mutex_);
  return std::exchange(answers_.acks, {});
}

std::vector<std::string> AckBox::Batch::TakeDenials() {
  const std::lock_guard lock(box_->mutex_);
  return std::exchange(answers_.denials, {});
}

}  // namespace outbox::sink
