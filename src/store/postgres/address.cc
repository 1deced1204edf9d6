#include "store/postgres/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "store/postgres/handles.h"

namespace outbox::store::postgres {
namespace {

// Binary parameters and payloads are UTF-8. A server that vanished without a word is given up
// after 30 s + 3 * 10 s while idle, and after 30 s with data under way.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kDefaults{{
    {"fallback_application_name", "outboxd"},
    {"keepalives_idle", "30"},
    {"keepalives_interval", "10"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "30000"},
}};

// Longer than the name of any option of libpq.
constexpr std::size_t kOptionBytesMax = 63;

bool IsUrl(std::string_view text) {
  return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

bool IsSpace(char c) { return std::string_view(" \f\n\r\t\v").find(c) != std::string_view::npos; }

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::size_t SkipSpaces(std::string_view text, std::size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

constexpr std::string_view kPrepare = "prepare";

// `prepare=VALUE` stands in [begin, end), between characters that set it apart.
struct Setting {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string value;
};

// "?prepare=VALUE" or "&prepare=VALUE", up to the next "&".
std::optional<Setting> FindInUrl(std::string_view url) {
  for (std::size_t at = url.find(kPrepare); at != std::string_view::npos;
       at = url.find(kPrepare, at + 1)) {
    const std::size_t equals = at + kPrepare.size();
    if (at == 0 || (url[at - 1] != '?' && url[at - 1] != '&')) continue;
    if (equals >= url.size() || url[equals] != '=') continue;
    const std::size_t end = std::min(url.find('&', equals), url.size());
    return Setting{at, end, std::string(url.substr(equals + 1, end - equals - 1))};
  }
  return std::nullopt;
}

// "prepare = 'VALUE'" between spaces, with or without quotes.
std::optional<Setting> FindInDsn(std::string_view dsn) {
  for (std::size_t at = dsn.find(kPrepare); at != std::string_view::npos;
       at = dsn.find(kPrepare, at + 1)) {
    if (at > 0 && !IsSpace(dsn[at - 1])) continue;
    std::size_t end = SkipSpaces(dsn, at + kPrepare.size());
    if (end >= dsn.size() || dsn[end] != '=') continue;
    end = SkipSpaces(dsn, end + 1);
    if (end < dsn.size() && dsn[end] == '\'') ++end;
    const std::size_t value = end;
    while (end < dsn.size() && IsWordChar(dsn[end])) ++end;
    if (end == value) continue;
    std::string word(dsn.substr(value, end - value));
    if (end < dsn.size() && dsn[end] == '\'') ++end;
    if (end < dsn.size() && !IsSpace(dsn[end])) continue;
    return Setting{at, end, std::move(word)};
  }
  return std::nullopt;
}

// Removes `prepare=VALUE` from `text`; returns VALUE, or "" when it is not there.
std::string TakePrepare(std::string& text) {
  const auto found = IsUrl(text) ? FindInUrl(text) : FindInDsn(text);
  if (!found) return "";
  // "?prepare=off&x=1" becomes "?x=1", "?x=1&prepare=off" becomes "?x=1".
  const bool last = found->end == text.size();
  const std::size_t begin = last && found->begin > 0 ? found->begin - 1 : found->begin;
  text.erase(begin, found->end + (last ? 0 : 1) - begin);
  return found->value;
}

// Between "://" and the path of a URL.
std::string_view Authority(std::string_view url) {
  const std::size_t start = url.find("://") + 3;
  return url.substr(start, url.find('/', start) - start);
}

// What libpq would take for something else, and show.
Status CheckPassword(std::string_view url) {
  const std::string_view authority = Authority(url);
  const std::size_t at = authority.find('@');
  if (at != authority.rfind('@')) {
    return Status::Invalid("database address: there are two '@' before the host")
        .WithHint("write one that belongs to the password as %40");
  }
  if (at == std::string_view::npos && url.substr(0, url.find('?')).find('@') != std::string::npos) {
    return Status::Invalid("database address: there is a '/' before the '@'")
        .WithHint("write one that belongs to the password as %2F");
  }
  return Status::Ok();
}

// libpq finds out when it connects, and quotes it: what it takes for a port may be half a password.
Status CheckPorts(const std::string& ports) {
  for (const std::string& port : base::Split(ports, ',')) {
    if (port.empty()) continue;
    int number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error == std::errc() && end == port.data() + port.size() && number >= 1 &&
        number <= 65535) {
      continue;
    }
    return Status::Invalid("database address: port: not a number from 1 to 65535")
        .WithHint("in a URL, write / : @ and % of a password as %2F, %3A, %40 and %25");
  }
  return Status::Ok();
}

// The option that libpq says it does not know; empty when it says something else, or the name is
// not one that an option could have.
std::string UnknownOption(std::string_view reason) {
  for (const std::string_view text :
       {"invalid connection option \"", "invalid URI query parameter: \""}) {
    const std::size_t at = reason.find(text);
    if (at == std::string_view::npos) continue;
    const std::string_view option = reason.substr(at + text.size());
    const std::size_t end = option.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
    if (end == 0 || end > kOptionBytesMax || option[end] != '"') continue;
    return std::string(option.substr(0, end));
  }
  return "";
}

// Says in our own words what libpq does not like of `conninfo`: it quotes what it stumbled over,
// which may be a part of a password.
Status ExplainParse(std::string_view conninfo, const std::string& reason) {
  const bool url = IsUrl(conninfo);
  std::string what = url ? "it is not a valid URL" : "it is not a list of option=value";
  if (const std::string option = UnknownOption(reason); !option.empty()) {
    // Behind a password that ends too early there is the rest of it.
    const bool shown =
        url ? conninfo.find('@') == std::string_view::npos ||
                  Authority(conninfo).find('@') != std::string_view::npos
            : std::min(conninfo.find(option), conninfo.size()) < conninfo.find("password");
    what = shown ? base::StrCat("libpq knows no option '", option, "'")
                 : "there is an option that libpq does not know";
  } else if (reason.starts_with("invalid percent-encoded token")) {
    what = "a '%' is not followed by two hexadecimal digits";
  } else if (reason.starts_with("missing \"=\" after")) {
    what = "there is an option without a value";
  } else if (reason.starts_with("unterminated quoted string")) {
    what = "there is a quote that does not end";
  }
  return Status::Invalid(base::StrCat("database address: ", what))
      .WithHint(url ? "write postgres://user@host:port/database; / : @ and % of a password as %2F, "
                      "%3A, %40 and %25"
                    : "write \"host=… dbname=…\", a value with spaces in single quotes; or "
                      "postgres://user@host:port/database");
}

bool IsLoopback(const std::string& host) {
  if (host.empty() || host[0] == '/' || host[0] == '@' || host == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace

Result<Address> Address::Parse(const std::string& text) {
  std::string conninfo = text;
  const std::string prepare = TakePrepare(conninfo);
  if (!prepare.empty() && prepare != "auto" && prepare != "off") {
    return Status::Invalid(base::StrCat("database address: prepare is '",
                                        base::CleanError(prepare, 40), "', not auto or off"));
  }
  if (IsUrl(conninfo)) OUTBOX_RETURN_IF_ERROR(CheckPassword(conninfo));
  char* error = nullptr;
  const ConninfoHandle options(PQconninfoParse(conninfo.c_str(), &error));
  if (options == nullptr) {
    const std::string reason = error != nullptr ? error : "out of memory";
    PQfreemem(error);
    return ExplainParse(conninfo, reason);
  }
  Address address;
  address.prepare_ = prepare != "off";
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) address.parameters_.emplace_back(option->keyword, option->val);
  }
  OUTBOX_RETURN_IF_ERROR(CheckPorts(address.Given("port")));
  for (const auto& standard : kDefaults) {
    if (address.Given(standard.first).empty())
      address.parameters_.emplace_back(standard.first, standard.second);
  }
  std::erase_if(address.parameters_,
                [](const auto& parameter) { return parameter.first == "client_encoding"; });
  address.parameters_.emplace_back("client_encoding", "UTF8");
  return address;
}

std::string Address::Given(std::string_view keyword) const {
  for (const auto& [name, value] : parameters_) {
    if (name == keyword) return value;
  }
  return "";
}

std::string Address::Effective(const std::string& keyword) const {
  if (std::string given = Given(keyword); !given.empty()) return given;
  const ConninfoHandle defaults(PQconndefaults());
  for (const PQconninfoOption* option = defaults.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    if (option->keyword == keyword && option->val != nullptr) return option->val;
  }
  return "";
}

std::string Address::description() const {
  const std::string service = Effective("service");
  if (!service.empty() && Given("host").empty() && Given("hostaddr").empty()) {
    return base::StrCat("service ", service);
  }
  const std::string host = Effective("host").empty() ? Effective("hostaddr") : Effective("host");
  const std::string database =
      Effective("dbname").empty() ? Effective("user") : Effective("dbname");
  return base::StrCat(host.empty() ? "local socket" : host, ":", Effective("port"), "/", database);
}

bool Address::local() const {
  // A service file may name any server, also beside a host in the address: hostaddr counts first.
  const bool service = !Effective("service").empty();
  if (service && Given("hostaddr").empty()) return false;
  const std::string hosts =
      Effective("hostaddr").empty() ? Effective("host") : Effective("hostaddr");
  const auto all = base::Split(hosts, ',');
  return std::all_of(all.begin(), all.end(), IsLoopback);
}

}  // namespace outbox::store::postgres
