#include "service/http/options.h"

#include "base/text.h"

namespace outbox::service {
namespace {

Status CheckSize(std::string_view name, std::size_t value, std::size_t min, std::size_t max) {
  if (value >= min && value <= max) return Status::Ok();
  return Status::Invalid(base::StrCat(name, " must be from ", min, " to ", max, ", not ", value));
}

Status CheckTime(std::string_view name, Limits::Time value) {
  if (value > Limits::Time::zero() && value <= std::chrono::hours(1)) return Status::Ok();
  return Status::Invalid(
      base::StrCat(name, " must be more than 0 and at most 1h, not ", base::FormatDuration(value)));
}

// "https://host", "http://host:port": compared byte by byte with what browsers send.
bool IsOrigin(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return false;
  if (text.substr(0, scheme) != "http" && text.substr(0, scheme) != "https") return false;
  const std::string_view host = text.substr(scheme + 3);
  return !host.empty() && host.find_first_of("/?#@* ,\t\r\n") == std::string_view::npos;
}

Status CheckLimits(const Limits& limits) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  OUTBOX_RETURN_IF_ERROR(CheckSize("header_bytes_max", limits.header_bytes_max, 1024, kMiB));
  OUTBOX_RETURN_IF_ERROR(CheckSize("header_fields_max", limits.header_fields_max, 1, 1000));
  OUTBOX_RETURN_IF_ERROR(
      CheckSize("target_bytes_max", limits.target_bytes_max, 64, limits.header_bytes_max));
  OUTBOX_RETURN_IF_ERROR(CheckSize("body_bytes_max", limits.body_bytes_max, 0, 1024 * kMiB));
  OUTBOX_RETURN_IF_ERROR(CheckSize("connections_max", limits.connections_max, 1, 1'000'000));
  OUTBOX_RETURN_IF_ERROR(
      CheckSize("requests_per_connection_max", limits.requests_per_connection_max, 1, SIZE_MAX));
  OUTBOX_RETURN_IF_ERROR(CheckTime("header_time", limits.header_time));
  OUTBOX_RETURN_IF_ERROR(CheckTime("request_time", limits.request_time));
  OUTBOX_RETURN_IF_ERROR(CheckTime("handle_time", limits.handle_time));
  OUTBOX_RETURN_IF_ERROR(CheckTime("write_time", limits.write_time));
  OUTBOX_RETURN_IF_ERROR(CheckTime("idle_time", limits.idle_time));
  OUTBOX_RETURN_IF_ERROR(CheckTime("linger_time", limits.linger_time));
  return Status::Ok();
}

}  // namespace

std::string ListenAddress::ToString() const {
  const bool v6 = host.find(':') != std::string::npos;
  return base::StrCat(v6 ? "[" : "", host, v6 ? "]:" : ":", port);
}

Status Validate(const ServerOptions& options) {
  OUTBOX_RETURN_IF_ERROR(CheckLimits(options.limits));
  OUTBOX_RETURN_IF_ERROR(CheckSize("io_threads", options.io_threads, 1, 16));
  OUTBOX_RETURN_IF_ERROR(CheckSize("worker_threads", options.worker_threads, 1, 256));
  OUTBOX_RETURN_IF_ERROR(CheckSize("worker_queue_max", options.worker_queue_max, 1, 100'000));
  for (const std::string& origin : options.cors_origins) {
    if (IsOrigin(origin)) continue;
    return Status::Invalid(
               base::StrCat("cors_origins: \"", base::Truncate(origin, 100), "\" is not an origin"))
        .WithHint(
            "Write it as browsers do: https://ui.example or http://localhost:5173. "
            "There is no \"*\".");
  }
  return Status::Ok();
}

}  // namespace outbox::service
