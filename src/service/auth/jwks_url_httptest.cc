// Keys behind a URL, against a web server inside the test.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "service/auth/auth_stage.h"
#include "service/auth/jwks.h"
#include "service/auth/jwks_url.h"
#include "tests/support/http_server.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::service {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HttpServer;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::WaitFor;

constexpr auto kLong = std::chrono::hours(1);

// An IPv4 address of this machine that is no loopback address.
std::string OtherAddress() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text,
              sizeof text);
    if (!IsLoopback(text)) found = text;
  }
  freeifaddrs(all);
  return found;
}

// A server of keys, whose answer the test sets.
class JwksUrlTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(StartServer({})); }
  bool StartServer(std::optional<testing::Certificate> certificate) {
    server_ = HttpServer::Start({.handler =
                                     [this](const HttpServer::Request&) {
                                       const std::lock_guard lock(mutex_);
                                       return reply_;
                                     },
                                 .certificate = std::move(certificate)});
    return server_ != nullptr;
  }
  void Serve(HttpServer::Reply reply) {
    const std::lock_guard lock(mutex_);
    reply_ = std::move(reply);
  }
  void ServeKeys(const std::vector<std::string>& keys) { Serve({.body = JwksOf(keys)}); }
  std::unique_ptr<JwksUrl> Open(JwksUrlOptions options = {}) {
    options.url = server_->url() + "/jwks.json";
    return std::make_unique<JwksUrl>(options, Collector(), testing::kPatience);
  }
  Notice Collector() {
    return [this](std::string_view text) {
      const std::lock_guard lock(mutex_);
      notices_.emplace_back(text);
    };
  }
  std::vector<std::string> Notices() {
    const std::lock_guard lock(mutex_);
    return notices_;
  }
  std::size_t Fetches() const { return server_->requests().size(); }
  static bool HasKid(KeySource& source, const std::string& kid) {
    const auto keys = source.Keys();
    return keys != nullptr && std::any_of(keys->begin(), keys->end(),
                                          [&](const auto& key) { return key.kid() == kid; });
  }

  std::mutex mutex_;
  HttpServer::Reply reply_;
  std::vector<std::string> notices_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(JwksUrlTest, KeysAreThereFromTheStartAndAreNotFetchedForEachToken) {
  ServeKeys({StageEc().Jwk("a")});
  const auto source = Open();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(HasKid(*source, "a"));
  EXPECT_EQ(Fetches(), 1U);
  EXPECT_EQ(server_->requests()[0].method, "GET");
  EXPECT_EQ(server_->requests()[0].target, "/jwks.json");
  EXPECT_THAT(Notices(), IsEmpty());
}

TEST_F(JwksUrlTest, KeysAreFetchedAgainAtTheInterval) {
  ServeKeys({StageEc().Jwk("old")});
  const auto source = Open({.interval = 50ms, .floor = 10ms});
  ServeKeys({StageEc().Jwk("new")});
  EXPECT_TRUE(WaitFor([&] { return HasKid(*source, "new"); }));
  EXPECT_FALSE(HasKid(*source, "old"));
}

TEST_F(JwksUrlTest, AnUnknownKidFindsTheNewKeyAfterARotation) {
  ServeKeys({StageEc().Jwk("old")});
  const auto source = Open({.interval = kLong, .floor = 10ms});
  ServeKeys({StageEc().Jwk("old"), StageRsa().Jwk("new")});
  EXPECT_TRUE(WaitFor([&] {
    if (!HasKid(*source, "new")) source->Refresh(testing::kPatience);
    return HasKid(*source, "new");
  }));
  EXPECT_GE(Fetches(), 2U);
  EXPECT_LE(Fetches(), 3U);
}

TEST_F(JwksUrlTest, AStormOfUnknownKidsMakesOneFetchPerFloor) {
  ServeKeys({StageEc().Jwk("a")});
  const auto source = Open({.interval = kLong, .floor = 400ms});
  const auto started = std::chrono::steady_clock::now();
  std::atomic<int> asked = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        source->Refresh(2s);
        ++asked;
      }
    });
  }
  EXPECT_TRUE(WaitFor([&] { return Fetches() >= 4 && asked > 100; }));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const auto took = std::chrono::steady_clock::now() - started;
  const auto allowed = static_cast<std::size_t>(took / 400ms) + 2;  // the first, and the one begun
  std::cout << "asked " << asked << " times, fetched " << Fetches() << ", allowed " << allowed
            << "\n";
  EXPECT_LE(Fetches(), allowed);
}

TEST_F(JwksUrlTest, TheFloorOfTheProductIsTenSeconds) {
  EXPECT_EQ(JwksUrlOptions{}.floor, 10s);
  ServeKeys({StageEc().Jwk("a")});
  AuthStage stage;
  stage.options.secrets.clear();
  stage.options.public_keys.clear();
  stage.options.jwks_url = server_->url();
  const auto started = std::chrono::steady_clock::now();
  const auto authenticator = stage.Open();
  ASSERT_NE(authenticator, nullptr);
  for (int i = 0; i < 1000; ++i) {
    const ForgeJson header = EsHeader().With("kid", base::StrCat("\"made-up-", i, "\""));
    EXPECT_THAT(authenticator->Check(KeyToken(StageEc(), header.Text(), GoodClaims().Text())),
                HasCode(Code::kPermission));
  }
  if (std::chrono::steady_clock::now() - started < 9s) {
    EXPECT_EQ(Fetches(), 1U);
  }
  EXPECT_OK(authenticator->Check(
      KeyToken(StageEc(), EsHeader().With("kid", R"("a")").Text(), GoodClaims().Text())));
}

TEST_F(JwksUrlTest, OldKeysStayInUseWhileTheServerIsDown) {
  ServeKeys({StageEc().Jwk("a")});
  const auto source = Open({.interval = 20ms, .floor = 10ms});
  server_->Stop();
  EXPECT_TRUE(WaitFor([&] { return !Notices().empty(); }));
  EXPECT_TRUE(HasKid(*source, "a"));
  EXPECT_THAT(Notices()[0], HasSubstr("keys of 127.0.0.1 can not be fetched"));
  ServeKeys({StageEc().Jwk("b")});
  ASSERT_TRUE(server_->StartAgain());
  EXPECT_TRUE(WaitFor([&] { return HasKid(*source, "b"); }));
}

TEST_F(JwksUrlTest, ASetWithoutAKeyThatCanBeUsedChangesNothing) {
  ServeKeys({StageEc().Jwk("a")});
  const auto source = Open({.interval = 20ms, .floor = 10ms});
  ServeKeys({});
  EXPECT_TRUE(WaitFor([&] { return !Notices().empty(); }));
  EXPECT_THAT(Notices()[0], HasSubstr("has no key that can be used here; those known stay in use"));
  EXPECT_TRUE(HasKid(*source, "a"));
  ServeKeys({StageEc().Jwk("b")});
  EXPECT_TRUE(WaitFor([&] { return HasKid(*source, "b"); }));
}

TEST_F(JwksUrlTest, AnswersThatAreNoKeySetChangeNothing) {
  const std::vector<std::pair<HttpServer::Reply, std::string>> bad{
      {{.status = 500, .body = JwksOf({})}, "answered 500"},
      {{.status = 302, .headers = {{"location", "http://127.0.0.1:1/"}}}, "answered 302"},
      {{.status = 204}, "answered 204"},
      {{.body = "<html>sign in</html>"}, "the answer is not JSON"},
      {{.body = "{}"}, "the answer has no array"},
      {{.body = std::string(kJwksBytesMax + 1, ' ')}, "more than 262144 bytes"},
      {{.body = JwksOf({}), .ending = HttpServer::Ending::kCutOff}, "can not be fetched"},
      {{.ending = HttpServer::Ending::kReset}, "can not be fetched"},
  };
  ServeKeys({StageEc().Jwk("a")});
  const auto source = Open({.interval = kLong, .floor = 1ms, .timeout = testing::kPatience});
  for (const auto& [reply, why] : bad) {
    const std::size_t before = Notices().size();
    Serve(reply);
    EXPECT_TRUE(WaitFor([&] {
      source->Refresh(1s);
      return Notices().size() > before;
    })) << why;
    EXPECT_THAT(Notices().back(), HasSubstr(why));
    EXPECT_TRUE(HasKid(*source, "a")) << why;
    // Told once, until it is well again.
    ServeKeys({StageEc().Jwk("a")});
    const std::size_t fetches = Fetches();
    EXPECT_TRUE(WaitFor([&] {
      source->Refresh(1s);
      return Fetches() >= fetches + 2;
    }));
  }
}

TEST_F(JwksUrlTest, SlowAnswersHoldNobodyUpForLong) {
  ServeKeys({StageEc().Jwk("a")});
  const auto source = Open({.interval = kLong, .floor = 1ms, .timeout = kLong, .waiters_max = 2});
  Serve({.ending = HttpServer::Ending::kHang});
  ASSERT_TRUE(WaitFor([&] {
    source->Refresh(10ms);
    return Fetches() == 2;
  }));
  // Known keys are there at once, and only two wait for the others.
  EXPECT_TRUE(HasKid(*source, "a"));
  std::atomic<int> returned = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      source->Refresh(testing::kPatience);
      ++returned;
    });
  }
  // Long before the two are tired of waiting.
  EXPECT_TRUE(WaitFor([&] { return returned >= 4; }, 30s)) << returned;
  EXPECT_EQ(returned, 4);
  EXPECT_EQ(Fetches(), 2U);
  // They wait for the fetch and no longer.
  server_->Stop();
  EXPECT_TRUE(WaitFor([&] { return returned == 6; }, 20s)) << returned;
  for (std::thread& thread : threads) thread.join();
  // The next hangs too. The destructor ends it, or this test would not end.
  ASSERT_TRUE(server_->StartAgain());
  EXPECT_TRUE(WaitFor([&] { return Fetches() == 3; }));
}

TEST_F(JwksUrlTest, ASlowAnswerTimesOut) {
  Serve({.body = JwksOf({StageEc().Jwk("a")}), .per_byte = 100ms});
  const auto source = Open({.interval = kLong, .floor = kLong, .timeout = 200ms});
  EXPECT_EQ(source->Keys(), nullptr);
  EXPECT_THAT(Notices(), ElementsAre(HasSubstr("Timeout was reached")));
}

TEST_F(JwksUrlTest, UntilTheFirstAnswerATokenIsNotRefused) {
  Serve({.status = 503});
  AuthStage stage;
  stage.options.public_keys.clear();
  stage.options.jwks_url = server_->url();
  const auto authenticator = stage.Open(Collector());
  ASSERT_NE(authenticator, nullptr);
  EXPECT_FALSE(authenticator->ready());
  const std::string token = KeyToken(StageEc(), EsHeader().Text(), GoodClaims().Text());
  const auto unknown = authenticator->Check(token, 0ms);
  EXPECT_THAT(unknown, HasCode(Code::kUnavailable));
  EXPECT_EQ(unknown.error().disposition(), Disposition::kRetry);
  // What needs no key of the URL works.
  EXPECT_OK(authenticator->Check(HsToken(kStageSecret, HsHeader().Text(), GoodClaims().Text())));
  EXPECT_TRUE(WaitFor([&] { return !Notices().empty(); }));
  EXPECT_THAT(Notices(), ElementsAre(HasSubstr("answered 503")));
}

TEST_F(JwksUrlTest, SecretsAndPrivateKeysOfAUrlAreIgnored) {
  const std::string secret =
      base::StrCat(R"({"kty":"oct","kid":"hs","k":")", Base64UrlEncode(kStageSecret), R"("})");
  const std::string leaked =
      base::StrCat("{", StageEc().JwkMembers(), R"(,"kid":"es","d":"AAAA"})");
  ServeKeys({secret, leaked, StageRsa().Jwk("rs")});
  AuthStage stage;
  stage.options.secrets.clear();
  stage.options.public_keys.clear();
  stage.options.jwks_url = server_->url();
  const auto authenticator = stage.Open(Collector());
  ASSERT_NE(authenticator, nullptr);
  const std::string claims = GoodClaims().Text();
  EXPECT_FALSE(authenticator->Check(HsToken(kStageSecret, HsHeader().Text(), claims)).ok());
  EXPECT_FALSE(authenticator->Check(KeyToken(StageEc(), EsHeader().Text(), claims)).ok());
  EXPECT_OK(authenticator->Check(KeyToken(StageRsa(), RsHeader().Text(), claims)));
  EXPECT_THAT(Notices(), ElementsAre(HasSubstr("left out key 1 (kid hs)")));
  EXPECT_THAT(Notices()[0], Not(HasSubstr(Base64UrlEncode(kStageSecret))));
}

TEST_F(JwksUrlTest, CertificatesAreChecked) {
  const testing::Certificate certificate = testing::MakeCertificate("IP:127.0.0.1");
  ASSERT_TRUE(StartServer(certificate));
  ServeKeys({StageEc().Jwk("a")});
  const AuthStage stage;
  const std::string url = base::StrCat("https://127.0.0.1:", server_->port(), "/");
  const JwksUrl trusted({.url = url, .ca = stage.Write("ca.pem", certificate.certificate)},
                        Collector(), testing::kPatience);
  EXPECT_TRUE(HasKid(const_cast<JwksUrl&>(trusted), "a"));
  JwksUrl untrusted({.url = url}, Collector(), testing::kPatience);
  EXPECT_EQ(untrusted.Keys(), nullptr);
}

TEST_F(JwksUrlTest, PlainHttpGoesOnlyToThisMachineWhateverTheNameSays) {
  const std::string address = OtherAddress();
  if (address.empty()) GTEST_SKIP() << "this machine has only loopback addresses";
  server_ = HttpServer::Start(
      {.handler = [](const auto&) { return HttpServer::Reply{}; }, .address = address});
  ASSERT_NE(server_, nullptr);
  // Not what ParseJwksAddress takes, as if a name had led there.
  JwksUrl source({.url = base::StrCat("http://", address, ":", server_->port(), "/")}, Collector(),
                 testing::kPatience);
  EXPECT_EQ(source.Keys(), nullptr);
  EXPECT_THAT(Notices(), ElementsAre(HasSubstr("is not this machine; use https")));
  EXPECT_EQ(Fetches(), 0U);
}

TEST_F(JwksUrlTest, ManyThreadsCheckWhileKeysRotate) {
  const ForgeKey second = ForgeKey::Ec();
  ServeKeys({StageEc().Jwk("es"), second.Jwk("two")});
  const auto source = Open({.interval = 5ms, .floor = 1ms});
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const std::string signature = StageEc().Sign("text");
      while (!stop) {
        const auto keys = source->Keys();
        if (!(*keys)[0].Verify("text", signature)) ++wrong;
        source->Refresh(1ms);
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    ServeKeys(i % 2 == 0 ? std::vector{StageEc().Jwk("es")}
                         : std::vector{StageEc().Jwk("es"), second.Jwk("two")});
    const std::size_t fetches = Fetches();
    EXPECT_TRUE(WaitFor([&] { return Fetches() > fetches; }));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace outbox::service
