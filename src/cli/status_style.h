// How a message's status looks on a terminal.
#pragma once

#include "cli/terminal.h"
#include "outbox/message.h"

namespace outbox::cli {

inline Style StyleOf(MessageStatus status) noexcept {
  switch (status) {
    case MessageStatus::kPending: return Style::kPlain;
    case MessageStatus::kProcessing: return Style::kWarn;
    case MessageStatus::kDelivered: return Style::kGood;
    case MessageStatus::kDead: return Style::kBad;
  }
  return Style::kPlain;
}

}  // namespace outbox::cli
