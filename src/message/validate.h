// Validation of a message before it is sent to a database, so that a refusal costs the caller
// nothing: its transaction has seen no error.
#pragma once

#include <cstddef>
#include <string_view>

#include "outbox/enqueue.h"
#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::message {

// Limits of the other fields, in bytes. The schema's checks say the same.
inline constexpr std::size_t kTextBytesMax = 255;  // namespace, types, ids, key
inline constexpr std::size_t kDedupeKeyBytesMax = 512;
inline constexpr std::size_t kHeadersBytesMax = 64 * 1024;
inline constexpr std::size_t kPayloadDepthMax = 512;  // nesting of arrays and objects

// The first thing wrong with `message`, named; OK when there is nothing.
Status Validate(const NewMessage& message, const EnqueueOptions& options);

Status ValidateTopic(std::string_view topic, TopicRule rule);

// True when `topic` matches `pattern` of RelayFilter::topics.
bool TopicMatches(std::string_view pattern, std::string_view topic) noexcept;
// The same pattern as an anchored POSIX regular expression, for PostgreSQL's ~ operator.
std::string TopicPatternToRegex(std::string_view pattern);
std::vector<std::string> TopicPatternsToRegexes(const std::vector<std::string>& patterns);
// Refuses patterns with characters no topic can have.
Status ValidateTopicPattern(std::string_view pattern);

}  // namespace outbox::message
