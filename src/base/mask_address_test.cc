#include "base/mask_address.h"

#include <gtest/gtest.h>

namespace outbox::base {
namespace {

struct Case {
  const char* address;
  const char* masked;
};

OptionView ViewOfTest(std::string_view scheme, std::string_view name) {
  if (name == "proxy") return OptionView::kAddress;
  return scheme == "amqp" && name == "exchange" ? OptionView::kShown : OptionView::kHidden;
}

TEST(MaskAddress, ShowsOnlyOptionsThatAreKnown) {
  const Case cases[] = {
      {"amqp://h?exchange=e&exchagne=x&password=y",
       "amqp://h?exchange=e&exchagne=***&password=***"},
      {"AMQP://h?exchange=e", "AMQP://h?exchange=e"},
      {"amqp://h?ex%63hange=e&Exchange=x", "amqp://h?ex%63hange=e&Exchange=***"},
      {"amqp://h?hunter2&=x&&", "amqp://h?***&=***&&"},
      {"amqps://h?exchange=e", "amqps://h?exchange=***"},
      {"https://h/x?proxy=http%3A%2F%2Fu%3Apw%40p%3A1", "https://h/x?proxy=http://***@p:1"},
      {"https://h/x?proxy=u:pw@p:1", "https://h/x?proxy=***@p:1"},
      {"https://h/x?proxy=p:1", "https://h/x?proxy=p:1"},
      {"https://h/x?wait#k3y", "https://h/x?***#***"},
      {"https://h/x#k3y?exchange=e", "https://h/x#***"},
      {"https://u:p#w@h/x", "https://u:***@h/x"},
  };
  for (const Case& one : cases) EXPECT_EQ(MaskAddress(one.address, ViewOfTest), one.masked);
}

TEST(MaskAddress, HidesWhatLetsOneIn) {
  const Case cases[] = {
      {"postgres://shop:pw@db/shop", "postgres://shop:***@db/shop"},
      {"postgres:/u:pw@db/shop", "postgres:/u:***@db/shop"},
      {"postgres://u@h/db?sslmode=require&passwort=x&sslpassword=y&hunter2",
       "postgres://u@h/db?sslmode=require&passwort=***&sslpassword=***&***"},
      {"redis://:p@ssw@cache:6379", "redis://:***@cache:6379"},
      {"redis://:p/w@cache:6379/0", "redis://:***@cache:6379/0"},
      {"amqp://u:pw@a:1,b:2/%2F", "amqp://u:***@a:1,b:2/%2F"},
      {"nats://s3cr3ttokenofmine@h:4222/a", "nats://***@h:4222/a"},
      {"https://hooks.example/services/T012AB3C4/B012AB3C4/Zx8Yx7Wx6Vx5Ux4Tx3Sx2Rx1",
       "https://hooks.example/services/T012AB3C4/B012AB3C4/***"},
      {"host=db password=pw,er2", "host=db password=***"},
      {"host=db user_secret=x passwordx=y", "host=db user_secret=*** passwordx=***"},
      {"password=abc;d&e host=db", "password=*** host=db"},
      {R"(host=db password = 'it\'s one' user=u)", "host=db password = *** user=u"},
      {R"(host=db password=a\ b)", "host=db password=***"},
      {"host=db passwort=pw sslpassword=x sslmode=require",
       "host=db passwort=*** sslpassword=*** sslmode=require"},
      {"host=::1 password=p:w", "host=::1 password=***"},
      {"postgres://u:p?w@h/db", "postgres://u:***@h/db"},
      {"postgres://u:p?w@x@h/db?sslmode=require", "postgres://u:***@h/db?sslmode=require"},
      {"postgres://u:12?34@h/db", "postgres://u:***@h/db"},
      {"postgres://u:12/34@h/db", "postgres://u:***@h/db"},
      {"redis://:a?b@h:1/0", "redis://:***@h:1/0"},
      {"postgres://u:p@w?x@h/db", "postgres://u:***@h/db"},
      {"host=db password=my secret", "host=db password=*** ***"},
      {"password=a b host=db", "password=*** ***"},
      {"password='it's me' host=db", "password=*** ***"},
      {"password hunter2 host=db user=u", " *** user=u"},
      {"https://h:8443/hook?k3y@x&token=abc", "https://h:8443/hook?***&token=***"},
      {"https://[::1]/hook?k3y@x&sig=1", "https://[::1]/hook?***&sig=***"},
      {"https://u:p@h/hook?k3y@x", "https://u:***@h/hook?***"},
  };
  for (const Case& one : cases) EXPECT_EQ(MaskAddress(one.address), one.masked);
}

TEST(MaskAddress, LeavesTheRestAlone) {
  for (const char* address :
       {"", "stdout:", "file:/var/lib/a@b:c.jsonl", "sqlite:shop.db",
        "postgres://shop@[::1]:5432/shop?sslmode=require", "kafka://a:1,b:2",
        "https://h:8443/users/@me", "nats://outbox@h:4222", "amqp://[::1]/team@eu",
        "host=db port=5432 dbname=shop user=shop connect_timeout=3"}) {
    EXPECT_EQ(MaskAddress(address), address);
  }
}

}  // namespace
}  // namespace outbox::base
