// Validation of a message before it is sent to a database, so that a refusal costs the caller
// nothing: its transaction has seen no error.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "outbox/enqueue.h"
#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::message {

// Limits of the other fields, in bytes. The schema's checks say the same.
inline constexpr std::size_t kTextBytesMax = 255;  // namespace, types, ids, key
inline constexpr std::size_t kDedupeKeyBytesMax = 512;
inline constexpr std::size_t kHeadersBytesMax = 64 * 1024;
// However high payload_bytes_max is.
inline constexpr std::size_t kPayloadBytesCeiling = std::size_t{16} << 20;
inline constexpr std::size_t kPayloadDepthMax = 512;  // nesting of arrays and objects
inline constexpr std::chrono::milliseconds kDelayMax = base::kDurationMax;
// What every database and RFC 3339 can tell: the years 1 to 9999.
inline constexpr Timestamp kAvailableAtMin =
    std::chrono::sys_days(std::chrono::year(1) / std::chrono::January / 1);
inline constexpr Timestamp kAvailableAtMax = base::kTimestampMax;

// The first thing wrong with `message`, named; OK when there is nothing.
Status Validate(const NewMessage& message, const EnqueueOptions& options);

Status ValidateTopic(std::string_view topic, TopicRule rule);

// Topic patterns, of RelayFilter::topics and of routes: `#` as a segment stands for any number of
// segments, also none; `*` for any characters within one that is not empty.
bool TopicMatches(std::string_view pattern, std::string_view topic) noexcept;
// The same pattern as an anchored POSIX regular expression, for PostgreSQL's ~ operator.
std::string TopicPatternToRegex(std::string_view pattern);
std::vector<std::string> TopicPatternsToRegexes(const std::vector<std::string>& patterns);
// Refuses what can not have been meant: characters no topic has, empty segments, # beside other
// characters. The functions above take such a # literally.
Status ValidateTopicPattern(std::string_view pattern);

}  // namespace outbox::message
