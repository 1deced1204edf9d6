#include "sink/redis/command.h"

#include <openssl/sha.h>

#include <array>

#include "base/text.h"
#include "sink/metadata.h"

namespace outbox::sink {
namespace {

using base::StrCat;

// KEYS: what remembers the id, the stream. ARGV: how long in milliseconds, the rest of XADD.
// SET … XX of a key that is not there changes nothing, and fails as the later SET would: whoever
// may not remember adds nothing. pcall returns the errors of commands as they are.
constexpr std::string_view kDedupeScript = R"lua(
local known = redis.pcall('GET', KEYS[1])
if known then return known end
local may = redis.pcall('SET', KEYS[1], '', 'XX', 'PX', ARGV[1])
if may and may.err then return may end
local entry = redis.pcall('XADD', KEYS[2], unpack(ARGV, 2))
if type(entry) == 'string' then redis.pcall('SET', KEYS[1], entry, 'PX', ARGV[1]) end
return entry
)lua";

std::string Sha1Hex(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

bool IsOwnField(std::string_view name) {
  return name == "id" || name == "topic" || name == "payload";
}

}  // namespace

void AppendCommand(std::span<const std::string_view> words, std::string& out) {
  out += StrCat('*', words.size(), "\r\n");
  for (const std::string_view word : words) {
    out += StrCat('$', word.size(), "\r\n");
    out += word;
    out += "\r\n";
  }
}

void AppendCommand(std::initializer_list<std::string_view> words, std::string& out) {
  AppendCommand(std::span(words.begin(), words.size()), out);
}

Headers EntryFields(const Message& message, message::BodyFormat body) {
  Headers fields{{"id", message.id.ToString()},
                 {"topic", message.topic},
                 {"payload", message::MakeBody(message, body)}};
  for (auto& [name, value] : DeliveryHeaders(message)) {
    fields.emplace_back(IsOwnField(name) ? StrCat("header:", name) : std::move(name),
                        std::move(value));
  }
  return fields;
}

std::string DedupeKey(std::string_view stream, const Uuid& id) {
  return StrCat("outbox:dedupe:{", stream, "}:", id.ToString());
}

AddCommand::AddCommand(const RedisOptions& options)
    : maxlen_(options.maxlen > 0 ? std::to_string(options.maxlen) : ""),
      maxlen_exact_(options.maxlen_exact),
      dedupe_ms_(options.dedupe.count() > 0 ? std::to_string(options.dedupe.count()) : ""),
      body_(options.body),
      script_sha_(Sha1Hex(kDedupeScript)) {}

void AddCommand::Append(const Message& message, std::string_view stream, bool first,
                        std::string& out) {
  const std::string dedupe_key = dedupe_ms_.empty() ? "" : DedupeKey(stream, message.id);
  const Headers fields = EntryFields(message, body_);
  words_.clear();
  if (dedupe_ms_.empty()) {
    words_.insert(words_.end(), {"XADD", stream});
  } else if (first) {
    words_.insert(words_.end(), {"EVAL", kDedupeScript, "2", dedupe_key, stream, dedupe_ms_});
  } else {
    words_.insert(words_.end(), {"EVALSHA", script_sha_, "2", dedupe_key, stream, dedupe_ms_});
  }
  if (!maxlen_.empty()) {
    words_.insert(words_.end(), {"MAXLEN", maxlen_exact_ ? "=" : "~", maxlen_});
  }
  words_.emplace_back("*");
  for (const auto& [name, value] : fields) words_.insert(words_.end(), {name, value});
  AppendCommand(words_, out);
}

}  // namespace outbox::sink
