// AccessLog: one log line for each request, at level info, or warn for answers from 500 on. The
// route's pattern stands for the path, so that no id, query or token reaches the log. An error of
// our side is told nowhere else: its line has `error` and `hint`.
#pragma once

#include "log/logger.h"
#include "service/http/request_observer.h"

namespace outbox::service {

class AccessLog final : public RequestObserver {
 public:
  // `logger` outlives it.
  explicit AccessLog(const log::Logger& logger) : logger_(logger) {}
  void OnRequest(const RequestRecord& record) override;

 private:
  const log::Logger& logger_;
};

}  // namespace outbox::service
