#include "sink/nats/greeting.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr std::string_view kInfo = "INFO ";
constexpr const char* kPortHint =
    "is this the port for clients? they are greeted before TLS begins (not with handshake_first)";
constexpr std::size_t kGreetingBytesMax = std::size_t{1} << 20;

Result<std::string> ReadLine(Stream& stream, Deadline deadline) {
  std::string line;
  std::array<char, 4096> buffer{};
  while (line.find('\n') == std::string::npos && line.size() < kGreetingBytesMax) {
    OUTBOX_ASSIGN_OR_RETURN(const std::size_t got, stream.Read(buffer, deadline));
    line.append(buffer.data(), got);
  }
  return line;
}

bool Says(const nlohmann::json& info, const char* name) {
  const auto found = info.find(name);
  return found != info.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

Status AwaitTlsOffer(Stream& stream, Deadline deadline) {
  const auto line = ReadLine(stream, deadline);
  if (!line.ok()) return line.error().WithHint(kPortHint);
  const auto info = line->starts_with(kInfo)
                        ? nlohmann::json::parse(line->substr(kInfo.size()), nullptr, false)
                        : nlohmann::json();
  if (!info.is_object()) {
    return Status::SinkDown(StrCat(stream.peer(), " does not greet as a NATS server does"))
        .WithHint(kPortHint);
  }
  if (Says(info, "tls_required") || Says(info, "tls_available")) return Status::Ok();
  return Status::SinkDown(StrCat("nats ", stream.peer(), ": the server has no TLS"))
      .WithHint("write nats:, or give the server a certificate");
}

}  // namespace outbox::sink
