#include "sink/nats/denial.h"

namespace outbox::sink {
namespace {

constexpr std::string_view kPrefix = "Permissions Violation for Publish to \"";

}  // namespace

Denial::Denial(std::string_view text) {
  if (!text.starts_with(kPrefix)) return;
  text.remove_prefix(kPrefix.size());
  bool escaped = false;  // '\"' and '\\'
  for (const char c : text) {
    cut_ = escaped || c != '"';
    if (!cut_) return;
    escaped = !escaped && c == '\\';
    if (!escaped) subject_ += c;
  }
}

bool Denial::Covers(std::string_view subject) const {
  if (subject_.empty()) return false;
  return cut_ ? subject.starts_with(subject_) : subject == subject_;
}

}  // namespace outbox::sink
