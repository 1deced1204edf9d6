#include "sink/http/options.h"

#include <curl/curl.h>

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
constexpr std::size_t kConcurrencyMax = 1000;
constexpr std::size_t kBatchMax = 1000;
constexpr milliseconds kWaitMin{10};
constexpr milliseconds kWaitMax = std::chrono::minutes(10);

using UrlHandle = base::UniqueHandle<CURLU, curl_url_cleanup>;
using CurlText = base::UniqueHandle<char, curl_free>;

std::string Part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return "";
  const CurlText owned(text);
  return owned.get();
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
  options.user = Part(url.get(), CURLUPART_USER, CURLU_URLDECODE);
  options.password = Part(url.get(), CURLUPART_PASSWORD, CURLU_URLDECODE);
  for (const CURLUPart part :
       {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT}) {
    curl_url_set(url.get(), part, nullptr, 0);
  }
  std::string host = Part(url.get(), CURLUPART_HOST);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  options.endpoint = {.host = std::move(host),
                      .port = std::atoi(  // curl has checked it
                          Part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT).c_str())};
  options.url = Part(url.get(), CURLUPART_URL);
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

void ReadHeaders(OptionReader& reader, HttpOptions& options) {
  for (const auto& [name, value] : reader.Prefixed("outbox.header.")) {
    const std::string option = StrCat("outbox.header.", name);
    if (!IsHeaderName(name)) {
      reader.AddProblem("outbox.header", "a name is not that of a header");
    } else if (IsReservedHeader(name)) {
      reader.AddProblem(option, "is set by the sink itself");
    } else if (!IsHeaderValue(value)) {
      reader.AddProblem(option, "has characters that a header can not carry");
    }
    options.headers.emplace_back(name, value);
  }
}

void ReadBody(OptionReader& reader, HttpOptions& options) {
  options.body = reader.Choice("outbox.body", options.body,
                               {{"structured", HttpBody::kStructured},
                                {"binary", HttpBody::kBinary},
                                {"plain", HttpBody::kPlain},
                                {"envelope", HttpBody::kEnvelope}});
  options.batch = reader.Flag("outbox.batch", false);
  options.batch_max = reader.Number("outbox.batch_max", options.batch_max, 1, kBatchMax);
  if (options.batch && options.body != HttpBody::kStructured) {
    reader.AddProblem("outbox.batch", "goes only with body=structured");
  }
}

void ReadConnection(OptionReader& reader, HttpOptions& options) {
  options.concurrency =
      reader.Number("outbox.concurrency", options.concurrency, 1, kConcurrencyMax);
  options.timeout = reader.Duration("outbox.timeout", options.timeout, kWaitMin, kWaitMax);
  options.connect_timeout =
      reader.Duration("outbox.connect_timeout", options.connect_timeout, kWaitMin, kWaitMax);
  options.http2 = reader.Flag("outbox.http2", options.http2);
  options.tls_verify = reader.Flag("outbox.tls_verify", options.tls_verify);
  options.tls_ca = reader.Text("outbox.tls_ca", "");
  options.tls_cert = reader.Text("outbox.tls_cert", "");
  options.tls_key = reader.Text("outbox.tls_key", "");
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    reader.AddProblem("outbox.tls_cert", "goes only with outbox.tls_key");
  }
  options.proxy = reader.Text("outbox.proxy", "");
  const UrlHandle proxy(curl_url());
  if (!options.proxy.empty() &&
      curl_url_set(proxy.get(), CURLUPART_URL, options.proxy.c_str(), 0) != CURLUE_OK) {
    reader.AddProblem("outbox.proxy", "is not a URL");
  }
  if (const std::string password = Part(proxy.get(), CURLUPART_PASSWORD, CURLU_URLDECODE);
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
  for (const std::string& parameter : base::Split(uri.query, '&')) {
    if (IsOurs(parameter) && parameter.find('=') == std::string::npos) {
      reader.AddProblem("", "an option has no value");
    }
  }
  OUTBOX_RETURN_IF_ERROR(reader.Finish());
  return options;
}

}  // namespace outbox::sink
