#include "outbox/message.h"

#include <algorithm>

namespace outbox {

std::string_view ToString(MessageStatus status) noexcept {
  switch (status) {
    case MessageStatus::kPending: return "pending";
    case MessageStatus::kProcessing: return "processing";
    case MessageStatus::kDelivered: return "delivered";
    case MessageStatus::kDead: return "dead";
  }
  return "unknown";
}

std::optional<MessageStatus> ParseMessageStatus(std::string_view text) noexcept {
  for (const auto status : {MessageStatus::kPending, MessageStatus::kProcessing,
                            MessageStatus::kDelivered, MessageStatus::kDead}) {
    if (text == ToString(status)) return status;
  }
  return std::nullopt;
}

std::string_view Message::Header(std::string_view name) const noexcept {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace outbox
