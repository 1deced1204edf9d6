// Label values: which relay, which topic; valid for Prometheus and bounded in number.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace outbox::service {

// The sink label of a table that has a single sink and no routes.
inline constexpr std::string_view kOnlySink = "default";
// The topic label of topics that have no place of their own.
inline constexpr std::string_view kOtherTopics = "other";

// A relay calls itself by its table, "public.orders_outbox", or, when it serves one sink of a table
// with routes, by both: "public.orders_outbox/rabbit".
struct RelayLabels {
  std::string table;
  std::string sink;
};
RelayLabels LabelsOfRelay(std::string_view relay);

// A single byte that is not UTF-8 would spoil a whole scrape: such values are cleaned.
std::string CleanLabel(std::string_view value);

// Admits a number of topics; the others share a label. When all places are taken, a new topic gets
// the place of the one that was not seen for longest, if that is kUnseenMax ago: a wave of topics
// that never come again takes places for a while, not for good.
//
// Threads: the caller's lock.
class TopicLabels {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::hours kUnseenMax{1};

  explicit TopicLabels(std::size_t topics_max) : topics_max_(topics_max) {}

  struct Place {
    bool admitted = false;
    std::optional<std::string> lost_by;  // the topic that had this place until now
  };
  // Also to be called for each message of a topic that has a place: it was seen.
  Place Admit(std::string_view topic, Time now);

 private:
  const std::size_t topics_max_;
  std::map<std::string, Time, std::less<>>
      seen_;          // topics with a place, and when each was seen last
  Time next_look_{};  // before that no place becomes free
};

}  // namespace outbox::service
