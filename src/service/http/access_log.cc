#include "service/http/access_log.h"

#include <vector>

#include "base/text.h"

namespace outbox::service {
namespace {

constexpr std::size_t kErrorBytesMax = 500;

}  // namespace

void AccessLog::OnRequest(const RequestRecord& record) {
  const log::Level level = record.status >= 500 ? log::Level::kWarn : log::Level::kInfo;
  if (!logger_.Enabled(level)) return;
  std::vector<log::Field> fields = {
      {"method", record.method},
      {"route", record.route},
      {"status", record.status},
      {"duration_us", std::chrono::duration_cast<std::chrono::microseconds>(record.took).count()},
      {"request_bytes", record.request_bytes},
      {"response_bytes", record.response_bytes},
      {"remote", record.remote},
      {"request_id", record.request_id}};
  if (!record.complete) fields.emplace_back("complete", false);
  if (record.stream) fields.emplace_back("stream", true);
  if (record.cause != nullptr) {
    fields.emplace_back("error", base::CleanError(record.cause->ToString(), kErrorBytesMax));
    fields.emplace_back("hint", base::CleanError(record.cause->hint(), kErrorBytesMax));
  }
  logger_.Write(level, "request", fields);
}

}  // namespace outbox::service
