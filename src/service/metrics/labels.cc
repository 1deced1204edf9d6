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

TopicLabels::Place TopicLabels::Admit(std::string_view topic, Time now) {
  if (const auto found = seen_.find(topic); found != seen_.end()) {
    found->second = now;
    return {.admitted = true, .lost_by = {}};
  }
  Place place{.admitted = true, .lost_by = {}};
  if (seen_.size() >= topics_max_) {
    if (topics_max_ == 0 || now < next_look_) return {};
    const auto oldest =
        std::min_element(seen_.begin(), seen_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    next_look_ = oldest->second + kUnseenMax;
    if (now < next_look_) return {};
    place.lost_by = oldest->first;
    seen_.erase(oldest);
  }
  seen_.emplace(topic, now);
  return place;
}

}  // namespace outbox::service
