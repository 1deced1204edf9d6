#include "service/metrics/labels.h"

#include <algorithm>

#include "base/text.h"

namespace outbox::service {
namespace {

// As long as a topic may be.
constexpr std::size_t kLabelBytesMax = 255;

}  // namespace

RelayLabels LabelsOfRelay(std::string_view relay) {
  const std::size_t slash = relay.find('/');
  if (slash == std::string_view::npos) return {CleanLabel(relay), std::string(kOnlySink)};
  return {CleanLabel(relay.substr(0, slash)), CleanLabel(relay.substr(slash + 1))};
}

std::string CleanLabel(std::string_view value) {
  const bool printable = std::none_of(value.begin(), value.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (printable && value.size() <= kLabelBytesMax && base::IsValidUtf8(value)) {
    return std::string(value);
  }
  return base::CleanError(value, kLabelBytesMax);
}

bool TopicLabels::Admit(std::string_view topic) {
  if (admitted_.contains(topic)) return true;
  if (admitted_.size() >= topics_max_) return false;
  admitted_.emplace(topic);
  return true;
}

}  // namespace outbox::service
