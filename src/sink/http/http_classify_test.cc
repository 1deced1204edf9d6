#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "sink/http/classify_error.h"
#include "tests/support/echoes.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HttpOptions Options() {
  HttpOptions options;
  options.endpoint = {.host = "hooks.example", .port = 443};
  options.hidden = {"hunter2"};
  return options;
}

Status Answered(long status) {
  return ClassifyExchange({.status = status, .sent = true, .response = "why", .excerpt = "because"},
                          Options());
}

TEST(HttpClassify, OnlyA2xxIsSuccess) {
  for (const long status : {200, 201, 202, 204, 299}) EXPECT_OK(Answered(status));
  struct Case {
    long status;
    Disposition disposition;
    Code code;
  };
  for (const Case& c : {
           Case{301, Disposition::kSinkDown, Code::kRejected},
           Case{302, Disposition::kSinkDown, Code::kRejected},
           Case{304, Disposition::kSinkDown, Code::kRejected},
           Case{308, Disposition::kSinkDown, Code::kRejected},
           Case{400, Disposition::kPermanent, Code::kRejected},
           Case{401, Disposition::kSinkDown, Code::kPermission},
           Case{403, Disposition::kSinkDown, Code::kPermission},
           Case{404, Disposition::kSinkDown, Code::kNotFound},
           Case{405, Disposition::kSinkDown, Code::kRejected},
           Case{407, Disposition::kSinkDown, Code::kPermission},
           Case{408, Disposition::kRetry, Code::kUnavailable},
           Case{413, Disposition::kPermanent, Code::kRejected},
           Case{422, Disposition::kPermanent, Code::kRejected},
           Case{425, Disposition::kRetry, Code::kUnavailable},
           Case{429, Disposition::kRetry, Code::kUnavailable},
           Case{500, Disposition::kRetry, Code::kUnavailable},
           Case{503, Disposition::kRetry, Code::kUnavailable},
           Case{599, Disposition::kRetry, Code::kUnavailable},
       }) {
    const Status result = Answered(c.status);
    EXPECT_EQ(result.disposition(), c.disposition) << result.ToString();
    EXPECT_EQ(result.code(), c.code) << result.ToString();
    EXPECT_EQ(result.native(), "HTTP " + std::to_string(c.status));
    EXPECT_THAT(result.message(), HasSubstr("hooks.example:443 answered"));
    EXPECT_THAT(result.message(), HasSubstr(": because"));
    EXPECT_THAT(result.message(), Not(HasSubstr("why")));
  }
  EXPECT_THAT(Answered(301).message(), HasSubstr("redirects are not followed"));
  EXPECT_THAT(Answered(404).hint(), HasSubstr("outbox.verdicts=404:message"));
}

TEST(HttpClassify, AnEndpointThatIsGoneWantsAPauseAndIsNotQuoted) {
  const Status gone = Answered(410);
  EXPECT_EQ(gone.disposition(), Disposition::kSinkDown);
  EXPECT_TRUE(gone.wants_pause());
  EXPECT_FALSE(gone.retry_after());
  EXPECT_EQ(gone.ToString(),
            "hooks.example:443 answered 410: it is gone and wants no more messages (HTTP 410)");
  EXPECT_THAT(gone.hint(), HasSubstr("outboxd resume"));
  for (const long status : {301, 401, 404, 429, 503}) EXPECT_FALSE(Answered(status).wants_pause());
}

TEST(HttpClassify, AVerdictOfTheOptionsComesFirst) {
  struct Case {
    HttpVerdict verdict;
    Disposition disposition;
  };
  for (const Case& c : {Case{HttpVerdict::kMessage, Disposition::kPermanent},
                        Case{HttpVerdict::kRetry, Disposition::kRetry},
                        Case{HttpVerdict::kDown, Disposition::kSinkDown}}) {
    for (const long status : {301, 401, 404, 410, 422, 429, 500}) {
      HttpOptions options = Options();
      options.verdicts[status] = c.verdict;
      const Status result = ClassifyExchange({.status = status, .sent = true}, options);
      EXPECT_EQ(result.disposition(), c.disposition) << result.ToString();
      EXPECT_EQ(ClassifyExchange({.status = 400, .sent = true}, options).disposition(),
                Disposition::kPermanent);
    }
  }
}

TEST(HttpClassify, WithoutAnAnswerItMattersWhetherAnythingWasSent) {
  for (const CURLcode code :
       {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT,
        CURLE_OPERATION_TIMEDOUT, CURLE_SSL_CONNECT_ERROR, CURLE_SEND_ERROR, CURLE_RECV_ERROR,
        CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE}) {
    const Status down = ClassifyExchange({.code = code}, Options());
    EXPECT_EQ(down.disposition(), Disposition::kSinkDown) << down.ToString();
  }
  for (const CURLcode code : {CURLE_OPERATION_TIMEDOUT, CURLE_SEND_ERROR, CURLE_RECV_ERROR,
                              CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_WEIRD_SERVER_REPLY}) {
    const Status doubt = ClassifyExchange({.code = code, .sent = true}, Options());
    EXPECT_EQ(doubt.disposition(), Disposition::kInDoubt) << doubt.ToString();
  }
}

TEST(HttpClassify, AConfirmationMustBeWholeAndARefusalNeedNot) {
  const auto cut = [](long status) {
    return ClassifyExchange({.code = CURLE_PARTIAL_FILE, .status = status, .sent = true}, Options())
        .disposition();
  };
  EXPECT_EQ(cut(200), Disposition::kInDoubt);
  EXPECT_EQ(cut(100), Disposition::kInDoubt);
  EXPECT_EQ(cut(400), Disposition::kPermanent);
  EXPECT_EQ(cut(500), Disposition::kRetry);
  EXPECT_OK(ClassifyExchange(
      {.code = CURLE_WRITE_ERROR, .status = 200, .sent = true, .cut_off = true}, Options()));
}

TEST(HttpClassify, TlsFailuresSayWhatToDo) {
  const Status status = ClassifyExchange(
      {.code = CURLE_PEER_FAILED_VERIFICATION, .detail = "self-signed certificate"}, Options());
  EXPECT_EQ(status.code(), Code::kPermission);
  EXPECT_THAT(status.message(), HasSubstr("self-signed certificate"));
  EXPECT_THAT(status.hint(), HasSubstr("outbox.tls_ca"));
}

TEST(HttpClassify, ABlockedAddressIsASinkThatIsDownAndNotTold) {
  const Status status = ClassifyExchange(
      {.code = CURLE_COULDNT_CONNECT, .detail = "connect to 10.1.2.3", .blocked = true}, Options());
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
  EXPECT_EQ(status.message(), "hooks.example:443: address not allowed");
}

TEST(HttpClassify, SaysHowMuchOfWhatKindTheAnswerWasAndNothingOfIt) {
  const auto message = [](const std::string& type, std::size_t bytes, bool cut_off = false) {
    return ClassifyExchange({.status = 422,
                             .sent = true,
                             .cut_off = cut_off,
                             .content_type = type,
                             .body_bytes = bytes,
                             .response = "CANARY"},
                            Options())
        .message();
  };
  const std::string answered = "hooks.example:443 answered 422 Unprocessable Content";
  EXPECT_EQ(message("", 0), answered);
  EXPECT_EQ(message("text/html; charset=CANARY", 6), answered + "; 6 bytes of text/html");
  EXPECT_EQ(message("application/problem+json", 6),
            answered + "; 6 bytes of application/problem+json");
  EXPECT_EQ(message("CANARY", 6), answered + "; 6 bytes");
  EXPECT_EQ(message("text/plain", 6, true), answered + "; more than 6 bytes of text/plain");
  EXPECT_EQ(ClassifyExchange({.status = 599, .sent = true}, Options()).message(),
            "hooks.example:443 answered 599");
}

TEST(HttpClassify, AServerThatWantsTlsIsKnownByItsAnswer) {
  HttpOptions options = Options();
  options.url = "http://hooks.example:443/";
  const Status status = ClassifyExchange(
      {.status = 400, .sent = true, .response = "plain HTTP request was sent to HTTPS port"},
      options);
  EXPECT_THAT(status.hint(), HasSubstr("write https:"));
  EXPECT_THAT(status.message(), Not(HasSubstr("plain")));
}

TEST(HttpExcerpt, IsOnlyTakenWhenItIsAskedFor) {
  HttpOptions options = Options();
  EXPECT_EQ(TellableExcerpt("no such customer", {}, options), "");
  options.excerpt = 100;
  EXPECT_EQ(TellableExcerpt("no such customer", {}, options), "no such customer");
  EXPECT_EQ(TellableExcerpt("", {}, options), "");
}

TEST(HttpExcerpt, IsLeftOutWhenTheAnswerRepeatsAnythingInFlight) {
  HttpOptions options = Options();
  options.excerpt = 8;
  const std::string body = R"({"data":{"name":"CANARY of another tenant"}})";
  const std::vector<std::string_view> sent{"{}", body};
  EXPECT_EQ(TellableExcerpt("cannot x", sent, options), "cannot x");
  for (const outbox::testing::Echo& echo : outbox::testing::EchoesOf(body)) {
    EXPECT_EQ(TellableExcerpt("cannot read " + echo.text, sent, options),
              "[the answer repeats what was sent]")
        << echo.form << ", also behind what would be shown";
  }
  const std::string large(std::size_t{2} << 20, 'x');
  const std::vector<std::string_view> too_much{large};
  EXPECT_THAT(TellableExcerpt("cannot", too_much, options), HasSubstr("too much"));
}

TEST(HttpExcerpt, IsCleanOfSecretsAndControlCharacters) {
  HttpOptions options = Options();
  options.excerpt = 1000;
  const std::string excerpt =
      TellableExcerpt("\x1b[31mno\r\nhunter2\x00 " + std::string(5000, 'x'), {}, options);
  EXPECT_THAT(excerpt, Not(HasSubstr("hunter2")));
  EXPECT_LE(excerpt.size(), 1000u);
  for (const char c : excerpt) EXPECT_FALSE(c >= 0 && c < 0x20) << int{c};
  for (const char* secret : {"*", "**", "***", "****"}) {
    options.hidden = {secret};
    EXPECT_LT(TellableExcerpt("a ***** b", {}, options).size(), 100u) << secret;
  }
}

TEST(HttpClassify, PassesRetryAfterOn) {
  const auto answered = [](long status) {
    return ClassifyExchange(
        {.status = status, .sent = true, .retry_after = std::chrono::seconds(7)}, Options());
  };
  for (const long status : {408, 425, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(answered(status).retry_after(), std::chrono::seconds(7)) << status;
    EXPECT_THAT(answered(status).message(), HasSubstr("hooks.example:443 answered"));
  }
}

TEST(HttpClassify, WhoAsksToBeLeftAloneIsDownForAllMessages) {
  for (const long status : {429, 503}) {
    const Status asked = ClassifyExchange(
        {.status = status, .sent = true, .retry_after = std::chrono::seconds(7)}, Options());
    EXPECT_EQ(asked.disposition(), Disposition::kSinkDown);
    EXPECT_THAT(asked.message(), HasSubstr("left alone for 7s"));
    EXPECT_EQ(Answered(status).disposition(), Disposition::kRetry) << "it did not ask";
  }
}

}  // namespace
}  // namespace outbox::sink
