// How each type of setting is read from text and printed back. Print gives text that Read accepts.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "log/logger.h"
#include "message/envelope.h"
#include "message/routes.h"
#include "outbox/options.h"
#include "outbox/retry.h"
#include "outbox/status.h"
#include "outbox/uuid.h"

namespace outbox::config {

// Leave `out` alone when they fail; the message says what is wrong with `text`, the hint what would
// be right.
Status Read(std::string_view text, std::string& out);
Status Read(std::string_view text, bool& out);
Status Read(std::string_view text, std::size_t& out);
Status Read(std::string_view text, std::optional<int>& out);  // a number, or "unlimited"
Status Read(std::string_view text, std::optional<std::string>& out);
Status Read(std::string_view text, std::optional<Uuid>& out);
Status Read(std::string_view text, std::chrono::milliseconds& out);
Status Read(std::string_view text, std::chrono::seconds& out);  // whole seconds
Status Read(std::string_view text, std::vector<std::string>& out);
Status Read(std::string_view text, std::vector<std::chrono::milliseconds>& out);
Status Read(std::string_view text, ClaimMode& out);
Status Read(std::string_view text, Completion& out);
Status Read(std::string_view text, AttemptHistory& out);
Status Read(std::string_view text, std::optional<message::Unrouted>& out);
Status Read(std::string_view text, std::optional<message::BodyFormat>& out);
Status Read(std::string_view text, Jitter& out);
Status Read(std::string_view text, log::Level& out);
Status Read(std::string_view text, log::Format& out);

// How long something is kept: a duration, or "forever", which is kDurationMax.
inline constexpr std::string_view kRetentionType = "duration | forever";
Status ReadRetention(std::string_view text, std::chrono::milliseconds& out);
std::string PrintRetention(std::chrono::milliseconds value);

std::string Print(const std::string& value);
std::string Print(bool value);
std::string Print(std::size_t value);
std::string Print(const std::optional<int>& value);
std::string Print(const std::optional<std::string>& value);
std::string Print(const std::optional<Uuid>& value);
std::string Print(std::chrono::milliseconds value);
std::string Print(std::chrono::seconds value);
std::string Print(const std::vector<std::string>& value);
std::string Print(const std::vector<std::chrono::milliseconds>& value);
std::string Print(ClaimMode value);
std::string Print(Completion value);
std::string Print(AttemptHistory value);
std::string Print(const std::optional<message::Unrouted>& value);
std::string Print(const std::optional<message::BodyFormat>& value);
std::string Print(Jitter value);
std::string Print(log::Level value);
std::string Print(log::Format value);

// For the reference: "duration", "lease | transaction".
constexpr std::string_view TypeName(const std::string*) { return "text"; }
constexpr std::string_view TypeName(const bool*) { return "true | false"; }
constexpr std::string_view TypeName(const std::size_t*) { return "number"; }
constexpr std::string_view TypeName(const std::optional<int>*) { return "number | unlimited"; }
constexpr std::string_view TypeName(const std::optional<std::string>*) { return "text"; }
constexpr std::string_view TypeName(const std::optional<Uuid>*) { return "UUID"; }
constexpr std::string_view TypeName(const std::chrono::milliseconds*) { return "duration"; }
constexpr std::string_view TypeName(const std::chrono::seconds*) { return "duration"; }
constexpr std::string_view TypeName(const std::vector<std::string>*) { return "list"; }
constexpr std::string_view TypeName(const std::vector<std::chrono::milliseconds>*) {
  return "list of durations";
}
constexpr std::string_view TypeName(const ClaimMode*) { return "lease | transaction"; }
constexpr std::string_view TypeName(const Completion*) { return "all | any"; }
constexpr std::string_view TypeName(const AttemptHistory*) { return "off | failures | all"; }
constexpr std::string_view TypeName(const std::optional<message::Unrouted>*) {
  return "error | dead | drop";
}
constexpr std::string_view TypeName(const std::optional<message::BodyFormat>*) {
  return "plain | envelope | cloudevents";
}
constexpr std::string_view TypeName(const Jitter*) { return "none | additive | equal"; }
constexpr std::string_view TypeName(const log::Level*) { return "debug | info | warn | error"; }
constexpr std::string_view TypeName(const log::Format*) { return "logfmt | json"; }

}  // namespace outbox::config
