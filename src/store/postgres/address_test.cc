#include "store/postgres/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace outbox::store::postgres {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(Address, TakesOurSettingOutOfAUrl) {
  for (const char* url : {"postgres://h/db?prepare=off", "postgres://h/db?prepare=off&port=7",
                          "postgres://h/db?port=7&prepare=off", "host=h dbname=db prepare=off",
                          "prepare=off host=h dbname=db"}) {
    const auto address = Address::Parse(url);
    ASSERT_OK(address);
    EXPECT_FALSE(address->prepare()) << url;
    EXPECT_THAT(address->parameters(), Contains(Pair("dbname", "db"))) << url;
    EXPECT_THAT(address->parameters(), Not(Contains(Pair("prepare", "off")))) << url;
  }
  EXPECT_TRUE(Address::Parse("postgres://h/db")->prepare());
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
}

TEST(Address, RefusesWhatLibpqDoesNotKnow) {
  const auto unknown = Address::Parse("postgres://u:secret@h/db?colour=blue");
  EXPECT_THAT(unknown, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(unknown.error().message(), HasSubstr("colour"));
  EXPECT_THAT(unknown.error().message(), Not(HasSubstr("secret")));
  EXPECT_THAT(Address::Parse("postgres://h/db?prepare=perhaps"), HasCode(Code::kInvalidArgument));
}

}  // namespace
}  // namespace outbox::store::postgres
