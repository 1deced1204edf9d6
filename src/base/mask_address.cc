#include "base/mask_address.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace outbox::base {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::size_t kBytesMax = 4096;
constexpr std::size_t kKeyBytesMin = 16;
constexpr std::size_t kSegmentsBeforePath = 3;  // "https:", "", "host"

// libpq's parameters, but for password and sslpassword.
constexpr std::array<std::string_view, 41> kShownInDsn{"application_name",
                                                       "channel_binding",
                                                       "client_encoding",
                                                       "connect_timeout",
                                                       "dbname",
                                                       "fallback_application_name",
                                                       "gssdelegation",
                                                       "gssencmode",
                                                       "gsslib",
                                                       "host",
                                                       "hostaddr",
                                                       "keepalives",
                                                       "keepalives_count",
                                                       "keepalives_idle",
                                                       "keepalives_interval",
                                                       "krbsrvname",
                                                       "load_balance_hosts",
                                                       "options",
                                                       "passfile",
                                                       "port",
                                                       "replication",
                                                       "require_auth",
                                                       "requirepeer",
                                                       "requiressl",
                                                       "service",
                                                       "ssl",
                                                       "ssl_max_protocol_version",
                                                       "ssl_min_protocol_version",
                                                       "sslcert",
                                                       "sslcertmode",
                                                       "sslcompression",
                                                       "sslcrl",
                                                       "sslcrldir",
                                                       "sslkey",
                                                       "sslmode",
                                                       "sslnegotiation",
                                                       "sslrootcert",
                                                       "sslsni",
                                                       "target_session_attrs",
                                                       "tcp_user_timeout",
                                                       "user"};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool IsNumber(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// A host with or without a port, or several, and no login. What looks like a port may be the
// beginning of a password.
struct Host {
  bool alone = false;
  bool has_port = false;
};
Host HostIn(std::string_view authority) {
  const std::size_t colon = authority.find(':');
  if (colon == std::string_view::npos || authority.starts_with('[')) return {.alone = true};
  const std::string_view port = authority.substr(colon + 1, authority.find(',') - colon - 1);
  return {.alone = IsNumber(port), .has_port = true};
}

std::string_view AuthorityOf(std::string_view head, std::size_t start) {
  return head.substr(start, head.find('/', start) - start);
}

// Where the login before the host ends, or npos. A password may have a '/' or '@' of its own; the
// path of a web address may have an '@'.
std::size_t LoginEnd(std::string_view head, std::size_t start, bool web) {
  const std::string_view authority = AuthorityOf(head, start);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) return start + at;
  const Host host = HostIn(authority);
  return host.alone && (web || !host.has_port) ? std::string_view::npos : head.rfind('@');
}

// Where the host, or the login before it, begins; npos without either.
std::size_t AuthorityStart(std::string_view address) {
  const std::size_t colon = address.find(':');
  return colon == std::string_view::npos ? colon : address.find_first_not_of('/', colon + 1);
}

// Where the options begin, or npos. A password may have a '?' of its own.
std::size_t OptionsStart(std::string_view address, bool web) {
  const std::size_t question = address.find('?');
  const std::size_t start = AuthorityStart(address);
  if (question == std::string_view::npos || start >= question) return question;
  const std::string_view head = address.substr(0, question);
  const std::string_view authority = AuthorityOf(head, start);
  const std::size_t at = address.find('@', question);
  if (at == std::string_view::npos) return question;
  const bool option = address.find('=', question) < at;
  const bool login = authority.find('@') != std::string_view::npos;
  const Host host = login ? Host{.alone = true, .has_port = true} : HostIn(authority);
  const bool in_password = !host.alone || (!web && host.has_port && !option);
  return in_password ? address.find('?', at) : question;
}

bool LooksLikeAKey(std::string_view segment) {
  const auto any = [&](int (*is)(int)) {
    return std::any_of(segment.begin(), segment.end(), [&](unsigned char c) { return is(c) != 0; });
  };
  return segment.size() >= kKeyBytesMin && any(std::isdigit) && any(std::isalpha);
}

std::string MaskHead(std::string_view head, bool web) {
  const std::size_t start = AuthorityStart(head);
  if (start == std::string_view::npos) return std::string(head);
  const std::size_t end = LoginEnd(head, start, web);
  if (end == std::string_view::npos || end < start) return std::string(head);
  const std::string_view login = head.substr(start, end - start);
  if (login.find(':') == std::string_view::npos) {
    // A token in the place of a user's name, as some write it for NATS and web addresses.
    return LooksLikeAKey(login) ? StrCat(head.substr(0, start), kMask, head.substr(end))
                                : std::string(head);
  }
  return StrCat(head.substr(0, start), login.substr(0, login.find(':')), ":", kMask,
                head.substr(end));
}

// Chat hooks are let in by a part of their path.
std::string MaskPath(std::string_view head) {
  std::vector<std::string> segments = Split(head, '/');
  for (std::size_t i = kSegmentsBeforePath; i < segments.size(); ++i) {
    if (LooksLikeAKey(segments[i])) segments[i] = kMask;
  }
  return Join(segments, "/");
}

// An address without options, such as a proxy's: its login is hidden whatever it is.
std::string WithoutLogin(std::string_view address) {
  const std::size_t at = address.rfind('@');
  if (at == std::string_view::npos) return std::string(address);
  const std::size_t scheme = address.find("://");
  const std::size_t start = scheme < at ? scheme + 3 : 0;
  return StrCat(address.substr(0, start), kMask, address.substr(at));
}

std::string MaskOption(std::string_view option, std::string_view scheme, ViewOption view) {
  const std::size_t equals = option.find('=');
  if (option.empty()) return "";
  if (equals == std::string_view::npos) return std::string(kMask);
  const std::string_view name = option.substr(0, equals);
  switch (view(scheme, PercentDecode(name))) {
    case OptionView::kHidden: break;
    case OptionView::kShown: return std::string(option);
    case OptionView::kAddress:
      return StrCat(name, "=", WithoutLogin(PercentDecode(option.substr(equals + 1))));
  }
  return StrCat(name, "=", kMask);
}

// Where the fragment of a web address begins: a password may have a '#' of its own.
std::size_t FragmentStart(std::string_view address) {
  const std::size_t hash = address.find('#');
  if (hash == std::string_view::npos) return hash;
  return address.find('@', hash) == std::string_view::npos ? hash : std::string_view::npos;
}

// Where a value of libpq's keyword=value form ends: quotes and backslashes are its own.
std::size_t DsnValueEnd(std::string_view dsn, std::size_t at) {
  const bool quoted = at < dsn.size() && dsn[at] == '\'';
  if (quoted) ++at;
  for (; at < dsn.size(); ++at) {
    if (dsn[at] == '\\') {
      ++at;
    } else if (quoted ? dsn[at] == '\'' : std::isspace(static_cast<unsigned char>(dsn[at])) != 0) {
      return quoted ? at + 1 : at;
    }
  }
  return dsn.size();
}

bool IsDsnName(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// What is not known to be harmless is hidden: a misspelt password is one too.
bool IsShownInDsn(std::string_view name) {
  return std::find(kShownInDsn.begin(), kShownInDsn.end(), name) != kShownInDsn.end();
}

OptionView ViewOfDatabase(std::string_view scheme, std::string_view name) {
  const bool postgres = scheme == "postgres" || scheme == "postgresql";
  return postgres && IsShownInDsn(name) ? OptionView::kShown : OptionView::kHidden;
}

std::string MaskDsn(std::string_view dsn) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  std::string masked;
  std::size_t at = 0;
  while (at < dsn.size()) {
    const std::size_t equals = dsn.find('=', at);
    if (equals == std::string_view::npos) break;
    const std::size_t value = std::min(dsn.find_first_not_of(kSpace, equals + 1), dsn.size());
    const std::size_t end = DsnValueEnd(dsn, value);
    const std::string name = Lower(Trim(dsn.substr(at, equals - at)));
    // Otherwise what stands before it is the rest of a value without its quotes.
    masked += IsDsnName(name) ? dsn.substr(at, value - at) : " ";
    masked += IsShownInDsn(name) ? dsn.substr(value, end - value) : kMask;
    at = end;
  }
  const std::string_view rest = dsn.substr(at);
  const bool hide = at > 0 && !Trim(rest).empty();
  return masked + (hide ? StrCat(" ", kMask) : std::string(rest));
}

}  // namespace

std::string MaskAddress(std::string_view address, ViewOption view) {
  const std::string_view scheme = address.substr(0, address.find(':'));
  if (scheme.size() == address.size() || scheme.find_first_of(" =") != std::string_view::npos) {
    return CleanError(MaskDsn(address), kBytesMax);
  }
  const std::string kind = Lower(scheme);
  const bool web = kind == "http" || kind == "https";
  const std::size_t fragment = web ? FragmentStart(address) : std::string_view::npos;
  const std::string_view whole = address.substr(0, fragment);
  const std::size_t question = OptionsStart(whole, web);
  std::string masked = MaskHead(whole.substr(0, question), web);
  if (web) masked = MaskPath(masked);
  if (question != std::string_view::npos) {
    std::vector<std::string> options = Split(whole.substr(question + 1), '&');
    for (std::string& option : options) option = MaskOption(option, kind, view);
    masked += StrCat("?", Join(options, "&"));
  }
  if (fragment != std::string_view::npos) masked += StrCat("#", kMask);
  return Truncate(masked, kBytesMax);
}

std::string MaskAddress(std::string_view address) { return MaskAddress(address, ViewOfDatabase); }

}  // namespace outbox::base
