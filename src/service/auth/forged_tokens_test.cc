// Forged tokens, each beside the good one that it was made from: the good one is accepted, the
// other refused, for the reason expected.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "service/auth/auth_stage.h"
#include "tests/support/matchers.h"

namespace outbox::service {
namespace {

using base::StrCat;

constexpr const char* kBadAlgorithm = "the algorithm of the token is not accepted";
constexpr const char* kOtherAlgorithm = "the algorithm of the token is not the one of its key";
constexpr const char* kBadSignature = "the signature of the token is wrong";
constexpr const char* kUnknownKey = "the key of the token is unknown";
constexpr const char* kBadKid = "the kid of the token is malformed";
constexpr const char* kThreeParts = "the token does not have three parts";
constexpr const char* kCritical = "the token has critical extensions (crit)";
constexpr const char* kBadType = "the type of the token is not accepted";

struct Forgery {
  std::string name;
  std::string good;
  std::string forged;
  std::string reason;
};

std::string Hs(const ForgeJson& header, const ForgeJson& claims) {
  return HsToken(kStageSecret, header.Text(), claims.Text());
}
std::string Hs(const ForgeJson& header) { return Hs(header, GoodClaims()); }
std::string HsClaims(const ForgeJson& claims) { return Hs(HsHeader(), claims); }
std::string GoodHs() { return Hs(HsHeader(), GoodClaims()); }
std::string GoodRs() { return KeyToken(StageRsa(), RsHeader().Text(), GoodClaims().Text()); }
std::string GoodEs() { return KeyToken(StageEc(), EsHeader().Text(), GoodClaims().Text()); }
std::string Quoted(const std::string& text) { return base::JsonQuote(text); }

// The last character of the last part, with a bit set that stands for nothing.
std::string OtherLastCharacter(std::string token) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  token.back() = kDigits[kDigits.find(token.back()) ^ 1];
  return token;
}

class Forgeries {
 public:
  std::vector<Forgery> Make() {
    Algorithms();
    Signatures();
    Kids();
    Headers();
    Forms();
    Times();
    Audiences();
    Identities();
    Permissions();
    return std::move(all_);
  }

 private:
  void Add(std::string name, std::string good, std::string forged, std::string reason) {
    all_.push_back({std::move(name), std::move(good), std::move(forged), std::move(reason)});
  }
  void AddHeader(std::string name, const std::string& member, const std::string& json,
                 std::string reason) {
    Add(std::move(name), GoodHs(), Hs(HsHeader().With(member, json)), std::move(reason));
  }
  void AddClaim(std::string name, const std::string& claim, const std::string& json,
                std::string reason) {
    Add(std::move(name), GoodHs(), HsClaims(GoodClaims().With(claim, json)), std::move(reason));
  }

  void Algorithms() {
    for (const char* none : {"none", "None", "NONE", "nOnE", " none", "none\\u0000", ""}) {
      const std::string header = HsHeader().With("alg", StrCat("\"", none, "\"")).Text();
      const std::string text = SignedText(header, GoodClaims().Text());
      Add(StrCat("none '", none, "' with the signature of HS256"), GoodHs(),
          TokenOf(text, HmacSha256(kStageSecret, text)), kBadAlgorithm);
    }
    const std::string none = SignedText(R"({"alg":"none"})", GoodClaims().Text());
    Add("none without a signature", GoodHs(), none + ".", "the token is not signed");
    Add("none in two parts", GoodHs(), none, kThreeParts);
    Add("none with a signature of one byte", GoodHs(), none + ".AA", kBadAlgorithm);
    for (const char* other : {"hs256", "HS384", "HS512", "RS512", "PS256", "ES384", "EdDSA",
                              "HS256 ", "RSA-OAEP", "dir"}) {
      AddHeader(StrCat("alg ", other), "alg", Quoted(other), kBadAlgorithm);
    }
    AddHeader("alg missing", "alg", "", kBadAlgorithm);
    AddHeader("alg a number", "alg", "256", kBadAlgorithm);
    AddHeader("alg null", "alg", "null", kBadAlgorithm);
    AddHeader("alg a list", "alg", R"(["HS256"])", kBadAlgorithm);
    // The public key as a secret, in every spelling that one could have at hand.
    const std::string pem = StageRsa().PublicPem();
    std::string crlf, bare;
    for (const char c : pem) crlf += c == '\n' ? "\r\n" : std::string(1, c);
    for (const char c : pem) bare += c == '\n' ? "" : std::string(1, c);
    const std::string body = pem.substr(27, pem.find("-----END") - 27);
    const std::string modulus = *Base64UrlDecode(StageRsa().Number(OSSL_PKEY_PARAM_RSA_N, 0));
    for (const std::string& secret : {pem, pem.substr(0, pem.size() - 1), crlf, bare, body, modulus,
                                      StageRsa().Number(OSSL_PKEY_PARAM_RSA_N, 0)}) {
      const auto forge = [&](const ForgeJson& header) {
        return HsToken(secret, header.With("alg", R"("HS256")").Text(), GoodClaims().Text());
      };
      const std::string which = StrCat("(secret of ", secret.size(), " bytes)");
      Add("RS256 key as HS256 secret " + which, GoodRs(), forge(RsHeader()), kOtherAlgorithm);
      Add("the same without kid " + which, GoodRs(), forge(RsHeader().With("kid", "")),
          kBadSignature);
      Add("the same with the kid of the secret " + which, GoodRs(),
          forge(RsHeader().With("kid", R"("hs")")), kBadSignature);
    }
    Add("ES256 key as HS256 secret", GoodEs(),
        HsToken(StageEc().PublicPem(), EsHeader().With("alg", R"("HS256")").Text(),
                GoodClaims().Text()),
        kOtherAlgorithm);
    Add("RS256 token that says ES256", GoodRs(),
        KeyToken(StageRsa(), RsHeader().With("alg", R"("ES256")").Text(), GoodClaims().Text()),
        kOtherAlgorithm);
  }

  void Signatures() {
    const std::string hs = SignedText(HsHeader().Text(), GoodClaims().Text());
    const std::string rs = SignedText(RsHeader().Text(), GoodClaims().Text());
    const std::string es = SignedText(EsHeader().Text(), GoodClaims().Text());
    const ForgeKey rsa = ForgeKey::Rsa(), ec = ForgeKey::Ec();
    const std::string mac = HmacSha256(kStageSecret, hs);
    Add("empty signature", GoodHs(), hs + ".", "the token is not signed");
    Add("cut mac", GoodHs(), TokenOf(hs, mac.substr(0, 31)), kBadSignature);
    Add("mac of one byte", GoodHs(), TokenOf(hs, mac.substr(0, 1)), kBadSignature);
    Add("longer mac", GoodHs(), TokenOf(hs, mac + "x"), kBadSignature);
    Add("another secret", GoodHs(), TokenOf(hs, HmacSha256(std::string(40, 'x'), hs)),
        kBadSignature);
    Add("another RSA key", GoodRs(), TokenOf(rs, rsa.Sign(rs)), kBadSignature);
    Add("another EC key", GoodEs(), TokenOf(es, ec.Sign(es)), kBadSignature);
    Add("kids swapped", GoodRs(), TokenOf(rs, StageEc().Sign(rs)), kBadSignature);
    Add("cut RSA signature", GoodRs(), TokenOf(rs, StageRsa().Sign(rs).substr(1)), kBadSignature);
    Add("longer RSA signature", GoodRs(), TokenOf(rs, StrCat('\0', StageRsa().Sign(rs))),
        kBadSignature);
    Add("RSA signature 0", GoodRs(), TokenOf(rs, std::string(256, '\0')), kBadSignature);
    Add("r = s = 0", GoodEs(), TokenOf(es, std::string(64, '\0')), kBadSignature);
    Add("r = s = 1", GoodEs(),
        TokenOf(es, StrCat(std::string(31, '\0'), '\1', std::string(31, '\0'), '\1')),
        kBadSignature);
    Add("r = s = all ones", GoodEs(), TokenOf(es, std::string(64, '\xff')), kBadSignature);
    Add("ES256 in DER", GoodEs(), TokenOf(es, StageEc().SignRaw(es)), kBadSignature);
    Add("ES256 cut", GoodEs(), TokenOf(es, StageEc().Sign(es).substr(0, 63)), kBadSignature);
    Add("payload changed", GoodHs(),
        StrCat(SignedText(HsHeader().Text(), GoodClaims().With("sub", R"("eve")").Text()),
               GoodHs().substr(GoodHs().rfind('.'))),
        kBadSignature);
    Add("header changed", GoodHs(),
        StrCat(SignedText(HsHeader().With("typ", "").Text(), GoodClaims().Text()),
               GoodHs().substr(GoodHs().rfind('.'))),
        kBadSignature);
  }

  void Kids() {
    for (const char* kid :
         {"unknown", "HS", "hs ", "../../../../dev/null", "/dev/null", "file:///etc/passwd",
          "x' UNION SELECT 'aaaa", "*", "hs|rs", "$(id)", "https://evil.example/jwks"}) {
      AddHeader(StrCat("kid ", kid), "kid", Quoted(kid), kUnknownKey);
    }
    AddHeader("kid with a zero byte", "kid", R"("hs\u0000")", kBadKid);
    AddHeader("kid with a line break", "kid", R"("hs\n")", kBadKid);
    AddHeader("kid empty", "kid", R"("")", kBadKid);
    AddHeader("kid oversized", "kid", Quoted(std::string(257, 'k')), kBadKid);
    AddHeader("kid null", "kid", "null", "the kid of the token is not text");
    AddHeader("kid a number", "kid", "1", "the kid of the token is not text");
    AddHeader("kid an object", "kid", "{}", "the kid of the token is not text");
    AddHeader("kid of another key", "kid", R"("rs")", kOtherAlgorithm);
  }

  void Headers() {
    const ForgeKey evil = ForgeKey::Ec();
    const auto own_key = [](const char* name) {
      return StrCat("the token brings its own key (", name, ")");
    };
    Add("jwk, and signed with it", GoodEs(),
        KeyToken(evil, EsHeader().And("jwk", StrCat("{", evil.JwkMembers(), "}")).Text(),
                 GoodClaims().Text()),
        own_key("jwk"));
    AddHeader("jku", "jku", R"("https://evil.example/jwks.json")", own_key("jku"));
    AddHeader("x5u", "x5u", R"("https://evil.example/x.pem")", own_key("x5u"));
    AddHeader("x5c", "x5c", R"(["MIIB"])", own_key("x5c"));
    Add("crit", Hs(HsHeader().And("crit", "[]")), Hs(HsHeader().And("crit", R"(["exp"])")),
        kCritical);
    AddHeader("crit with b64", "crit", R"(["b64"])", kCritical);
    AddHeader("crit an object", "crit", "{}", kCritical);
    AddHeader("crit null", "crit", "null", kCritical);
    Add("b64 false", Hs(HsHeader().And("b64", "true")), Hs(HsHeader().And("b64", "false")),
        "the payload of the token is not encoded (b64)");
    AddHeader("b64 0", "b64", "0", "the payload of the token is not encoded (b64)");
    Add("typ JWE", Hs(HsHeader().With("typ", R"("at+jwt")")),
        Hs(HsHeader().With("typ", R"("JWE")")), kBadType);
    AddHeader("typ of a logout token", "typ", R"("logout+jwt")", kBadType);
    AddHeader("typ a number", "typ", "1", kBadType);
    AddHeader("nested", "cty", R"("JWT")", "the token holds another token (cty)");
    AddHeader("compressed", "zip", R"("DEF")", "the token is encrypted or compressed");
    Add("alg twice", GoodHs(), Hs(HsHeader().And("alg", R"("none")")),
        "the header of the token has a member twice");
    Add("kid twice", GoodHs(), Hs(HsHeader().And("k\\u0069d", R"("rs")")),
        "the header of the token has a member twice");
    AddHeader("header deeply nested", "x", std::string(1000, '[') + std::string(1000, ']'),
              "the header of the token is nested too deeply");
    Add("header an array", GoodHs(), HsToken(kStageSecret, R"(["HS256"])", GoodClaims().Text()),
        "the header of the token is not a JSON object");
    Add("header followed by more", GoodHs(),
        HsToken(kStageSecret, HsHeader().Text() + "{}", GoodClaims().Text()),
        "the header of the token is not JSON");
    Add("header ended by a zero byte", GoodHs(),
        HsToken(kStageSecret, StrCat(HsHeader().Text(), '\0', "x"), GoodClaims().Text()),
        "the header of the token is not JSON");
  }

  void Forms() {
    const std::string good = GoodHs();
    const std::size_t first = good.find('.'), second = good.rfind('.');
    Add("extra part", good, good + ".AAAA", kThreeParts);
    Add("two parts", good, good.substr(0, second), kThreeParts);
    Add("one part", good, good.substr(0, first), kThreeParts);
    Add("dots only", good, "..", "the token is not signed");
    Add("nothing", good, "", "the token is empty");
    Add("five parts, as if encrypted", good, StrCat(good, ".AAAA.AAAA"), kThreeParts);
    Add("padding", good, good + "=", "the signature of the token is not base64url");
    Add("space before", good, " " + good, "the header of the token is not base64url");
    Add("line break after", good, good + "\n", "the signature of the token is not base64url");
    Add("space within", good, StrCat(good.substr(0, first - 1), " ", good.substr(first - 1)),
        "the header of the token is not base64url");
    Add("zero byte after", good, StrCat(good, '\0'), "the signature of the token is not base64url");
    Add("the word Bearer before", good, "Bearer " + good,
        "the header of the token is not base64url");
    Add("another last character", good, OtherLastCharacter(good),
        "the signature of the token is not base64url");
    Add("cut in the middle", good, good.substr(0, good.size() - 7), kBadSignature);
    const auto signed_as_is = [&](const std::string& text) {
      return TokenOf(text, HmacSha256(kStageSecret, text));
    };
    const std::string header = good.substr(0, first);
    Add("payload not base64url", good, signed_as_is(header + ".e30="),
        "the payload of the token is not base64url");
    Add("payload in the alphabet of base64", good, signed_as_is(header + ".eyI+Pz8iOjF9"),
        "the payload of the token is not base64url");
    Add("oversized", good, HsClaims(GoodClaims().And("x", Quoted(std::string(8192, 'x')))),
        "the token is too large");
    const auto payload = [&](const std::string& name, const std::string& text,
                             const std::string& reason) {
      Add(name, good, HsToken(kStageSecret, HsHeader().Text(), text),
          StrCat("the payload of the token ", reason));
    };
    payload("payload empty", "", "is not JSON");
    payload("payload a text", R"("text")", "is not a JSON object");
    payload("payload null", "null", "is not a JSON object");
    payload("payload an array", StrCat("[", GoodClaims().Text(), "]"), "is not a JSON object");
    payload("payload cut", GoodClaims().Text().substr(0, 40), "is not JSON");
    payload("payload followed by more", GoodClaims().Text() + "{}", "is not JSON");
    payload("payload ended by a zero byte", StrCat(GoodClaims().Text(), '\0', "x"), "is not JSON");
    payload("payload with a byte order mark", "\xEF\xBB\xBF" + GoodClaims().Text(), "is not JSON");
    payload("payload with a comment", "/**/" + GoodClaims().Text(), "is not JSON");
    payload("invalid UTF-8", GoodClaims().And("x", "\"\xff\xfe\"").Text(), "is not JSON");
    payload("overlong UTF-8", GoodClaims().And("x", "\"\xc0\xaf\"").Text(), "is not JSON");
    payload("half a surrogate pair", GoodClaims().And("x", R"("\ud800")").Text(), "is not JSON");
    payload("claim twice", GoodClaims().And("sub", R"("eve")").Text(), "has a member twice");
    payload("claim twice, inside", GoodClaims().And("x", R"({"a":1,"a":2})").Text(),
            "has a member twice");
    payload("deep nesting",
            GoodClaims().And("x", std::string(2000, '[') + std::string(2000, ']')).Text(),
            "is nested too deeply");
    std::string many = "[0";
    for (int i = 0; i < 2000; ++i) many += ",0";
    payload("many values", GoodClaims().And("x", many + "]").Text(), "has too many values");
  }

  void Times() {
    const auto at = [](std::int64_t offset) { return std::to_string(kStageNow + offset); };
    // The leeway is 30 s.
    Add("expired", HsClaims(GoodClaims().With("exp", at(-29))),
        HsClaims(GoodClaims().With("exp", at(-30))), "the token has expired");
    Add("not valid yet", HsClaims(GoodClaims().With("nbf", at(30))),
        HsClaims(GoodClaims().With("nbf", at(31))), "the token is not valid yet");
    Add("issued in the future", HsClaims(GoodClaims().With("iat", at(30))),
        HsClaims(GoodClaims().With("iat", at(31))), "the token was issued in the future");
    AddClaim("exp 0", "exp", "0", "the token has expired");
    AddClaim("exp missing", "exp", "", "claim exp is missing");
    for (const char* claim : {"exp", "nbf", "iat"}) {
      const auto bad = [&](const std::string& json, const char* why) {
        AddClaim(StrCat(claim, " = ", json), claim, json, StrCat("claim ", claim, " ", why));
      };
      bad(StrCat("\"", at(600), "\""), "is not a whole number");
      bad(at(600) + ".5", "is not a whole number");
      bad("1.8e9", "is not a whole number");
      bad("null", "is not a whole number");
      bad("true", "is not a whole number");
      bad("[]", "is not a whole number");
      bad("99999999999999999999999", "is not a whole number");
      bad("18446744073709551615", "is out of range");
      bad("9223372036854775807", "is out of range");
      bad("253402300800", "is out of range");
      bad("-1", "is out of range");
      bad("-9223372036854775808", "is out of range");
    }
    for (const char* number : {"1e999", "NaN", "Infinity", "0x6B49D200", "01"}) {
      AddClaim(StrCat("exp = ", number), "exp", number, "the payload of the token is not JSON");
    }
  }

  void Audiences() {
    const char* const kNotUs = "claim aud does not name this service";
    AddClaim("aud of others", "aud", R"("billing")", kNotUs);
    AddClaim("aud missing", "aud", "", "claim aud is missing");
    AddClaim("aud empty", "aud", R"("")", kNotUs);
    AddClaim("aud null", "aud", "null", "claim aud is not text");
    AddClaim("aud an object", "aud", R"({"outboxd":true})", "claim aud is not text");
    AddClaim("aud ours and more", "aud", R"("outboxd.evil")", kNotUs);
    AddClaim("aud in another case", "aud", R"("Outboxd")", kNotUs);
    Add("aud array without us", HsClaims(GoodClaims().With("aud", R"(["billing","outboxd"])")),
        HsClaims(GoodClaims().With("aud", R"(["billing","shop"])")), kNotUs);
    AddClaim("aud an empty array", "aud", "[]", kNotUs);
    AddClaim("aud with a number", "aud", R"(["outboxd",1])", "claim aud is not text");
    AddClaim("iss of others", "iss", R"("https://evil.example")",
             "claim iss is not a known issuer");
    AddClaim("iss missing", "iss", "", "claim iss is missing");
    AddClaim("iss an array", "iss", R"(["outboxd"])", "claim iss is not text");
    AddClaim("iss ours and a slash", "iss", R"("outboxd/")", "claim iss is not a known issuer");
    AddClaim("iss with a zero byte", "iss", R"("outboxd\u0000")", "claim iss is malformed");
  }

  void Identities() {
    AddClaim("sub missing", "sub", "", "claim sub is missing");
    AddClaim("sub empty", "sub", R"("")", "claim sub is malformed");
    AddClaim("sub a number", "sub", "1", "claim sub is not text");
    AddClaim("sub with a line break", "sub", R"("ann\r\nX-Evil: 1")", "claim sub is malformed");
    AddClaim("sub oversized", "sub", Quoted(std::string(257, 'a')), "claim sub is malformed");
    AddClaim("tenant a name", "tenant", R"("acme")", "claim tenant is not a UUID");
    AddClaim("tenant null", "tenant", "null", "claim tenant is not a UUID");
    AddClaim("tenant a number", "tenant", "1", "claim tenant is not a UUID");
    AddClaim("tenant an array", "tenant", StrCat("[", Quoted(kStageTenant), "]"),
             "claim tenant is not a UUID");
    AddClaim("tenant with braces", "tenant", Quoted(StrCat("{", kStageTenant, "}")),
             "claim tenant is not a UUID");
    AddClaim("tenant and SQL", "tenant", Quoted(kStageTenant + "' OR '1'='1"),
             "claim tenant is not a UUID");
    AddClaim("tenant in upper case", "tenant", R"("0190B6A0-7C1E-7ABC-8DEF-0123456789AB")",
             "claim tenant is not a UUID in lower case");
    AddClaim("tenant nil", "tenant", R"("00000000-0000-0000-0000-000000000000")",
             "claim tenant is the nil UUID");
  }

  void Permissions() {
    AddClaim("scope a number", "scope", "1", "claim scope is not a list of texts");
    AddClaim("scope with two spaces", "scope", R"("a  b")", "claim scope has a malformed value");
    AddClaim("scope with a line break", "scope", R"("a\nb")", "claim scope has a malformed value");
    AddClaim("permissions an object", "permissions", R"({"a":true})",
             "claim permissions is not a list of texts");
    Add("permissions with a number", HsClaims(GoodClaims().With("permissions", R"(["a","b"])")),
        HsClaims(GoodClaims().With("permissions", R"(["a",1])")),
        "claim permissions is not a list of texts");
    AddClaim("permission oversized", "permissions", StrCat("[", Quoted(std::string(129, 'p')), "]"),
             "claim permissions has a malformed value");
    AddClaim("permission with a space", "permissions", R"(["a outboxd:operator"])",
             "claim permissions has a malformed value");
    std::string many = "\"p0";
    for (int i = 1; i <= 128; ++i) many += StrCat(" p", i);
    AddClaim("too many scopes", "scope", many + "\"", "claim scope has too many values");
  }

  std::vector<Forgery> all_;
};

// Fit for a quoted header value, and short.
void ExpectFitForHeader(const std::string& reason) {
  EXPECT_LE(reason.size(), 100U);
  EXPECT_TRUE(std::all_of(reason.begin(), reason.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  })) << reason;
}

TEST(ForgedTokens, AreRefusedWhereTheGoodOnesAreAccepted) {
  const AuthStage stage;
  const auto authenticator = stage.Open();
  ASSERT_NE(authenticator, nullptr);
  const std::vector<Forgery> forgeries = Forgeries().Make();
  std::set<std::string> names;
  for (const Forgery& each : forgeries) {
    SCOPED_TRACE(each.name);
    EXPECT_TRUE(names.insert(each.name).second) << "twice";
    EXPECT_OK(authenticator->Check(each.good));
    const auto refused = authenticator->Check(each.forged);
    EXPECT_THAT(refused, HasCode(Code::kPermission));
    EXPECT_EQ(refused.error().message(), each.reason);
    EXPECT_EQ(refused.error().native(), "invalid_token");
    EXPECT_EQ(refused.error().disposition(), Disposition::kPermanent);
    ExpectFitForHeader(refused.error().message());
  }
  std::cout << "forged tokens: " << forgeries.size() << " refused\n";
  EXPECT_GE(forgeries.size(), 40U);
}

TEST(ForgedTokens, NoPartOfATokenIsInTheReason) {
  const AuthStage stage;
  const auto authenticator = stage.Open();
  ASSERT_NE(authenticator, nullptr);
  const std::string canary = "canary-5e1f";
  for (const char* member : {"alg", "kid", "typ", "jku", "crit", "cty"}) {
    const auto refused = authenticator->Check(Hs(HsHeader().With(member, Quoted(canary))));
    ASSERT_FALSE(refused.ok()) << member;
    EXPECT_EQ(refused.error().ToString().find(canary), std::string::npos);
  }
  for (const char* claim : {"iss", "aud", "exp", "nbf", "iat", "tenant"}) {
    const auto refused = authenticator->Check(HsClaims(GoodClaims().With(claim, Quoted(canary))));
    ASSERT_FALSE(refused.ok()) << claim;
    EXPECT_EQ(refused.error().ToString().find(canary), std::string::npos);
  }
}

// Every byte of a token counts: none of them can be changed, whichever way it is signed.
TEST(ForgedTokens, NoCharacterCanBeChanged) {
  const AuthStage stage;
  const auto authenticator = stage.Open();
  ASSERT_NE(authenticator, nullptr);
  for (const std::string& good : {GoodHs(), GoodRs(), GoodEs()}) {
    ASSERT_OK(authenticator->Check(good));
    for (std::size_t i = 0; i < good.size(); ++i) {
      std::string changed = good;
      changed[i] = changed[i] == 'A' ? 'B' : 'A';
      EXPECT_THAT(authenticator->Check(changed), HasCode(Code::kPermission)) << i;
      changed = good;
      changed.erase(i, 1);
      EXPECT_THAT(authenticator->Check(changed), HasCode(Code::kPermission)) << i;
    }
  }
}

}  // namespace
}  // namespace outbox::service
