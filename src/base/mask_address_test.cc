#include "base/mask_address.h"

#include <gtest/gtest.h>

namespace outbox::base {
namespace {

struct Case {
  const char* address;
  const char* masked;
};

TEST(MaskAddress, HidesWhatLetsOneIn) {
  const Case cases[] = {
      {"postgres://shop:pw@db/shop", "postgres://shop:***@db/shop"},
      {"postgres:/u:pw@db/shop", "postgres:/u:***@db/shop"},
      {"redis://:p@ssw@cache:6379?stream=x", "redis://:***@cache:6379?stream=x"},
      {"redis://:p/w@cache:6379/0", "redis://:***@cache:6379/0"},
      {"amqp://u:pw@a:1,b:2/%2F?password=x&exchange=e",
       "amqp://u:***@a:1,b:2/%2F?password=***&exchange=e"},
      {"nats://h?pass%77ord=x&token=y", "nats://h?pass%77ord=***&token=***"},
      {"nats://s3cr3ttokenofmine@h:4222/a", "nats://***@h:4222/a"},
      {"kafka://h?kafka.sasl.password=x&kafka.ssl.key.pem=y&kafka.linger.ms=5",
       "kafka://h?kafka.sasl.password=***&kafka.ssl.key.pem=***&kafka.linger.ms=5"},
      {"https://h/x?outbox.bearer=1&outbox.secret2=2&outbox.header.X-Auth=3&outbox.body=plain",
       "https://h/x?outbox.bearer=***&outbox.secret2=***&outbox.header.X-Auth=***&"
       "outbox.body=plain"},
      {"https://h/x?sig=1&wait", "https://h/x?sig=***&***"},
      {"https://h/x?outbox.proxy=http%3A%2F%2Fu%3Apw%40p%3A1",
       "https://h/x?outbox.proxy=http://u:***@p:1"},
      {"http://localhost:8/x?outbox.proxy=http://u:pw@p:1",
       "http://localhost:8/x?outbox.proxy=http://u:***@p:1"},
      {"https://hooks.example/services/T012AB3C4/B012AB3C4/Zx8Yx7Wx6Vx5Ux4Tx3Sx2Rx1",
       "https://hooks.example/services/T012AB3C4/B012AB3C4/***"},
      {"host=db password=pw,er2", "host=db password=***"},
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
       {"", "stdout:", "file:/var/lib/a@b:c.jsonl?fsync=never", "sqlite:shop.db",
        "postgres://shop@[::1]:5432/shop?sslmode=require", "kafka://a:1,b:2?topic={topic}",
        "amqp://h?password_env=MQ_PASSWORD&routing_key=orders", "https://h:8443/users/@me",
        "nats://h?password_file=/run/secrets/nats", "nats://outbox@h:4222",
        "nats://h:4222?subject=a@b", "amqp://[::1]/team@eu", "amqp://u@h/v?routing_key=a@b",
        "https://h:8443/x?outbox.body=plain",
        "host=db port=5432 dbname=shop user=shop connect_timeout=3"}) {
    EXPECT_EQ(MaskAddress(address), address);
  }
}

}  // namespace
}  // namespace outbox::base
