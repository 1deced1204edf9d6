// Denial: the server's refusal to let this user publish to a subject.
//
// It comes as an error of the connection, not as an answer to a message:
// `Permissions Violation for Publish to "orders.x"`. The client keeps 255 bytes of it, so that the
// end of a long subject may be missing.
#pragma once

#include <string>
#include <string_view>

namespace outbox::sink {

class Denial {
 public:
  explicit Denial(std::string_view text);

  // Whether it is about this subject, as far as the text goes.
  bool Covers(std::string_view subject) const;

 private:
  std::string subject_;  // empty: about none
  bool cut_ = true;
};

}  // namespace outbox::sink
