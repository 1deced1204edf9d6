#include "store/postgres/claimed_messages.h"

namespace outbox::store::postgres {

Message ClaimedMessages::Read(int row) const {
  Message message = ReadMessage(rows_, row, table_);
  message.in_doubt = rows_.Bool(row, ClaimColumns::kInDoubt);
  return message;
}

const std::vector<Message>& ClaimedMessages::get() const {
  std::call_once(made_, [&] {
    messages_.reserve(order_.size());
    for (const int row : order_) {
      messages_.push_back(Read(row));
      messages_.back().attempt += attempts_more_;
    }
  });
  return messages_;
}

}  // namespace outbox::store::postgres
