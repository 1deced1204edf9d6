#include "sink/http/options.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/handle.h"
#include "base/text.h"
#include "sink/http/request.h"
#include "sink/option_reader.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kOwnPrefix = "outbox.";
constexpr std::string_view kHeaderPrefix = "outbox.header.";
constexpr std::size_t kConcurrencyMax = 1000;
constexpr std::size_t kBatchMax = 1000;
constexpr std::size_t kBatchBytesMin = 1'000;
constexpr std::size_t kBatchBytesMax = 100'000'000;
// Shorter ones are words and numbers, and hiding them would make a text unreadable.
constexpr std::size_t kHiddenSegmentMin = 9;
constexpr std::size_t kHiddenValueMin = 4;
constexpr std::size_t kShownBytesMax = 40;
constexpr std::size_t kExcerptMax = 1024;
constexpr milliseconds kWaitMin{10};
constexpr milliseconds kWaitMax = std::chrono::minutes(10);

using UrlHandle = base::UniqueHandle<CURLU, curl_url_cleanup>;
using CurlText = base::UniqueHandle<char, curl_free>;

std::string UrlPart(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return "";
  const CurlText owned(text);
  return owned.get();
}

bool HasPart(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return false;
  curl_free(text);
  return true;
}

bool IsOurs(std::string_view parameter) {
  return PercentDecode(parameter.substr(0, parameter.find('='))).starts_with(kOwnPrefix);
}

// The address without the options that are ours.
std::string UrlText(const SinkUri& uri) {
  std::vector<std::string> kept;
  for (std::string& parameter : base::Split(uri.query, '&')) {
    if (!IsOurs(parameter)) kept.push_back(std::move(parameter));
  }
  const std::string query = base::Join(kept, "&");
  return StrCat(uri.scheme, ":", uri.target, query.empty() ? "" : "?", query);
}

// Our options alone.
SinkUri OwnOptions(const SinkUri& uri) {
  SinkUri own{.scheme = uri.scheme};
  for (const auto& option : uri.options) {
    if (option.first.starts_with(kOwnPrefix)) own.options.push_back(option);
  }
  return own;
}

void Hide(std::string text, std::size_t bytes_min, HttpOptions& options) {
  if (text.size() < bytes_min) return;
  std::string decoded = PercentDecode(text);
  if (decoded != text) options.hidden.push_back(std::move(decoded));
  options.hidden.push_back(std::move(text));
}

// Many a webhook's URL is itself the credential.
void HideUrl(CURLU* url, HttpOptions& options) {
  for (std::string& segment : base::Split(UrlPart(url, CURLUPART_PATH), '/')) {
    Hide(std::move(segment), kHiddenSegmentMin, options);
  }
  for (const std::string& parameter : base::Split(UrlPart(url, CURLUPART_QUERY), '&')) {
    Hide(parameter.substr(parameter.find('=') + 1), kHiddenValueMin, options);
  }
}

// "Bearer abc": the whole, and what a server may repeat of it.
void HideHeader(const std::string& value, HttpOptions& options) {
  Hide(value, kHiddenValueMin, options);
  for (std::string& word : base::Split(value, ' ')) {
    Hide(std::move(word), kHiddenValueMin, options);
  }
}

Status ReadUrl(const SinkUri& uri, HttpOptions& options) {
  const auto malformed = [&](std::string_view what) {
    return Status::Invalid(StrCat("the address of the ", uri.scheme, ": sink: ", what))
        .WithHint(StrCat("write it as ", uri.scheme, "://host:port/path?outbox.option=value"));
  };
  // curl forgives a third slash.
  if (!uri.target.starts_with("//") || uri.target.starts_with("///")) {
    return malformed("has no host");
  }
  const UrlHandle url(curl_url());
  const CURLUcode parsed = curl_url_set(url.get(), CURLUPART_URL, UrlText(uri).c_str(), 0);
  if (parsed != CURLUE_OK) return malformed(curl_url_strerror(parsed));
  options.user = UrlPart(url.get(), CURLUPART_USER, CURLU_URLDECODE);
  options.password = UrlPart(url.get(), CURLUPART_PASSWORD, CURLU_URLDECODE);
  if (options.password.empty() && HasPart(url.get(), CURLUPART_PASSWORD)) {
    return EmptyPassword(uri, "outbox.password");
  }
  for (const CURLUPart part :
       {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT}) {
    curl_url_set(url.get(), part, nullptr, 0);
  }
  std::string host = UrlPart(url.get(), CURLUPART_HOST);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  options.endpoint = {.host = std::move(host),
                      .port = std::atoi(  // curl has checked it
                          UrlPart(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT).c_str())};
  options.url = UrlPart(url.get(), CURLUPART_URL);
  HideUrl(url.get(), options);
  return options.url.empty() ? malformed("is not a URL") : Status::Ok();
}

void ReadSecrets(OptionReader& reader, HttpOptions& options) {
  for (const std::string_view name : {"outbox.secret", "outbox.secret2"}) {
    const std::string text = reader.Secret(name);
    if (text.empty()) continue;
    auto secret = WebhookSecret::Parse(text);
    if (!secret.ok()) {
      reader.AddProblem(name, secret.error().message());
      continue;
    }
    options.secrets.push_back(*std::move(secret));
    options.hidden.push_back(text);
  }
  options.bearer = reader.Secret("outbox.bearer");
  if (const std::string password = reader.Secret("outbox.password"); !password.empty()) {
    if (!options.password.empty()) {
      reader.AddProblem("outbox.password", "the URL has a password already");
    }
    options.password = password;
  }
  const bool basic = !options.user.empty() || !options.password.empty();
  if (basic && !options.bearer.empty()) {
    reader.AddProblem("outbox.bearer", "does not go together with a user and password");
  }
  if (!IsHeaderValue(options.bearer)) {
    reader.AddProblem("outbox.bearer", "has characters that a header can not carry");
  }
  if (!options.bearer.empty()) options.hidden.push_back(options.bearer);
  if (!options.password.empty()) {
    options.hidden.push_back(options.password);
    options.hidden.push_back(Base64(StrCat(options.user, ":", options.password)));
  }
}

// Those of outbox.header.NAME, NAME_env and NAME_file, each once.
std::vector<std::string> HeaderNames(OptionReader& reader) {
  std::vector<std::string> names;
  for (const auto& option : reader.Prefixed(kHeaderPrefix)) {
    std::string name = option.first;
    for (const std::string_view suffix : {"_env", "_file"}) {
      if (!name.ends_with(suffix)) continue;
      name.resize(name.size() - suffix.size());
      break;
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

void ReadHeaders(OptionReader& reader, HttpOptions& options) {
  const bool has_login =
      !options.bearer.empty() || !options.user.empty() || !options.password.empty();
  for (const std::string& name : HeaderNames(reader)) {
    const std::string option = StrCat(kHeaderPrefix, name);
    const std::string value = reader.Secret(option);
    if (!IsHeaderName(name)) {
      reader.AddProblem("outbox.header", "a name is not that of a header");
    } else if (IsReservedHeader(name)) {
      reader.AddProblem(option, "is set by the sink itself");
    } else if (has_login && IsHeader(name, "authorization")) {
      reader.AddProblem(option, "does not go together with outbox.bearer or a user and password");
    } else if (!IsHeaderValue(value)) {
      reader.AddProblem(option, "has characters that a header can not carry");
    }
    options.headers.emplace_back(name, value);
    HideHeader(value, options);
  }
}

constexpr std::array kVerdicts{
    std::pair<std::string_view, HttpVerdict>{"message", HttpVerdict::kMessage},
    std::pair<std::string_view, HttpVerdict>{"retry", HttpVerdict::kRetry},
    std::pair<std::string_view, HttpVerdict>{"down", HttpVerdict::kDown}};
constexpr long kStatusMin = 300;
constexpr long kStatusMax = 599;

// "404:message,422:retry"
void ReadVerdicts(OptionReader& reader, HttpOptions& options) {
  constexpr std::string_view kName = "outbox.verdicts";
  const std::string text = reader.Text(kName, "");
  if (text.empty()) return;
  for (const std::string& entry : base::Split(text, ',')) {
    const auto problem = [&](std::string_view what) {
      reader.AddProblem(kName, StrCat("'", base::CleanError(entry, kShownBytesMax), "' ", what),
                        "write it like outbox.verdicts=404:message,422:retry");
    };
    const std::size_t colon = std::min(entry.find(':'), entry.size());
    long status = 0;
    const char* const end = entry.data() + colon;
    const auto [stopped, error] = std::from_chars(entry.data(), end, status);
    if (error != std::errc() || stopped != end || status < kStatusMin || status > kStatusMax) {
      problem(StrCat("does not begin with a status between ", kStatusMin, " and ", kStatusMax));
      continue;
    }
    const std::string_view word = std::string_view(entry).substr(std::min(colon + 1, entry.size()));
    const auto known = std::find_if(kVerdicts.begin(), kVerdicts.end(),
                                    [&](const auto& verdict) { return verdict.first == word; });
    if (known == kVerdicts.end()) {
      problem("does not end with one of message, retry, down");
    } else if (!options.verdicts.emplace(status, known->second).second) {
      problem("names a status a second time");
    }
  }
}

void ReadBody(OptionReader& reader, HttpOptions& options) {
  options.body = ReadWebhookBody(reader);
  options.batch = reader.Flag("outbox.batch", false);
  options.batch_max = reader.Number("outbox.batch_max", options.batch_max, 1, kBatchMax);
  options.batch_bytes =
      reader.Number("outbox.batch_bytes", options.batch_bytes, kBatchBytesMin, kBatchBytesMax);
  if (options.batch && options.body.format != message::BodyFormat::kCloudEvents) {
    reader.AddProblem("outbox.batch", "goes only with outbox.body=cloudevents");
  }
}

void ReadConnection(OptionReader& reader, HttpOptions& options) {
  options.concurrency =
      reader.Number("outbox.concurrency", options.concurrency, 1, kConcurrencyMax);
  options.timeout = reader.Duration("outbox.timeout", options.timeout, kWaitMin, kWaitMax);
  options.connect_timeout =
      reader.Duration("outbox.connect_timeout", options.connect_timeout, kWaitMin, kWaitMax);
  options.http2 = reader.Flag("outbox.http2", options.http2);
  options.tls = ReadTlsOptions(reader, kOwnPrefix);
  options.proxy = reader.Secret("outbox.proxy");
  const UrlHandle proxy(curl_url());
  if (!options.proxy.empty() &&
      curl_url_set(proxy.get(), CURLUPART_URL, options.proxy.c_str(), 0) != CURLUE_OK) {
    reader.AddProblem("outbox.proxy", "is not a URL");
  }
  if (const std::string password = UrlPart(proxy.get(), CURLUPART_PASSWORD, CURLU_URLDECODE);
      !password.empty()) {
    options.hidden.push_back(password);
  }
  auto guard = AddressGuard::Parse(reader.Text("outbox.allow", ""));
  if (guard.ok()) {
    options.guard = *std::move(guard);
  } else {
    reader.AddProblem("outbox.allow", guard.error().message());
  }
}

}  // namespace

Result<HttpOptions> ReadHttpOptions(const SinkUri& uri) {
  HttpOptions options;
  OUTBOX_RETURN_IF_ERROR(ReadUrl(uri, options));
  const SinkUri own = OwnOptions(uri);
  OptionReader reader(own);
  ReadSecrets(reader, options);
  ReadHeaders(reader, options);
  ReadBody(reader, options);
  ReadConnection(reader, options);
  ReadVerdicts(reader, options);
  options.excerpt = reader.Number("outbox.excerpt", options.excerpt, 0, kExcerptMax);
  for (const std::string& parameter : base::Split(uri.query, '&')) {
    if (IsOurs(parameter) && parameter.find('=') == std::string::npos) {
      reader.AddProblem("", "an option has no value");
    }
  }
  OUTBOX_RETURN_IF_ERROR(reader.Finish());
  // One may contain another.
  std::sort(options.hidden.begin(), options.hidden.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return options;
}

}  // namespace outbox::sink
