#include "service/metrics/options.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace outbox::service {
namespace {

constexpr std::size_t kPathBytesMax = 200;
constexpr std::size_t kTopicsMax = 10'000;
constexpr std::chrono::milliseconds kSampleIntervalMin = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kSampleIntervalMax = std::chrono::hours(1);

bool IsPathCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/-_.").find(c) != std::string_view::npos;
}

// "." and "..": a client would never ask for such a path.
bool HasDotSegment(std::string_view path) {
  for (const std::string& segment : base::Split(path, '/')) {
    if (segment == "." || segment == "..") return true;
  }
  return false;
}

bool IsMetricsPath(std::string_view path) {
  return path.size() >= 2 && path.size() <= kPathBytesMax && path.front() == '/' &&
         path.back() != '/' && path.find("//") == std::string_view::npos && !HasDotSegment(path) &&
         std::all_of(path.begin(), path.end(), IsPathCharacter);
}

}  // namespace

Status MetricsOptions::Validate() const {
  if (!IsMetricsPath(path)) {
    return Status::Invalid(
               base::StrCat("metrics path: '", base::CleanError(path, 80), "' is not usable"))
        .WithHint("begin with / and use letters, digits, - _ . and single slashes: /metrics");
  }
  if (topics_max > kTopicsMax) {
    return Status::Invalid(base::StrCat("metrics topics_max: ", topics_max, " is too many"))
        .WithHint(base::StrCat("use 0 to ", kTopicsMax,
                               "; each topic becomes dozens of series in Prometheus"));
  }
  if (sample_interval < kSampleIntervalMin || sample_interval > kSampleIntervalMax) {
    return Status::Invalid(base::StrCat("metrics sample_interval: ",
                                        base::FormatDuration(sample_interval), " is out of range"))
        .WithHint(base::StrCat("use ", base::FormatDuration(kSampleIntervalMin), " to ",
                               base::FormatDuration(kSampleIntervalMax)));
  }
  return Status::Ok();
}

}  // namespace outbox::service
