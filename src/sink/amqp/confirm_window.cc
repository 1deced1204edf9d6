#include "sink/amqp/confirm_window.h"

#include <utility>

namespace outbox::sink {

void ConfirmWindow::Sent(std::size_t index, std::string message_id) {
  sent_.push_back({.index = index, .message_id = std::move(message_id)});
  ++open_;
}

void ConfirmWindow::Returned(std::string_view message_id) {
  for (; ids_known_ < sent_.size(); ++ids_known_) {
    by_id_[sent_[ids_known_].message_id] = ids_known_;
  }
  const auto found = by_id_.find(message_id);
  if (found != by_id_.end()) sent_[found->second].returned = true;
}

bool ConfirmWindow::Close(std::size_t at) {
  if (sent_[at].answered) return false;
  sent_[at].answered = true;
  --open_;
  return true;
}

void ConfirmWindow::Advance() {
  while (oldest_open_ < sent_.size() && sent_[oldest_open_].answered) ++oldest_open_;
}

}  // namespace outbox::sink
