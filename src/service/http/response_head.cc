#include "service/http/response_head.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>
#include <cstdio>

#include "base/text.h"
#include "service/http/headers.h"

namespace outbox::service {
namespace {

// Framing is the server's.
constexpr std::array<std::string_view, 7> kOwnFields = {
    "Connection", "Content-Length",    "Content-Type", "Date",
    "Keep-Alive", "Transfer-Encoding", "X-Request-Id"};

bool IsOwnField(std::string_view name) {
  return std::any_of(kOwnFields.begin(), kOwnFields.end(),
                     [&](std::string_view own) { return EqualsIgnoringCase(own, name); });
}

bool IsFieldName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

bool IsFieldValue(std::string_view value) {
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

std::string_view Reason(int status) {
  const auto known = boost::beast::http::int_to_status(static_cast<unsigned>(status));
  const auto text = boost::beast::http::obsolete_reason(known);
  return {text.data(), text.size()};
}

class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}

  void Add(std::string_view name, std::string_view value) {
    out_.append(name).append(": ").append(value).append("\r\n");
  }
  void AddUnlessIn(const Response& response, std::string_view name, std::string_view value) {
    const bool set =
        std::any_of(response.headers.begin(), response.headers.end(),
                    [&](const auto& field) { return EqualsIgnoringCase(field.first, name); });
    if (!set) Add(name, value);
  }

 private:
  std::string& out_;
};

void AddFraming(const Response& response, const ResponseContext& context, FieldWriter& fields) {
  if (response.stream != nullptr) {
    fields.Add("Content-Type", "text/event-stream");
    // Or nginx collects events before it passes them on.
    fields.Add("X-Accel-Buffering", "no");
  } else if (response.status != 204 && response.status != 304 && response.status >= 200) {
    if (!response.content_type.empty() && IsFieldValue(response.content_type)) {
      fields.Add("Content-Type", response.content_type);
    }
    fields.Add("Content-Length", std::to_string(response.body.size()));
  }
  if (!context.keep_alive) {
    fields.Add("Connection", "close");
  } else if (!context.http11) {
    fields.Add("Connection", "keep-alive");
  }
}

void AddSecurity(const Response& response, const ResponseContext& context, FieldWriter& fields) {
  fields.AddUnlessIn(response, "Cache-Control", "no-store");
  fields.AddUnlessIn(response, "Content-Security-Policy",
                     "default-src 'none'; frame-ancestors 'none'");
  fields.AddUnlessIn(response, "Referrer-Policy", "no-referrer");
  fields.AddUnlessIn(response, "X-Content-Type-Options", "nosniff");
  fields.AddUnlessIn(response, "X-Frame-Options", "DENY");
  if (context.tls) {
    fields.AddUnlessIn(response, "Strict-Transport-Security", "max-age=31536000");
  }
}

}  // namespace

std::string ResponseHead(const Response& response, const ResponseContext& context) {
  const int status = response.stream != nullptr ? 200 : response.status;
  std::string out;
  out.reserve(640);
  out += base::StrCat("HTTP/1.1 ", status, " ", Reason(status), "\r\n");
  FieldWriter fields(out);
  fields.Add("Date", HttpDate(std::chrono::system_clock::now()));
  AddFraming(response, context, fields);
  fields.Add("X-Request-Id", context.request_id);
  AddSecurity(response, context, fields);
  for (const auto& [name, value] : response.headers) {
    if (IsFieldName(name) && IsFieldValue(value) && !IsOwnField(name)) fields.Add(name, value);
  }
  out += "\r\n";
  return out;
}

// By hand, since strftime speaks the locale's language.
std::string HttpDate(std::chrono::system_clock::time_point at) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const time_t seconds = std::chrono::system_clock::to_time_t(at);
  tm utc{};
  gmtime_r(&seconds, &utc);
  char text[64];
  const int size = std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                 kDays[utc.tm_wday], utc.tm_mday, kMonths[utc.tm_mon],
                                 utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace outbox::service
