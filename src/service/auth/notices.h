// Notices: what a person should read, told when it changes and not each time it is found again.
//
// Threads: used by one at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace outbox::service {

// Called from any thread; returns quickly. A text is one line and holds no secret.
using Notice = std::function<void(std::string_view text)>;

class ChangingNotice {
 public:
  explicit ChangingNotice(Notice notice) : notice_(std::move(notice)) {}

  // Empty: all is well; the next text is told, whatever it is.
  void Set(std::string text) {
    if (text == told_) return;
    told_ = std::move(text);
    if (!told_.empty() && notice_) notice_(told_);
  }

 private:
  const Notice notice_;
  std::string told_;
};

}  // namespace outbox::service
