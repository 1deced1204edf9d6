#include "message/validate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"

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
  if (payload.size() > bytes_max) {
    return Status::Invalid(
               StrCat("payload: has ", payload.size(), " bytes, over the limit of ", bytes_max))
        .WithHint("store large data elsewhere and enqueue a reference, or raise payload_bytes_max");
  }
  JsonChecker checker;
  if (nlohmann::json::sax_parse(payload, &checker)) return Status::Ok();
  if (checker.too_deep()) {
    return Status::Invalid(StrCat("payload: nests deeper than ", kPayloadDepthMax, " levels"));
  }
  return Status::Invalid(StrCat("payload: is not valid JSON at byte ", checker.error_at()))
      .WithHint("the payload must be one JSON value in UTF-8");
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

Status ValidateHeaders(const NewMessage& message) {
  std::size_t total = message.traceparent.size() + message.tracestate.size();
  for (std::size_t i = 0; i < message.headers.size(); ++i) {
    const auto& [name, value] = message.headers[i];
    if (name.empty()) return Status::Invalid("headers: a name is empty");
    OUTBOX_RETURN_IF_ERROR(ValidateText("headers", name, kTextBytesMax));
    OUTBOX_RETURN_IF_ERROR(ValidateText(StrCat("headers['", name, "']"), value, kHeadersBytesMax));
    for (std::size_t j = 0; j < i; ++j) {
      if (message.headers[j].first == name) {
        return Status::Invalid(StrCat("headers: '", name, "' is given twice"));
      }
    }
    const bool trace = (name == kTraceparentHeader && !message.traceparent.empty()) ||
                       (name == kTracestateHeader && !message.tracestate.empty());
    if (trace) {
      return Status::Invalid(StrCat(name, ": is given both as a field and as a header"));
    }
    total += name.size() + value.size();
  }
  if (total > kHeadersBytesMax) {
    return Status::Invalid(
        StrCat("headers: have ", total, " bytes, over the limit of ", kHeadersBytesMax));
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
  if (message.delay.count() < 0) return Status::Invalid("delay: is negative");
  if (message.delay.count() > 0 && message.available_at) {
    return Status::Invalid("available_at: is given together with delay")
        .WithHint("give one of them");
  }
  OUTBOX_RETURN_IF_ERROR(ValidateTenantDedupe(message));
  OUTBOX_RETURN_IF_ERROR(ValidateHeaders(message));
  return ValidatePayload(message.payload, options.payload_bytes_max);
}

bool TopicMatches(std::string_view pattern, std::string_view topic) noexcept {
  // Backtracking over the two wildcards; patterns are short and written by operators.
  if (pattern.empty()) return topic.empty();
  if (pattern[0] == '#') {
    for (std::size_t i = 0; i <= topic.size(); ++i) {
      if (TopicMatches(pattern.substr(1), topic.substr(i))) return true;
    }
    // "billing.#" also matches "billing".
    return false;
  }
  if (pattern[0] == '*') {
    for (std::size_t i = 0; i <= topic.size(); ++i) {
      if (TopicMatches(pattern.substr(1), topic.substr(i))) return true;
      if (i < topic.size() && topic[i] == '.') return false;
    }
    return false;
  }
  if (pattern == ".#" && topic.empty()) return true;
  return !topic.empty() && topic[0] == pattern[0] &&
         TopicMatches(pattern.substr(1), topic.substr(1));
}

std::string TopicPatternToRegex(std::string_view pattern) {
  std::string regex = "^";
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '.' && pattern.substr(i) == ".#") {
      regex += "(\\..*)?";
      break;
    }
    if (c == '#') {
      regex += ".*";
    } else if (c == '*') {
      regex += "[^.]*";
    } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_') {
      regex += c;
    } else {
      regex += '\\';
      regex += c;
    }
  }
  return regex + "$";
}

std::vector<std::string> TopicPatternsToRegexes(const std::vector<std::string>& patterns) {
  std::vector<std::string> regexes;
  regexes.reserve(patterns.size());
  for (const std::string& pattern : patterns) regexes.push_back(TopicPatternToRegex(pattern));
  return regexes;
}

Status ValidateTopicPattern(std::string_view pattern) {
  const bool printable = std::all_of(pattern.begin(), pattern.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(".-_*#:/").find(c) != std::string_view::npos;
  });
  const bool few_wildcards = std::count_if(pattern.begin(), pattern.end(),
                                           [](char c) { return c == '*' || c == '#'; }) <= 8;
  if (!pattern.empty() && pattern.size() <= kTextBytesMax && printable && few_wildcards) {
    return Status::Ok();
  }
  return Status::Invalid(
             StrCat("topics: '", base::CleanError(pattern, 80), "' is not a topic pattern"))
      .WithHint("* stands for (the rest of) one segment, # for any number: orders.*.created.v*");
}

}  // namespace outbox::message
