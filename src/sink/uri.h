// SinkUri: the address of a sink, `scheme:target?option=value&…`, taken apart. authority.h takes
// the target further, option_reader.h the options.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "outbox/status.h"

namespace outbox::sink {

struct SinkUri {
  std::string scheme;  // lower case
  // Between "scheme:" and "?", still percent-encoded: "//user:secret@host/vhost", "out.jsonl".
  std::string target;
  // Percent-decoded, in the order given.
  std::vector<std::pair<std::string, std::string>> options;
  // After "?", as it was written: for http: and https:, where it is the destination's own.
  std::string query = {};

  // The error never repeats the address, which may hold a password.
  static Result<SinkUri> Parse(std::string_view text);
};

using base::PercentDecode;

}  // namespace outbox::sink
