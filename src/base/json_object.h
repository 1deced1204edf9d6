// JsonObject: writes one JSON object member by member, on one line, in the order given.
//
// For output of our own (sink lines, log lines, --json), where the order of members is part of the
// contract and a payload is spliced in as it is.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace outbox::base {

class JsonObject {
 public:
  JsonObject& Add(std::string_view name, std::string_view value) {
    return AddRaw(name, JsonQuote(value));
  }
  JsonObject& Add(std::string_view name, const char* value) {
    return Add(name, std::string_view(value));
  }
  JsonObject& Add(std::string_view name, bool value) {
    return AddRaw(name, value ? "true" : "false");
  }
  JsonObject& Add(std::string_view name, std::integral auto value) {
    return AddRaw(name, std::to_string(value));
  }
  // Left out when empty.
  JsonObject& AddUnlessEmpty(std::string_view name, std::string_view value) {
    return value.empty() ? *this : Add(name, value);
  }
  // `json` must be JSON text.
  JsonObject& AddRaw(std::string_view name, std::string_view json) {
    text_ += text_.size() == 1 ? "" : ",";
    text_ += JsonQuote(name);
    text_ += ':';
    text_ += json;
    return *this;
  }

  // The whole object. Nothing may be added afterwards.
  std::string Finish() {
    text_ += '}';
    return std::move(text_);
  }

 private:
  std::string text_ = "{";
};

// "[a,b]" of JSON texts.
inline std::string JsonArray(const std::vector<std::string>& elements) {
  return StrCat("[", Join(elements, ","), "]");
}

// A number with three decimals, as JSON writes it: for rates and seconds.
inline std::string JsonNumber(double value) {
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 3);
  return error == std::errc() ? std::string(buffer, end) : "0";
}

}  // namespace outbox::base
