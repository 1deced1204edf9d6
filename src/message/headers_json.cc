#include "message/headers_json.h"

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/text.h"

namespace outbox::message {
namespace {

void AppendMember(std::string& json, std::string_view name, std::string_view value) {
  json += json.empty() ? '{' : ',';
  json += base::JsonQuote(name);
  json += ':';
  json += base::JsonQuote(value);
}

// Reads an object of headers in one pass, whatever the number of its members. A name that comes
// again replaces the value that it had.
class HeadersReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Scalar("null"); }
  bool boolean(bool value) override { return Scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return Scalar(base::StrCat(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Scalar(base::StrCat(value)); }
  bool number_float(number_float_t value, const string_t&) override {
    return Scalar(nlohmann::json(value).dump());
  }
  bool string(string_t& value) override {
    if (depth_ == 1) return Add(std::move(value));
    return Scalar(base::JsonQuote(value));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Enter('{'); }
  bool start_array(std::size_t) override { return Enter('['); }
  bool end_object() override { return Leave('}'); }
  bool end_array() override { return Leave(']'); }
  bool key(string_t& name) override {
    if (depth_ == 1) {
      name_ = std::move(name);
    } else {
      Separate();
      text_ += base::JsonQuote(name) + ":";
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

  Headers Take() { return std::move(headers_); }

 private:
  bool Add(std::string value) {
    const auto [found, added] = places_.try_emplace(name_, headers_.size());
    if (added) {
      headers_.emplace_back(name_, std::move(value));
    } else {
      headers_[found->second].second = std::move(value);
    }
    return true;
  }
  // A value that is not a string, whole at depth 1, or a part of one.
  bool Scalar(std::string_view text) {
    if (depth_ == 0) return false;
    if (depth_ == 1) return Add(std::string(text));
    Separate();
    text_ += text;
    return true;
  }
  void Separate() {
    const char before = text_.back();
    if (before != '{' && before != '[' && before != ':') text_ += ',';
  }
  bool Enter(char bracket) {
    if (depth_ == 0 && bracket != '{') return false;
    if (++depth_ == 1) return true;
    if (depth_ > 2) Separate();
    text_ += bracket;
    return true;
  }
  bool Leave(char bracket) {
    if (depth_ > 1) text_ += bracket;
    return --depth_ == 1 ? Add(std::exchange(text_, {})) : true;
  }

  Headers headers_;
  std::unordered_map<std::string, std::size_t> places_;  // of names, in headers_
  std::string name_;
  std::string text_;  // of the value that is being read, where it is not a string
  std::size_t depth_ = 0;
};

}  // namespace

std::string HeadersToJson(const Headers& headers) {
  std::string json;
  for (const auto& [name, value] : headers) AppendMember(json, name, value);
  if (!json.empty()) json += '}';
  return json;
}

std::string HeadersToJson(const NewMessage& message) {
  std::string json;
  for (const auto& [name, value] : message.headers) AppendMember(json, name, value);
  if (!message.traceparent.empty()) AppendMember(json, kTraceparentHeader, message.traceparent);
  if (!message.tracestate.empty()) AppendMember(json, kTracestateHeader, message.tracestate);
  if (!json.empty()) json += '}';
  return json;
}

Headers HeadersFromJson(std::string_view json) {
  HeadersReader reader;
  if (json.empty() || !nlohmann::json::sax_parse(json, &reader)) return {};
  return reader.Take();
}

}  // namespace outbox::message
