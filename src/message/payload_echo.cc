#include "message/payload_echo.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace outbox::message {
namespace {

// How deep escapes may be nested: JSON in JSON in a URL.
constexpr int kRounds = 4;
constexpr std::size_t kBase64Min = 22;
constexpr std::size_t kHexMin = 32;
constexpr std::size_t kUuidBytes = 36;
constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15U;
// Stands for what does not count, and ends a run.
constexpr char kGap = '\x01';

constexpr std::array kEntities{std::pair<std::string_view, char>{"amp;", '&'},
                               std::pair<std::string_view, char>{"lt;", '<'},
                               std::pair<std::string_view, char>{"gt;", '>'},
                               std::pair<std::string_view, char>{"quot;", '"'},
                               std::pair<std::string_view, char>{"apos;", '\''},
                               std::pair<std::string_view, char>{"nbsp;", ' '}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsLetter(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int Base64Value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (IsDigit(c)) return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

// The number that `count` digits at `at` write.
std::optional<std::uint32_t> HexAt(std::string_view text, std::size_t at, std::size_t count) {
  if (at > text.size() || text.size() - at < count) return std::nullopt;
  std::uint32_t number = 0;
  const char* const begin = text.data() + at;
  const bool whole = std::from_chars(begin, begin + count, number, 16).ptr == begin + count;
  return whole ? std::optional(number) : std::nullopt;
}

void AppendUtf8(std::uint32_t character, std::string& out) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80U | (character >> shift & 0x3FU));
  };
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xC0U | character >> 6);
    tail(0);
  } else if (character < 0x10000) {
    out += static_cast<char>(0xE0U | character >> 12);
    tail(6);
    tail(0);
  } else if (character < 0x110000) {
    out += static_cast<char>(0xF0U | character >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// Each undoes the escape at the front of `text` and returns its length; 0 when none is there.

std::size_t UndoBackslash(std::string_view text, std::string& out) {
  if (text.size() < 2) return 0;
  if (text[1] == 'x') {
    const auto byte = HexAt(text, 2, 2);
    if (byte) out += static_cast<char>(*byte);
    return byte ? 4 : 0;
  }
  if (text[1] != 'u') {
    out += std::string_view("nrtbf").find(text[1]) == std::string_view::npos ? text[1] : ' ';
    return 2;
  }
  const auto first = HexAt(text, 2, 4);
  if (!first) return 0;
  const bool high = *first >= 0xD800 && *first < 0xDC00;
  const auto second = high && text.substr(6).starts_with("\\u") ? HexAt(text, 8, 4) : std::nullopt;
  if (second && *second >= 0xDC00 && *second < 0xE000) {
    AppendUtf8(0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00), out);
    return 12;
  }
  AppendUtf8(*first, out);
  return 6;
}

std::size_t UndoPercent(std::string_view text, std::string& out) {
  const auto byte = HexAt(text, 1, 2);
  if (byte) out += static_cast<char>(*byte);
  return byte ? 3 : 0;
}

std::size_t UndoEntity(std::string_view text, std::string& out) {
  for (const auto& [name, character] : kEntities) {
    if (!text.substr(1).starts_with(name)) continue;
    out += character;
    return 1 + name.size();
  }
  if (text.size() < 4 || text[1] != '#') return 0;
  const bool hex = text[2] == 'x' || text[2] == 'X';
  const char* const begin = text.data() + (hex ? 3 : 2);
  const char* const end = text.data() + std::min<std::size_t>(text.size(), 11);
  std::uint32_t character = 0;
  const auto [stopped, error] = std::from_chars(begin, end, character, hex ? 16 : 10);
  if (error != std::errc() || stopped == end || *stopped != ';') return 0;
  AppendUtf8(character, out);
  return static_cast<std::size_t>(stopped + 1 - text.data());
}

// `text` with one level of escapes undone.
std::string Unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = 0;
    if (text[0] == '\\') length = UndoBackslash(text, out);
    if (text[0] == '%') length = UndoPercent(text, out);
    if (text[0] == '&') length = UndoEntity(text, out);
    if (length == 0) out += text[0];
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

bool HasEscapes(std::string_view text) {
  return text.find_first_of("\\%&") != std::string_view::npos;
}

std::string WithoutSpace(std::string_view text) {
  std::string out(text);
  std::erase_if(out, IsSpace);
  return out;
}

// Calls `each` with what every run of `length_min` characters or more that `belongs` takes.
template <typename Belongs, typename Each>
void ForEachRun(std::string_view text, std::size_t length_min, Belongs belongs, Each each) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && belongs(text[end])) ++end;
    if (end - at >= length_min) each(text.substr(at, end - at));
    at = end + 1;
  }
}

std::string FromBase64(std::string_view digits) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : digits) {
    bits = bits << 6 | static_cast<std::uint32_t>(Base64Value(digit));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFFU);
  }
  return out;
}

std::string FromHex(std::string_view digits) {
  std::string out;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    out += static_cast<char>(HexAt(digits, at, 2).value_or(0));
  }
  return out;
}

bool IsUuid(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !IsHex(text[i])) return false;
  }
  return text.size() == kUuidBytes;
}

std::string WithoutKnown(std::string_view text, std::span<const std::string_view> known,
                         std::size_t bytes_min) {
  std::string out(text);
  for (const std::string_view word : known) {
    if (word.size() < bytes_min) continue;
    std::size_t kept = 0;
    std::string rest;
    for (std::size_t at = 0; (at = out.find(word, kept)) != std::string::npos;) {
      rest.append(out, kept, at - kept);
      rest += kGap;
      kept = at + word.size();
    }
    if (kept > 0) out = rest.append(out, kept);
  }
  for (std::size_t at = 0; at + kUuidBytes <= out.size(); ++at) {
    const auto where = out.begin() + static_cast<std::ptrdiff_t>(at);
    if (out[at + 8] != '-' || !IsUuid(std::string_view(out).substr(at, kUuidBytes))) continue;
    std::fill_n(where, kUuidBytes, kGap);
  }
  return out;
}

}  // namespace

PayloadEcho::PayloadEcho(std::size_t run) : run_(run) {
  OUTBOX_CHECK(run > 0 && run <= kRunMax);
  for (std::size_t i = 0; i < run_; ++i) oldest_ *= kBase;
}

template <typename Each>
void PayloadEcho::ForEachHash(std::string_view form, Each each) const {
  std::array<std::uint64_t, kRunMax> window{};
  std::size_t count = 0;
  std::uint64_t hash = 0;
  for (const char c : form) {
    if (c == kGap) {
      window.fill(0);
      count = 0;
      hash = 0;
    }
    if (!IsLetter(c)) continue;
    const auto letter = static_cast<std::uint64_t>(static_cast<unsigned char>(Lower(c))) + 1;
    std::uint64_t& slot = window[count++ % run_];
    hash = hash * kBase + letter - slot * oldest_;
    slot = letter;
    if (count >= run_) each(hash);
  }
}

std::size_t PayloadEcho::Add(std::string_view text, std::span<const std::string_view> known) {
  texts_.emplace_back();
  std::string form = WithoutKnown(text, known, run_);
  AddDecoded(form);
  for (int round = 0; round < kRounds && HasEscapes(form); ++round) {
    form = Unescaped(form);
    AddDecoded(form);
  }
  return texts_.size() - 1;
}

void PayloadEcho::AddDecoded(std::string_view form) {
  AddRuns(form);
  const std::string packed = WithoutSpace(form);
  const auto add = [&](const std::string& decoded) {
    AddRuns(decoded);
    if (HasEscapes(decoded)) AddRuns(Unescaped(decoded));
  };
  // Words may stand before it that look the same.
  ForEachRun(
      packed, kBase64Min, [](char c) { return Base64Value(c) >= 0; },
      [&](std::string_view run) {
        for (std::size_t skip = 0; skip < 4; ++skip) add(FromBase64(run.substr(skip)));
      });
  ForEachRun(packed, kHexMin, IsHex, [&](std::string_view run) {
    for (std::size_t skip = 0; skip < 2; ++skip) add(FromHex(run.substr(skip)));
  });
}

void PayloadEcho::AddRuns(std::string_view form) {
  ForEachHash(form, [&](std::uint64_t hash) {
    texts_.back().push_back(hash);
    seen_.emplace(hash, false);
  });
}

void PayloadEcho::Look(std::string_view payload) {
  if (seen_.empty()) return;
  LookAt(payload);
  if (HasEscapes(payload)) LookAt(Unescaped(payload));
}

void PayloadEcho::LookAt(std::string_view form) {
  ForEachHash(form, [&](std::uint64_t hash) {
    if (const auto found = seen_.find(hash); found != seen_.end()) found->second = true;
  });
}

bool PayloadEcho::Repeats(std::size_t text) const {
  const std::vector<std::uint64_t>& runs = texts_.at(text);
  return std::any_of(runs.begin(), runs.end(), [&](std::uint64_t hash) { return seen_.at(hash); });
}

}  // namespace outbox::message
