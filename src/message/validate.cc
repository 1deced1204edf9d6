#include "message/validate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "message/plain_json.h"

namespace outbox::message {
namespace {

using base::StrCat;

// Accepts any JSON that nests no deeper than kPayloadDepthMax, building nothing.
class JsonChecker : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return Enter(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return Leave(); }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_array() override { return Leave(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    error_at_ = position;
    return false;
  }

  bool too_deep() const { return depth_ > kPayloadDepthMax; }
  std::size_t error_at() const { return error_at_; }

 private:
  bool Enter() { return ++depth_ <= kPayloadDepthMax; }
  bool Leave() {
    --depth_;
    return true;
  }

  std::size_t depth_ = 0;
  std::size_t error_at_ = 0;
};

Status ValidatePayload(std::string_view payload, std::size_t bytes_max) {
  if (payload.empty()) {
    return Status::Invalid("payload: is empty").WithHint("send JSON; an event without data is {}");
  }
  if (const std::size_t limit = std::min(bytes_max, kPayloadBytesCeiling); payload.size() > limit) {
    return Status::Invalid(
               StrCat("payload: has ", payload.size(), " bytes, over the limit of ", limit))
        .WithHint(StrCat("store large data elsewhere and enqueue a reference",
                         limit < kPayloadBytesCeiling ? ", or raise payload_bytes_max" : ""));
  }
  // The parser skips it; databases do not.
  if (payload.starts_with("\xEF\xBB\xBF")) {
    return Status::Invalid("payload: begins with a byte order mark")
        .WithHint("send UTF-8 without one");
  }
  if (IsPlainJson(payload, kPayloadDepthMax)) return Status::Ok();
  JsonChecker checker;
  const bool valid = nlohmann::json::sax_parse(payload, &checker);
  if (checker.too_deep()) {
    return Status::Invalid(StrCat("payload: nests deeper than ", kPayloadDepthMax, " levels"));
  }
  // The parser takes it for the end of the payload.
  const std::size_t nul = payload.find('\0');
  if (valid && nul == std::string_view::npos) return Status::Ok();
  const std::size_t error_at = valid ? nul + 1 : checker.error_at();
  return Status::Invalid(StrCat("payload: is not valid JSON at byte ", error_at))
      .WithHint(
          "the payload must be one JSON value in UTF-8, its numbers below 1.8e308 and its "
          "surrogates (\\ud83d\\ude00) in pairs");
}

Status ValidateText(std::string_view field, std::string_view value, std::size_t bytes_max) {
  if (value.size() > bytes_max) {
    return Status::Invalid(
        StrCat(field, ": has ", value.size(), " bytes, over the limit of ", bytes_max));
  }
  if (value.find('\0') != std::string_view::npos) {
    return Status::Invalid(StrCat(field, ": contains a NUL character"))
        .WithHint("databases can not store NUL in text; remove or encode it");
  }
  if (!base::IsValidUtf8(value)) {
    return Status::Invalid(StrCat(field, ": is not valid UTF-8"));
  }
  return Status::Ok();
}

bool IsControl(char c) noexcept { return (c >= 0 && c < 0x20) || c == 0x7F; }

Status ValidateHeader(const NewMessage& message, const std::string& name,
                      const std::string& value) {
  if (name.empty()) return Status::Invalid("headers: a name is empty");
  OUTBOX_RETURN_IF_ERROR(ValidateText("headers", name, kTextBytesMax));
  if (std::any_of(name.begin(), name.end(), IsControl)) {
    return Status::Invalid("headers: a name has a control character")
        .WithHint("names are printable text, without tabs and line ends");
  }
  OUTBOX_RETURN_IF_ERROR(ValidateText(StrCat("headers['", name, "']"), value, kHeadersBytesMax));
  const bool trace = (name == kTraceparentHeader && !message.traceparent.empty()) ||
                     (name == kTracestateHeader && !message.tracestate.empty());
  if (!trace) return Status::Ok();
  return Status::Invalid(StrCat(name, ": is given both as a field and as a header"));
}

// The size comes first: it bounds the work of the other checks.
Status ValidateHeaders(const NewMessage& message) {
  if (message.headers.empty()) return Status::Ok();
  std::size_t total = message.traceparent.size() + message.tracestate.size();
  for (const auto& [name, value] : message.headers) total += name.size() + value.size();
  if (total > kHeadersBytesMax) {
    return Status::Invalid(
        StrCat("headers: have ", total, " bytes, over the limit of ", kHeadersBytesMax));
  }
  std::unordered_set<std::string_view> names;
  for (const auto& [name, value] : message.headers) {
    OUTBOX_RETURN_IF_ERROR(ValidateHeader(message, name, value));
    if (!names.insert(name).second) {
      return Status::Invalid(StrCat("headers: '", name, "' is given twice"));
    }
  }
  return Status::Ok();
}

Status ValidateTimes(const NewMessage& message) {
  if (message.delay.count() < 0) return Status::Invalid("delay: is negative");
  if (message.delay > kDelayMax) {
    return Status::Invalid(
        StrCat("delay: is longer than ", base::FormatDuration(kDelayMax), ", the limit"));
  }
  if (!message.available_at) return Status::Ok();
  if (message.delay.count() > 0) {
    return Status::Invalid("available_at: is given together with delay")
        .WithHint("give one of them");
  }
  if (*message.available_at < kAvailableAtMin || *message.available_at > kAvailableAtMax) {
    return Status::Invalid("available_at: is not within the years 1 to 9999");
  }
  return Status::Ok();
}

Status ValidateTenantDedupe(const NewMessage& message) {
  if (!message.tenant_id || message.dedupe_key.empty()) return Status::Ok();
  const std::string prefix = message.tenant_id->ToString() + "/";
  if (message.dedupe_key.starts_with(prefix)) return Status::Ok();
  return Status::Invalid("dedupe_key: does not start with the tenant_id and '/'")
      .WithHint(StrCat("with a tenant_id, write it as ", prefix, "<your key>"));
}

bool IsTopicChar(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

bool IsStrictTopic(std::string_view topic) {
  const auto parts = base::Split(topic, '.');
  if (parts.size() != 4) return false;
  for (const std::string& part : parts) {
    if (part.empty() || !std::all_of(part.begin(), part.end(), IsTopicChar)) return false;
  }
  const std::string& version = parts[3];
  return version.size() > 1 && version[0] == 'v' && version[1] != '0' &&
         std::all_of(version.begin() + 1, version.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// The parts of a topic or a pattern between its dots, one after the other.
class Segments {
 public:
  explicit Segments(std::string_view text) : rest_(text) {}
  bool done() const { return done_; }
  std::string_view front() const { return rest_.substr(0, rest_.find('.')); }
  void Next() {
    const std::size_t dot = rest_.find('.');
    done_ = dot == std::string_view::npos;
    if (!done_) rest_.remove_prefix(dot + 1);
  }

 private:
  std::string_view rest_;
  bool done_ = false;
};

class Characters {
 public:
  explicit Characters(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  char front() const { return rest_.front(); }
  void Next() { rest_.remove_prefix(1); }

 private:
  std::string_view rest_;
};

// A wildcard stands for any number of parts. Only the last one met is ever tried with more of them:
// whatever is before it has matched as early as it can.
template <typename Parts, typename IsWildcard, typename Matches>
bool MatchesWithWildcard(Parts pattern, Parts text, IsWildcard is_wildcard, Matches matches) {
  std::optional<std::pair<Parts, Parts>> last;  // after the wildcard, and where it ends
  while (!text.done()) {
    if (!pattern.done() && is_wildcard(pattern.front())) {
      pattern.Next();
      last.emplace(pattern, text);
    } else if (!pattern.done() && matches(pattern.front(), text.front())) {
      pattern.Next();
      text.Next();
    } else if (last) {
      last->second.Next();
      std::tie(pattern, text) = *last;
    } else {
      return false;
    }
  }
  while (!pattern.done() && is_wildcard(pattern.front())) pattern.Next();
  return pattern.done();
}

bool SegmentMatches(std::string_view pattern, std::string_view segment) {
  if (segment.empty()) return pattern.empty();
  return MatchesWithWildcard(
      Characters(pattern), Characters(segment), [](char c) { return c == '*'; }, std::equal_to<>());
}

std::string SegmentToRegex(std::string_view pattern) {
  if (!pattern.empty() && pattern.find_first_not_of('*') == std::string_view::npos) return "[^.]+";
  std::string regex;
  for (const char c : pattern) {
    if (c == '*') {
      regex += "[^.]*";
      continue;
    }
    if (std::string_view("[](){}\\+?|^$").find(c) != std::string_view::npos) regex += '\\';
    regex += c;
  }
  return regex;
}

bool IsPatternChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) ||
         std::string_view(".-_*#:/").find(c) != std::string_view::npos;
}

// Empty when it is one.
std::string_view WhyNoPattern(std::string_view pattern) {
  if (pattern.empty()) return "it is empty";
  if (pattern.size() > kTextBytesMax) return "it is longer than any topic";
  if (!std::all_of(pattern.begin(), pattern.end(), IsPatternChar)) {
    return "it has other characters than letters, digits and .-_:/*#";
  }
  for (Segments segments(pattern); !segments.done(); segments.Next()) {
    const std::string_view segment = segments.front();
    if (segment.empty()) return "a segment is empty";
    if (segment != "#" && segment.find('#') != std::string_view::npos) {
      return "# stands between dots alone";
    }
    if (segment.find("**") != std::string_view::npos) return "** says no more than *";
  }
  return {};
}

}  // namespace

Status ValidateTopic(std::string_view topic, TopicRule rule) {
  if (rule == TopicRule::kRelaxed) {
    if (topic.empty()) return Status::Invalid("topic: is empty");
    return ValidateText("topic", topic, kTextBytesMax);
  }
  if (topic.size() < 128 && IsStrictTopic(topic)) return Status::Ok();
  return Status::Invalid(
             StrCat("topic: '", base::CleanError(topic, 160), "' does not follow the topic rule"))
      .WithHint(
          "write <module>.<aggregate>.<event>.vN of [a-z0-9-], under 128 characters, such as "
          "orders.order.created.v1; or relax the rule for this table");
}

Status Validate(const NewMessage& message, const EnqueueOptions& options) {
  OUTBOX_RETURN_IF_ERROR(ValidateTopic(message.topic, options.topics));
  const std::array<std::pair<std::string_view, std::string_view>, 7> texts{{
      {"namespace", message.name_space},
      {"event_type", message.event_type},
      {"aggregate_type", message.aggregate_type},
      {"aggregate_id", message.aggregate_id},
      {"key", message.key},
      {"traceparent", message.traceparent},
      {"tracestate", message.tracestate},
  }};
  for (const auto& [field, value] : texts) {
    const bool tracestate = field == "tracestate";
    OUTBOX_RETURN_IF_ERROR(ValidateText(field, value, tracestate ? 512 : kTextBytesMax));
  }
  OUTBOX_RETURN_IF_ERROR(ValidateText("dedupe_key", message.dedupe_key, kDedupeKeyBytesMax));
  if (message.event_version < 1) {
    return Status::Invalid(StrCat("event_version: ", message.event_version, " is below 1"));
  }
  if (message.id && message.id->is_nil()) {
    return Status::Invalid("id: is the nil UUID").WithHint("leave it out to have one made");
  }
  OUTBOX_RETURN_IF_ERROR(ValidateTimes(message));
  OUTBOX_RETURN_IF_ERROR(ValidateTenantDedupe(message));
  OUTBOX_RETURN_IF_ERROR(ValidateHeaders(message));
  return ValidatePayload(message.payload, options.payload_bytes_max);
}

bool TopicMatches(std::string_view pattern, std::string_view topic) noexcept {
  const auto is_hash = [](std::string_view segment) { return segment == "#"; };
  return MatchesWithWildcard(Segments(pattern), Segments(topic), is_hash, SegmentMatches);
}

std::string TopicPatternToRegex(std::string_view pattern) {
  // A # takes the dot on its left along; at the start, where there is none, the one on its right.
  std::string regex = "^";
  bool dot_due = false;
  bool after_hash = false;
  for (Segments segments(pattern); !segments.done(); segments.Next()) {
    const bool hash = segments.front() == "#";
    if (hash && !after_hash) regex += dot_due ? "(\\..*)?" : "(.*\\.)?";
    after_hash = hash;
    if (hash) continue;
    if (dot_due) regex += "\\.";
    regex += SegmentToRegex(segments.front());
    dot_due = true;
  }
  return dot_due ? regex + "$" : "^.*$";
}

std::vector<std::string> TopicPatternsToRegexes(const std::vector<std::string>& patterns) {
  std::vector<std::string> regexes;
  regexes.reserve(patterns.size());
  for (const std::string& pattern : patterns) regexes.push_back(TopicPatternToRegex(pattern));
  return regexes;
}

Status ValidateTopicPattern(std::string_view pattern) {
  const std::string_view why = WhyNoPattern(pattern);
  if (why.empty()) return Status::Ok();
  return Status::Invalid(
             StrCat("'", base::CleanError(pattern, 80), "' is not a topic pattern: ", why))
      .WithHint(
          "* stands for (the rest of) one segment, # for any number of whole ones: "
          "orders.*.created.v*, billing.#");
}

}  // namespace outbox::message
