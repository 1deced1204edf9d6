// EchoesOf: a payload as servers and handlers write it that repeat what they got. For tests that
// look for it where it must not be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace outbox::testing {

struct Echo {
  std::string form;
  std::string text;
};

namespace echo_internal {

inline std::string Each(std::string_view text, std::string (*write)(unsigned char)) {
  std::string out;
  for (const char c : text) out += write(static_cast<unsigned char>(c));
  return out;
}

inline std::string Printed(const char* format, unsigned value) {
  char text[16];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

inline bool IsAlnum(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

inline std::string JsonEscaped(std::string_view text) {
  return Each(text, [](unsigned char c) {
    return c == '"' || c == '\\' ? std::string("\\") + static_cast<char>(c)
                                 : std::string(1, static_cast<char>(c));
  });
}

inline std::string UrlEscaped(std::string_view text) {
  return Each(text, [](unsigned char c) {
    return IsAlnum(c) ? std::string(1, static_cast<char>(c)) : Printed("%%%02X", c);
  });
}

inline std::string HtmlEscaped(std::string_view text) {
  return Each(text, [](unsigned char c) -> std::string {
    switch (c) {
      case '"': return "&quot;";
      case '&': return "&amp;";
      case '<': return "&lt;";
      case '>': return "&gt;";
      case '\'': return "&#39;";
      default: return std::string(1, static_cast<char>(c));
    }
  });
}

inline std::string Base64Encoded(std::string_view text, std::string_view digits) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += digits[bits >> (count - 6) & 63U];
  }
  if (count > 0) out += digits[bits << (6 - count) & 63U];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

inline std::string Split(std::string_view text, std::size_t every, std::string_view between) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += every) {
    out += (at == 0 ? "" : std::string(between)) + std::string(text.substr(at, every));
  }
  return out;
}

}  // namespace echo_internal

inline std::vector<Echo> EchoesOf(std::string_view payload) {
  using namespace echo_internal;  // NOLINT(google-build-using-namespace)
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::string_view kUrlDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const std::string base64 = Base64Encoded(payload, kDigits);
  std::string pretty;
  for (const char c : payload) {
    pretty += c;
    if (c == '{' || c == ',') pretty += "\n    ";
    if (c == ':') pretty += ' ';
  }
  const std::string half(payload.substr(0, payload.size() / 2));
  const std::string rest(payload.substr(payload.size() / 2));
  const std::string escaped = JsonEscaped(payload);
  return {
      {"as it is", std::string(payload)},
      {"JSON-escaped", "{\"body\":\"" + escaped + "\"}"},
      {"JSON-escaped twice", "{\"a\":\"{\\\"b\\\":\\\"" + JsonEscaped(escaped) + "\\\"}\"}"},
      {"each character as \\u",
       Each(payload, [](unsigned char c) { return Printed("\\u%04x", c); })},
      {"pretty-printed", pretty},
      {"other white space", Split(payload, 7, "\t \r\n")},
      {"URL-encoded", UrlEscaped(payload)},
      {"URL-encoded twice", UrlEscaped(UrlEscaped(payload))},
      {"base64", base64},
      {"base64 for URLs", Base64Encoded(payload, kUrlDigits)},
      {"base64 in lines", Split(base64, 64, "\r\n")},
      {"base64 behind a word", "data:text/plain;base64," + base64},
      {"hexadecimal", Each(payload, [](unsigned char c) { return Printed("%02x", c); })},
      {"HTML-escaped", "<pre>" + HtmlEscaped(payload) + "</pre>"},
      {"each character as an HTML entity",
       Each(payload, [](unsigned char c) { return Printed("&#x%X;", c); })},
      {"HTML of JSON", HtmlEscaped(escaped)},
      {"cut at its front", std::string(payload.substr(9))},
      {"cut at its end", std::string(payload.substr(0, payload.size() - 9))},
      {"cut at both", std::string(payload.substr(5, payload.size() - 14))},
      {"split in two", "first '" + half + "', then '" + rest + "'"},
      {"split in words", Split(payload, 11, " | ")},
      {"in other letters", Each(payload,
                                [](unsigned char c) {
                                  return std::string(
                                      1, static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c));
                                })},
  };
}

}  // namespace outbox::testing
