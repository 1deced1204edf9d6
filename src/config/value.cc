#include "config/value.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace outbox::config {
namespace {

using base::StrCat;

template <typename T>
Status ReadNumber(std::string_view text, T& out) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Status::Invalid(StrCat("'", text, "' is not a whole number"));
  }
  out = number;
  return Status::Ok();
}

// Reads one of a few words, and lists them when it is none of them.
template <typename T, std::size_t N>
Status ReadWord(std::string_view text, const std::array<std::pair<std::string_view, T>, N>& words,
                T& out) {
  std::vector<std::string> known;
  for (const auto& [word, value] : words) {
    if (text == word) {
      out = value;
      return Status::Ok();
    }
    known.emplace_back(word);
  }
  const std::string_view nearest = base::Nearest(text, known);
  return Status::Invalid(StrCat("'", text, "' is not one of ", base::Join(known, ", ")))
      .WithHint(nearest.empty() ? "" : StrCat("did you mean ", nearest, "?"));
}

template <typename T, std::size_t N>
std::string PrintWord(T value, const std::array<std::pair<std::string_view, T>, N>& words) {
  for (const auto& [word, known] : words) {
    if (known == value) return std::string(word);
  }
  return {};
}

constexpr std::array<std::pair<std::string_view, ClaimMode>, 2> kClaimModes{
    {{"lease", ClaimMode::kLease}, {"transaction", ClaimMode::kTransaction}}};
constexpr std::array<std::pair<std::string_view, Completion>, 2> kCompletions{
    {{"all", Completion::kAll}, {"any", Completion::kAny}}};
constexpr std::array<std::pair<std::string_view, AttemptHistory>, 3> kAttemptHistories{
    {{"off", AttemptHistory::kOff},
     {"failures", AttemptHistory::kFailures},
     {"all", AttemptHistory::kAll}}};
constexpr std::array<std::pair<std::string_view, message::Unrouted>, 3> kUnrouted{
    {{"error", message::Unrouted::kKeep},
     {"dead", message::Unrouted::kDead},
     {"drop", message::Unrouted::kDrop}}};
constexpr std::array<std::pair<std::string_view, message::BodyFormat>, 3> kBodies{
    {{"plain", message::BodyFormat::kPlain},
     {"envelope", message::BodyFormat::kEnvelope},
     {"cloudevents", message::BodyFormat::kCloudEvents}}};
constexpr std::array<std::pair<std::string_view, Jitter>, 3> kJitters{
    {{"none", Jitter::kNone}, {"additive", Jitter::kAdditive}, {"equal", Jitter::kEqual}}};
constexpr std::array<std::pair<std::string_view, log::Level>, 4> kLevels{
    {{"debug", log::Level::kDebug},
     {"info", log::Level::kInfo},
     {"warn", log::Level::kWarn},
     {"error", log::Level::kError}}};
constexpr std::array<std::pair<std::string_view, log::Format>, 2> kFormats{
    {{"logfmt", log::Format::kLogfmt}, {"json", log::Format::kJson}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kBools{
    {{"true", true}, {"false", false}}};
constexpr std::string_view kForever = "forever";

}  // namespace

Status Read(std::string_view text, std::string& out) {
  out = text;
  return Status::Ok();
}

Status Read(std::string_view text, bool& out) { return ReadWord(text, kBools, out); }

Status Read(std::string_view text, std::size_t& out) { return ReadNumber(text, out); }

Status Read(std::string_view text, std::optional<int>& out) {
  if (text == "unlimited") {
    out.reset();
    return Status::Ok();
  }
  int number = 0;
  if (!ReadNumber(text, number).ok()) {
    return Status::Invalid(StrCat("'", text, "' is neither a whole number nor 'unlimited'"));
  }
  out = number;
  return Status::Ok();
}

Status Read(std::string_view text, std::optional<std::string>& out) {
  out = std::string(text);
  return Status::Ok();
}

Status Read(std::string_view text, std::optional<Uuid>& out) {
  const std::optional<Uuid> id = Uuid::Parse(text);
  if (!id) return Status::Invalid(StrCat("'", text, "' is not a UUID"));
  out = id;
  return Status::Ok();
}

Status Read(std::string_view text, std::chrono::milliseconds& out) {
  OUTBOX_ASSIGN_OR_RETURN(out, base::ParseDuration(text));
  return Status::Ok();
}

Status Read(std::string_view text, std::chrono::seconds& out) {
  OUTBOX_ASSIGN_OR_RETURN(const std::chrono::milliseconds duration, base::ParseDuration(text));
  out = std::chrono::duration_cast<std::chrono::seconds>(duration);
  if (out == duration) return Status::Ok();
  return Status::Invalid("is not a number of whole seconds");
}

Status ReadRetention(std::string_view text, std::chrono::milliseconds& out) {
  if (text == kForever) {
    out = kDurationMax;
    return Status::Ok();
  }
  const auto duration = base::ParseDuration(text);
  if (!duration.ok()) {
    const Status& error = duration.error();
    return Status::Invalid(error.message()).WithHint(StrCat(error.hint(), ", or ", kForever));
  }
  out = *duration;
  return Status::Ok();
}

Status Read(std::string_view text, std::vector<std::string>& out) {
  std::vector<std::string> parts;
  for (const std::string& part : base::Split(text, ',')) {
    const std::string_view trimmed = base::Trim(part);
    if (!trimmed.empty()) parts.emplace_back(trimmed);
  }
  out = std::move(parts);
  return Status::Ok();
}

Status Read(std::string_view text, std::vector<std::chrono::milliseconds>& out) {
  std::vector<std::string> parts;
  OUTBOX_RETURN_IF_ERROR(Read(text, parts));
  std::vector<std::chrono::milliseconds> durations;
  for (const std::string& part : parts) {
    OUTBOX_ASSIGN_OR_RETURN(const auto duration, base::ParseDuration(part));
    durations.push_back(duration);
  }
  out = std::move(durations);
  return Status::Ok();
}

Status Read(std::string_view text, ClaimMode& out) { return ReadWord(text, kClaimModes, out); }
Status Read(std::string_view text, Completion& out) { return ReadWord(text, kCompletions, out); }
Status Read(std::string_view text, AttemptHistory& out) {
  return ReadWord(text, kAttemptHistories, out);
}
Status Read(std::string_view text, std::optional<message::Unrouted>& out) {
  message::Unrouted word{};
  OUTBOX_RETURN_IF_ERROR(ReadWord(text, kUnrouted, word));
  out = word;
  return Status::Ok();
}
Status Read(std::string_view text, std::optional<message::BodyFormat>& out) {
  message::BodyFormat word{};
  OUTBOX_RETURN_IF_ERROR(ReadWord(text, kBodies, word));
  out = word;
  return Status::Ok();
}
Status Read(std::string_view text, Jitter& out) { return ReadWord(text, kJitters, out); }
Status Read(std::string_view text, log::Level& out) { return ReadWord(text, kLevels, out); }
Status Read(std::string_view text, log::Format& out) { return ReadWord(text, kFormats, out); }

std::string Print(const std::string& value) { return value; }
std::string Print(bool value) { return PrintWord(value, kBools); }
std::string Print(std::size_t value) { return std::to_string(value); }
std::string Print(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "unlimited";
}
std::string Print(const std::optional<std::string>& value) { return value.value_or(""); }
std::string Print(const std::optional<Uuid>& value) { return value ? value->ToString() : ""; }
std::string Print(std::chrono::milliseconds value) { return base::FormatDuration(value); }
std::string Print(std::chrono::seconds value) { return base::FormatDuration(value); }
std::string PrintRetention(std::chrono::milliseconds value) {
  return value == kDurationMax ? std::string(kForever) : base::FormatDuration(value);
}
std::string Print(const std::vector<std::string>& value) { return base::Join(value, ","); }
std::string Print(const std::vector<std::chrono::milliseconds>& value) {
  std::vector<std::string> parts;
  parts.reserve(value.size());
  for (const auto duration : value) parts.push_back(base::FormatDuration(duration));
  return base::Join(parts, ",");
}
std::string Print(ClaimMode value) { return PrintWord(value, kClaimModes); }
std::string Print(Completion value) { return PrintWord(value, kCompletions); }
std::string Print(AttemptHistory value) { return PrintWord(value, kAttemptHistories); }
std::string Print(const std::optional<message::Unrouted>& value) {
  return value ? PrintWord(*value, kUnrouted) : "";
}
std::string Print(const std::optional<message::BodyFormat>& value) {
  return value ? PrintWord(*value, kBodies) : "";
}
std::string Print(Jitter value) { return PrintWord(value, kJitters); }
std::string Print(log::Level value) { return PrintWord(value, kLevels); }
std::string Print(log::Format value) { return PrintWord(value, kFormats); }

}  // namespace outbox::config
