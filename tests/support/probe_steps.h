// ProbeSteps: what a probe of a sink's first server tells.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/net/probe.h"
#include "sink/net/way.h"

namespace outbox::testing {

struct ProbeSteps {
  Status status;
  std::map<std::string, std::string> ok;  // the details of the steps that ended well
  std::string failed;                     // the step that did not

  explicit ProbeSteps(const Result<sink::Way>& way) : status(way.error()) {
    if (!way.ok()) return;
    status = sink::Probe(*way, way->endpoints.front(), Deadline::After(std::chrono::seconds(30)),
                         [this](const sink::ConnectStep& step) {
                           if (step.ok) {
                             ok.emplace(step.name, step.detail);
                           } else {
                             failed = step.name;
                           }
                         });
  }
};

inline bool SpeaksTls(const Result<sink::Way>& way) {
  return way.ok() && sink::SpeaksTls(way->endpoints.front(), way->allows,
                                     Deadline::After(std::chrono::seconds(30)));
}

}  // namespace outbox::testing
