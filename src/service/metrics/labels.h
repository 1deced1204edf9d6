// Label values: which relay, which topic; valid for Prometheus and bounded in number.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace outbox::service {

// The sink label of a table that has a single sink and no routes.
inline constexpr std::string_view kOnlySink = "default";
// The topic label of what came after the last topic that was admitted.
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

// Admits a number of topics; later ones share a label. Never forgets one that it admitted, so that
// a counter does not start anew.
//
// Threads: the caller's lock.
class TopicLabels {
 public:
  explicit TopicLabels(std::size_t topics_max) : topics_max_(topics_max) {}

  bool Admit(std::string_view topic);

 private:
  const std::size_t topics_max_;
  std::set<std::string, std::less<>> admitted_;
};

}  // namespace outbox::service
