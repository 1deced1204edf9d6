#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/text.h"
#include "sink/http/options.h"
#include "tests/support/certificates.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

Result<HttpOptions> Read(const std::string& text) {
  OUTBOX_ASSIGN_OR_RETURN(const SinkUri uri, SinkUri::Parse(text));
  return ReadHttpOptions(uri);
}

TEST(HttpOptions, TakesOnlyItsOwnParametersOutOfTheUrl) {
  const auto url = [](const std::string& text) {
    const auto options = Read(text);
    EXPECT_OK(options);
    return options.ok() ? options->url : "";
  };
  EXPECT_EQ(url("https://h.example/x?a=1&outbox.body=plain&b=%2B+c%20d&wait&sig=YQ=="),
            "https://h.example/x?a=1&b=%2B+c%20d&wait&sig=YQ==");
  EXPECT_EQ(url("https://h.example/x?outbox.body=plain"), "https://h.example/x");
  EXPECT_EQ(url("https://h.example/x?outbox=1&body=2"), "https://h.example/x?outbox=1&body=2");
  EXPECT_EQ(url("https://h.example/x?%6futbox.body=plain&a"), "https://h.example/x?a");
  EXPECT_EQ(url("HTTP://h.example:8080/p%20q"), "http://h.example:8080/p%20q");
}

TEST(HttpOptions, TakesUserAndPasswordOutOfTheUrl) {
  const auto options = Read("https://us%40er:hunter2@[2606:4700::1]:8443/x#fragment");
  ASSERT_OK(options);
  EXPECT_EQ(options->url, "https://[2606:4700::1]:8443/x");
  EXPECT_EQ(options->user, "us@er");
  EXPECT_EQ(options->password, "hunter2");
  EXPECT_EQ(options->endpoint.ToString(), "[2606:4700::1]:8443");
  EXPECT_EQ(Read("https://h.example")->endpoint.ToString(), "h.example:443");
  EXPECT_EQ(Read("http://h.example")->endpoint.ToString(), "h.example:80");
}

TEST(HttpOptions, ReadsThemAll) {
  setenv("OUTBOX_TEST_SECRET", std::string(kSecret).c_str(), 1);
  const testing::Certificates files;
  const auto options = Read(base::StrCat(
      "https://h/x?outbox.body=structured&outbox.batch=true&outbox.batch_max=7&outbox.concurrency=3"
      "&outbox.timeout=2s&outbox.connect_timeout=300ms&outbox.http2=false&outbox.tls_verify=false"
      "&outbox.allow=10.0.0.0/8&outbox.proxy=http://proxy:3128"
      "&outbox.header.X-Shop=north%20side&outbox.bearer=t0ken"
      "&outbox.secret_env=OUTBOX_TEST_SECRET&outbox.secret2=",
      kSecret, "&outbox.tls_ca=", files.File("ca.pem"),
      "&outbox.tls_cert=", files.File("client.pem"), "&outbox.tls_key=", files.File("client.key")));
  ASSERT_OK(options);
  EXPECT_TRUE(options->batch);
  EXPECT_EQ(options->batch_max, 7u);
  EXPECT_EQ(options->concurrency, 3u);
  EXPECT_EQ(options->timeout, std::chrono::seconds(2));
  EXPECT_EQ(options->connect_timeout, std::chrono::milliseconds(300));
  EXPECT_FALSE(options->http2);
  EXPECT_FALSE(options->tls.verify);
  EXPECT_EQ(options->tls.ca_file, files.File("ca.pem"));
  EXPECT_EQ(options->tls.key_file, files.File("client.key"));
  EXPECT_EQ(options->proxy, "http://proxy:3128");
  EXPECT_EQ(options->bearer, "t0ken");
  EXPECT_EQ(options->headers, (Headers{{"X-Shop", "north side"}}));
  EXPECT_EQ(options->secrets.size(), 2u);
  EXPECT_TRUE(options->guard.Allows(std::string_view("10.1.2.3")));
  EXPECT_FALSE(options->guard.Allows(std::string_view("127.0.0.1")));
}

TEST(HttpOptions, VerifiesAndGuardsByDefault) {
  const auto options = Read("https://h/");
  ASSERT_OK(options);
  EXPECT_TRUE(options->tls.verify);
  EXPECT_TRUE(options->http2);
  EXPECT_EQ(options->concurrency, 64u);
  EXPECT_FALSE(options->guard.Allows(std::string_view("10.1.2.3")));
}

TEST(HttpOptions, RefusesWhatItCanNotDo) {
  for (const char* text : {"http:",
                           "http:x",
                           "http:///x",
                           "https://h:99999/",
                           "https://ho st/",
                           "https://h/?outbox.batch",
                           "https://h/?outbox.bdoy=plain",
                           "https://h/?outbox.body=cloudy",
                           "https://h/?outbox.batch=true&outbox.body=plain",
                           "https://h/?outbox.concurrency=0",
                           "https://h/?outbox.verdicts=404",
                           "https://h/?outbox.verdicts=404:",
                           "https://h/?outbox.verdicts=404:dead",
                           "https://h/?outbox.verdicts=:retry",
                           "https://h/?outbox.verdicts=4xx:retry",
                           "https://h/?outbox.verdicts=200:retry",
                           "https://h/?outbox.verdicts=600:retry",
                           "https://h/?outbox.verdicts=404:retry,",
                           "https://h/?outbox.verdicts=404:retry,404:down",
                           "https://user:@h/",
                           "https://:@h/",
                           "https://h/?outbox.secret=short",
                           "https://h/?outbox.secret2=whsec_AAAA",
                           "https://h/?outbox.allow=10.0.0.0/99",
                           "https://h/?outbox.tls_key=k.pem",
                           "https://h/?outbox.header.Host=x",
                           "https://h/?outbox.header.content-LENGTH=1",
                           "https://h/?outbox.header.Transfer-Encoding=chunked",
                           "https://h/?outbox.header.Webhook-Id=1",
                           "https://h/?outbox.header.outbox-id=1",
                           "https://h/?outbox.header.ce-id=1",
                           "https://h/?outbox.header.X=a%0d%0aY:b",
                           "https://h/?outbox.header.X%3aY=a",
                           "https://h/?outbox.header.=a",
                           "https://h/?outbox.header._env=HOME",
                           "https://h/?outbox.header.X_env=OUTBOX_TEST_NO_SUCH_VARIABLE",
                           "https://h/?outbox.header.X_file=/nowhere/key",
                           "https://h/?outbox.header.X=a&outbox.header.X_env=HOME",
                           "https://h/?outbox.header.Host_env=HOME",
                           "https://h/?outbox.header.Authorization=a&outbox.bearer=b",
                           "https://u:p@h/?outbox.header.authorization=a",
                           "https://h/?outbox.proxy_env=OUTBOX_TEST_NO_SUCH_VARIABLE",
                           "https://h/?outbox.bearer=a%0ab",
                           "https://u:p@h/?outbox.bearer=a",
                           "https://u:p@h/?outbox.password=q"}) {
    EXPECT_THAT(Read(text), HasCode(Code::kInvalidArgument)) << text;
  }
}

TEST(HttpOptions, ReadsVerdicts) {
  const auto options = Read("https://h/?outbox.verdicts=404:message,403:retry,500:down");
  ASSERT_OK(options);
  EXPECT_EQ(options->verdicts, (std::map<long, HttpVerdict>{{403, HttpVerdict::kRetry},
                                                            {404, HttpVerdict::kMessage},
                                                            {500, HttpVerdict::kDown}}));
  const Status wrong = Read("https://h/?outbox.verdicts=404:dead,twelve:retry").error();
  EXPECT_THAT(wrong.message(), HasSubstr("outbox.verdicts: '404:dead' does not end with one of "
                                         "message, retry, down"));
  EXPECT_THAT(wrong.message(), HasSubstr("'twelve:retry' does not begin with a status between 300 "
                                         "and 599"));
  EXPECT_THAT(wrong.hint(), HasSubstr("outbox.verdicts=404:message,422:retry"));
}

TEST(HttpOptions, TheBodyHasTheWordsOfOtherSinks) {
  using message::BodyFormat;
  const auto body = [](const std::string& word) {
    return Read("https://h/?outbox.body=" + word).value().body;
  };
  EXPECT_EQ(body("plain").format, BodyFormat::kPlain);
  EXPECT_EQ(body("envelope").format, BodyFormat::kEnvelope);
  EXPECT_EQ(body("cloudevents").format, BodyFormat::kCloudEvents);
  EXPECT_EQ(body("structured").format, BodyFormat::kCloudEvents);
  EXPECT_FALSE(body("plain").binary);
  EXPECT_TRUE(body("binary").binary);
  EXPECT_THAT(Read("https://h/?outbox.body=cloudy").error().message(),
              HasSubstr("outbox.body: 'cloudy' is not one of plain, envelope, cloudevents, binary, "
                        "structured"));
}

TEST(HttpOptions, AnEmptyPasswordNamesItsRemedy) {
  const Status status = Read("https://user:@h/").error();
  EXPECT_THAT(status.message(), HasSubstr("the password in the address is empty"));
  EXPECT_THAT(status.hint(), HasSubstr("outbox.password_env"));
  EXPECT_OK(Read("https://user@h/"));
}

TEST(HttpOptions, ReadsHeadersAndTheProxyFromTheEnvironmentAndFromFiles) {
  setenv("OUTBOX_TEST_KEY", "k3y-k3y", 1);
  setenv("OUTBOX_TEST_PROXY", "http://u:pr0xy@proxy:3128", 1);
  const outbox::testing::TempFolder folder;
  std::ofstream(folder.File("token")) << "t0k3n\n";
  const auto options =
      Read("https://h/?outbox.header.X-Api-Key_env=OUTBOX_TEST_KEY&outbox.header.X-Token_file=" +
           folder.File("token") + "&outbox.header.X-Shop=north&outbox.proxy_env=OUTBOX_TEST_PROXY");
  ASSERT_OK(options);
  EXPECT_EQ(options->headers,
            (Headers{{"X-Api-Key", "k3y-k3y"}, {"X-Token", "t0k3n"}, {"X-Shop", "north"}}));
  EXPECT_EQ(options->proxy, "http://u:pr0xy@proxy:3128");
  EXPECT_THAT(options->hidden, ::testing::IsSupersetOf({"k3y-k3y", "t0k3n", "pr0xy"}));
  EXPECT_EQ(Read("https://h/?outbox.header.authorization=Token%20x")->headers.size(), 1u);
}

TEST(HttpOptions, HidesWhateverMayBeACredential) {
  const auto options = Read(
      "https://us:hunter2@h/services/T0/XSLACKSECRETX?v=1&sig=a%2Bbcdef"
      "&outbox.header.X-Api-Key=k3y-k3y&outbox.header.Authentication=Token%20t0k3n"
      "&outbox.proxy=http://u:pr0xy@p:1");
  ASSERT_OK(options);
  for (const char* secret : {"hunter2", "XSLACKSECRETX", "a%2Bbcdef", "a+bcdef", "k3y-k3y",
                             "Token t0k3n", "t0k3n", "pr0xy"}) {
    EXPECT_THAT(options->hidden, ::testing::Contains(secret));
  }
  for (const char* word : {"services", "T0", "1", ""}) {
    EXPECT_THAT(options->hidden, Not(::testing::Contains(word)));
  }
}

TEST(HttpOptions, NamesAllProblemsAndNoSecret) {
  const Status status =
      Read("https://user:hunter2@h/?outbox.secret=hunter2&outbox.bearer=hunter2&outbox.http2=maybe")
          .error();
  EXPECT_THAT(status.message(), HasSubstr("outbox.secret: "));
  EXPECT_THAT(status.message(), HasSubstr("outbox.bearer: "));
  EXPECT_THAT(status.message(), HasSubstr("outbox.http2: "));
  EXPECT_THAT(status.ToString() + status.hint(), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace outbox::sink
