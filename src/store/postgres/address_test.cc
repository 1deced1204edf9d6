#include "store/postgres/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/matchers.h"

namespace outbox::store::postgres {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(Address, RefusesAPasswordThatLibpqWouldTakeForAHost) {
  const Status status = Address::Parse("postgres://shop:hun@ter2@db/shop").error();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message().find("ter2"), std::string::npos);
  EXPECT_NE(status.hint().find("%40"), std::string::npos);
  EXPECT_TRUE(Address::Parse("postgres://shop:hun%40ter2@db/shop?application_name=a@b").ok());
}

TEST(Address, ErrorsQuoteNoPartOfAPassword) {
  const struct {
    const char* address;
    const char* said;
  } kCases[] = {
      {"postgres://u:zq/xk@h/db", "'/' before the '@'"},
      {"postgres://u:zq/a?xk@h/db", "not a valid URL"},
      {"postgres://u:zq/a?xk=zq@h/db", "an option that libpq does not know"},
      {"postgres://u:zq/db", "port"},
      {"postgres://u:p@h:zq/db", "port"},
      {"postgres://u:zq%xk@h/db", "hexadecimal"},
      {"host=h password=zq xk", "an option without a value"},
      {"host=h password=zq xk=zq", "an option that libpq does not know"},
      {"host=h password='zq", "a quote that does not end"},
      {"host=h port=zq", "port"},
  };
  for (const auto& each : kCases) {
    const Status status = Address::Parse(each.address).error();
    EXPECT_THAT(status, HasCode(Code::kInvalidArgument)) << each.address;
    EXPECT_THAT(status.message(), HasSubstr(each.said)) << each.address;
    EXPECT_FALSE(status.hint().empty()) << each.address;
    for (const std::string& text : {status.ToString(), status.message(), status.hint()}) {
      EXPECT_THAT(text, Not(HasSubstr("zq"))) << each.address;
      EXPECT_THAT(text, Not(HasSubstr("xk"))) << each.address;
    }
  }
  EXPECT_OK(Address::Parse("postgres://u:a%2Fb@h:1,h2:65535/db?application_name=a@b"));
  EXPECT_OK(Address::Parse("postgres://h/db?application_name=a@b"));
  EXPECT_OK(Address::Parse("postgres://u:p@h/d@b"));
}

TEST(Address, TakesOurSettingOutOfAUrl) {
  for (const char* url :
       {"postgres://h/db?prepare=off", "postgres://h/db?prepare=off&port=7",
        "postgres://h/db?port=7&prepare=off", "host=h dbname=db prepare=off",
        "prepare=off host=h dbname=db", "host=h prepare = 'off' dbname=db",
        "host=h\tprepare=off\tdbname=db", "application_name=prepare prepare=off dbname=db"}) {
    const auto address = Address::Parse(url);
    ASSERT_OK(address);
    EXPECT_FALSE(address->prepare()) << url;
    EXPECT_THAT(address->parameters(), Contains(Pair("dbname", "db"))) << url;
    EXPECT_THAT(address->parameters(), Not(Contains(Pair("prepare", "off")))) << url;
  }
  EXPECT_TRUE(Address::Parse("postgres://h/db")->prepare());
}

TEST(Address, LeavesWhatOnlyLooksLikeOurSettingToLibpq) {
  const std::string kept = "postgres://h/db?application_name=prepare";
  EXPECT_TRUE(Address::Parse(kept)->prepare());
  EXPECT_THAT(Address::Parse("postgres://h/db?prepare=&port=7")->parameters(),
              Contains(Pair("port", "7")));
  for (const char* text :
       {"postgres://h/db?unprepare=off", "host=h unprepare=off", "host=h prepare='off'x"}) {
    EXPECT_THAT(Address::Parse(text).error(), HasCode(Code::kInvalidArgument)) << text;
  }
}

TEST(Address, ReadsTextOfAnyLength) {
  const std::string a(200'000, 'a');
  for (const std::string& text :
       {"host=h " + a + "=x", "host=h prepare=" + a, "postgres://h/db?" + a + "=x",
        "postgres://h/db?prepare=" + a, "host=h " + std::string(200'000, ' ') + "prepare=zq'"}) {
    const Status status = Address::Parse(text).error();
    EXPECT_THAT(status, HasCode(Code::kInvalidArgument)) << text.substr(0, 40);
    EXPECT_LT(status.message().size(), 200U);
  }
}

TEST(Address, DefaultsStandBackForWhatTheAddressSays) {
  const auto given = Address::Parse("postgres://h/db?keepalives_idle=7");
  ASSERT_OK(given);
  EXPECT_THAT(given->parameters(), Contains(Pair("keepalives_idle", "7")));
  EXPECT_THAT(given->parameters(), Not(Contains(Pair("keepalives_idle", "30"))));
  EXPECT_THAT(given->parameters(), Contains(Pair("tcp_user_timeout", "30000")));
}

TEST(Address, DescribesThePlaceWithoutUserAndPassword) {
  const auto address = Address::Parse("postgres://alice:secret@db.example:6543/shop");
  ASSERT_OK(address);
  EXPECT_EQ(address->description(), "db.example:6543/shop");
}

TEST(Address, KnowsWhatIsLocal) {
  EXPECT_TRUE(Address::Parse("postgres://127.0.0.1/db")->local());
  EXPECT_TRUE(Address::Parse("host=/run/postgresql dbname=db")->local());
  EXPECT_TRUE(Address::Parse("postgres://localhost/db")->local());
  EXPECT_FALSE(Address::Parse("postgres://db.example/db")->local());
  EXPECT_FALSE(Address::Parse("postgres://localhost,db.example/db")->local());
  EXPECT_TRUE(Address::Parse("postgres://[::1]/db")->local());
  EXPECT_FALSE(Address::Parse("postgres://127.0.0.1.example.com/db")->local());
  EXPECT_FALSE(Address::Parse("host=localhost hostaddr=192.0.2.1")->local());
}

TEST(Address, WhatAServiceFileDecidesIsNotLocal) {
  EXPECT_FALSE(Address::Parse("service=prod")->local());
  EXPECT_EQ(Address::Parse("service=prod")->description(), "service prod");
  EXPECT_FALSE(Address::Parse("service=prod host=localhost")->local())
      << "the file may have a hostaddr";
  EXPECT_TRUE(Address::Parse("service=prod hostaddr=127.0.0.1")->local());
  setenv("PGSERVICE", "prod", 1);
  EXPECT_FALSE(Address::Parse("dbname=shop")->local());
  unsetenv("PGSERVICE");
}

TEST(Address, RefusesWhatLibpqDoesNotKnow) {
  const auto unknown = Address::Parse("postgres://u:secret@h/db?colour=blue");
  EXPECT_THAT(unknown, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(unknown.error().message(), HasSubstr("colour"));
  EXPECT_THAT(unknown.error().message(), Not(HasSubstr("secret")));
  EXPECT_THAT(Address::Parse("host=h colour=blue password=x").error().message(),
              HasSubstr("colour"));
  EXPECT_THAT(Address::Parse("postgres://h/db?prepare=perhaps"), HasCode(Code::kInvalidArgument));
}

}  // namespace
}  // namespace outbox::store::postgres
