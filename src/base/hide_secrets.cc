#include "base/hide_secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace outbox::base {
namespace {

constexpr std::string_view kHidden = "***";
constexpr std::size_t kNowhere = std::string_view::npos;
constexpr std::string_view kAuthorization = "authorization";
// A '-' stands for itself, for '_' or for nothing.
constexpr std::array<std::string_view, 10> kSecretNames{
    "password", "passwd",     "pwd",          "secret",     "token",
    "api-key",  "access-key", kAuthorization, "credential", "signature"};
constexpr std::array<std::string_view, 2> kSchemes{"bearer", "basic"};

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool EndsValue(char c) { return IsSpace(c) || c == ';' || c == '&'; }

template <typename Ends>
std::size_t FindFrom(std::string_view text, std::size_t from, Ends ends) {
  while (from < text.size() && !ends(text[from])) ++from;
  return from;
}

std::size_t SkipSpace(std::string_view text, std::size_t from) {
  return FindFrom(text, from, [](char c) { return !IsSpace(c); });
}

// The end of a URL's user name, where its password's ':' stands; kNowhere without one.
std::size_t UserEnd(std::string_view text, std::size_t from) {
  const std::size_t end =
      FindFrom(text, from, [](char c) { return IsSpace(c) || c == ':' || c == '/' || c == '@'; });
  return end < text.size() && text[end] == ':' ? end : kNowhere;
}

// `password_end(from)` is where the '@' of a password that begins there stands, or kNowhere.
template <typename PasswordEnd>
std::string HidePasswords(std::string_view text, PasswordEnd password_end) {
  std::string out;
  std::size_t copied = 0;
  std::size_t at = 0;
  while ((at = text.find("://", at)) != kNowhere) {
    const std::size_t user_end = UserEnd(text, at + 3);
    const std::size_t end = user_end == kNowhere ? kNowhere : password_end(user_end + 1);
    if (end == kNowhere) {
      ++at;
      continue;
    }
    out += text.substr(copied, user_end + 1 - copied);
    out += kHidden;
    copied = at = end;
  }
  out += text.substr(copied);
  return out;
}

// The last '@' before the path. The next URL has a '/': no part of the text is seen twice.
std::size_t LastAtBeforePath(std::string_view text, std::size_t from) {
  const std::size_t end = FindFrom(text, from, [](char c) { return IsSpace(c) || c == '/'; });
  const std::size_t at = text.substr(from, end - from).rfind('@');
  return at == kNowhere ? kNowhere : from + at;
}

// Where `name` ends that stands at `at`; kNowhere when another one does.
std::size_t NameEnd(std::string_view text, std::size_t at, std::string_view name) {
  for (const char c : name) {
    const char found = at < text.size() ? LowerCase(text[at]) : '\0';
    if (found == c || (c == '-' && found == '_')) {
      ++at;
    } else if (c != '-') {
      return kNowhere;
    }
  }
  return at;
}

template <typename Names>
std::size_t AnyNameEnd(std::string_view text, std::size_t at, const Names& names) {
  for (const std::string_view name : names) {
    if (name.front() != LowerCase(text[at])) continue;
    if (const std::size_t end = NameEnd(text, at, name); end != kNowhere) return end;
  }
  return kNowhere;
}

bool IsQuote(char c) { return c == '"' || c == '\''; }

// Behind a quote that may stand at `at`, as JSON inside a JSON string has it too: \".
std::size_t SkipQuote(std::string_view text, std::size_t at) {
  const std::size_t quote = at + (at < text.size() && text[at] == '\\' ? 1 : 0);
  return quote < text.size() && IsQuote(text[quote]) ? quote + 1 : at;
}

// Where the value begins that is set after a name; kNowhere when none is.
std::size_t ValueStart(std::string_view text, std::size_t name_end, SettingForm form) {
  const std::size_t sign = SkipSpace(text, SkipQuote(text, name_end));
  if (sign >= text.size()) return kNowhere;
  const bool set =
      text[sign] == '=' || (text[sign] == ':' && form == SettingForm::kAssignedOrNamed);
  if (!set) return kNowhere;
  const std::size_t start = SkipSpace(text, sign + 1);
  return start < text.size() && !EndsValue(text[start]) ? start : kNowhere;
}

// Finds where values end. Of quotes that are never closed it looks for the end once.
class ValueEnds {
 public:
  explicit ValueEnds(std::string_view text) : text_(text) {}

  // `header`: the value is that of an Authorization header, a scheme and credentials.
  std::size_t Find(std::size_t start, bool header) {
    if (const std::size_t quoted = QuotedEnd(start); quoted != kNowhere) return quoted;
    const std::size_t scheme_end =
        header ? FindFrom(text_, start, EndsValue) : AnyNameEnd(text_, start, kSchemes);
    if (scheme_end != kNowhere) {
      const std::size_t credentials = SkipSpace(text_, scheme_end);
      if (credentials > scheme_end && credentials < text_.size() &&
          !EndsValue(text_[credentials])) {
        return FindFrom(text_, credentials, EndsValue);
      }
    }
    return FindFrom(text_, start, EndsValue);
  }

 private:
  // kNowhere for a value without quotes. A quote that is not closed is part of the value.
  std::size_t QuotedEnd(std::size_t start) {
    const std::size_t begin = SkipQuote(text_, start);
    if (begin == start) return kNowhere;
    const char quote = text_[begin - 1];
    const bool escaped = text_[start] == '\\';
    bool& unclosed = unclosed_[(quote == '"' ? 0 : 1) + (escaped ? 2 : 0)];
    std::size_t backslashes = 0;  // before it
    for (std::size_t at = begin; !unclosed && at < text_.size(); ++at) {
      if (text_[at] == quote && Closes(backslashes, escaped)) return at + 1;
      backslashes = text_[at] == '\\' ? backslashes + 1 : 0;
    }
    unclosed = true;
    return kNowhere;
  }
  // Each level of quoting doubles the backslashes of the one inside, and adds one for a quote.
  static bool Closes(std::size_t backslashes, bool escaped) {
    return escaped ? backslashes == 0 || backslashes % 4 == 1 : backslashes % 2 == 0;
  }

  const std::string_view text_;
  std::array<bool, 4> unclosed_{};  // by quote, plain and escaped
};

}  // namespace

std::string HideUrlPasswords(std::string_view text) {
  const std::string before_path =
      HidePasswords(text, [&](std::size_t from) { return LastAtBeforePath(text, from); });
  // What is left may have a password with a '/': up to the next '@', which is searched for once.
  const std::string_view left = before_path;
  std::size_t next = 0;
  return HidePasswords(left, [&](std::size_t from) {
    if (next < from) next = from;
    next = FindFrom(left, next, [](char c) { return IsSpace(c) || c == '@'; });
    return next < left.size() && left[next] == '@' ? next : kNowhere;
  });
}

std::string HideSecretSettings(std::string_view text, SettingForm form) {
  ValueEnds ends(text);
  std::string out;
  std::size_t copied = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t name_end = AnyNameEnd(text, at, kSecretNames);
    const std::size_t start = name_end == kNowhere ? kNowhere : ValueStart(text, name_end, form);
    if (start == kNowhere) {
      ++at;
      continue;
    }
    out += text.substr(copied, start - copied);
    out += kHidden;
    copied = at = ends.Find(start, NameEnd(text, at, kAuthorization) == name_end);
  }
  out += text.substr(copied);
  return out;
}

}  // namespace outbox::base
