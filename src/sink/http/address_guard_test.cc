#include "sink/http/address_guard.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

TEST(AddressGuard, RefusesEveryRangeThatIsNotPublic) {
  const AddressGuard guard;
  for (const char* address :
       {// First and last address of each range.
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
        "127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255",
        "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255", "192.0.2.1", "192.88.99.1",
        "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.7",
        "203.0.113.255", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        // IPv6.
        "::", "::1", "::127.0.0.1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "fc00::1",
        "fd00::1", "fdff:ffff::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "2001:db8:ffff::1",
        "3fff::1", "3fff:fff:ffff::1", "100::1", "5f00::1", "2001::1", "2001:10::1",
        // IPv4 inside IPv6: mapped, translated, NAT64, 6to4.
        "::ffff:127.0.0.1", "::ffff:10.1.2.3", "::ffff:a9fe:a9fe", "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "2002:7f00:1::1", "2002:808:808::1",
        // Not addresses.
        "", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "8.8.8.8 ",
        "8.8.8.8%lo"}) {
    EXPECT_FALSE(guard.Allows(std::string_view(address))) << address;
  }
}

TEST(AddressGuard, AllowsPublicAddresses) {
  const AddressGuard guard;
  for (const char* address :
       {"1.1.1.1",         "8.8.8.8",         "9.255.255.255",        "11.0.0.0",
        "100.63.255.255",  "100.128.0.0",     "126.255.255.255",      "128.0.0.0",
        "169.253.255.255", "172.15.255.255",  "172.32.0.0",           "192.0.1.0",
        "192.167.255.255", "192.169.0.0",     "198.17.255.255",       "198.20.0.0",
        "223.255.255.255", "2606:4700::1111", "2001:4860:4860::8888", "2a00::1",
        "::ffff:8.8.8.8"}) {
    EXPECT_TRUE(guard.Allows(std::string_view(address))) << address;
  }
}

TEST(AddressGuard, TheAllowListOpensExactlyWhatItNames) {
  const auto guard = AddressGuard::Parse("127.0.0.0/30, fd00:1::/32,10.1.2.3");
  ASSERT_OK(guard);
  for (const char* address :
       {"127.0.0.1", "127.0.0.3", "::ffff:127.0.0.1", "fd00:1:ffff::1", "10.1.2.3", "8.8.8.8"}) {
    EXPECT_TRUE(guard->Allows(std::string_view(address))) << address;
  }
  for (const char* address : {"127.0.0.4", "fd00:2::1", "10.1.2.4", "::1", "64:ff9b::7f00:1"}) {
    EXPECT_FALSE(guard->Allows(std::string_view(address))) << address;
  }
  EXPECT_TRUE(AddressGuard::Parse("0.0.0.0/0")->Allows(std::string_view("192.168.1.1")));
  EXPECT_FALSE(AddressGuard::Parse("0.0.0.0/0")->Allows(std::string_view("::1")));
  EXPECT_TRUE(AddressGuard::Parse("::/0")->Allows(std::string_view("::1")));
}

TEST(AddressGuard, NamesABlockThatIsNone) {
  for (const char* text : {"10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "fd00::/129",
                           "localhost", "10.0.0.0/8,", "10.0.0.0/8x", "fe80::1%lo/64", "/8"}) {
    EXPECT_THAT(AddressGuard::Parse(text), HasCode(Code::kInvalidArgument)) << text;
  }
}

TEST(AddressGuard, JudgesSocketAddresses) {
  const AddressGuard guard;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_FALSE(guard.Allows(reinterpret_cast<const sockaddr&>(v4)));
  v4.sin_addr.s_addr = htonl(0x08080808);
  EXPECT_TRUE(guard.Allows(reinterpret_cast<const sockaddr&>(v4)));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  EXPECT_FALSE(guard.Allows(reinterpret_cast<const sockaddr&>(v6)));
  sockaddr unix_socket{};
  unix_socket.sa_family = AF_UNIX;
  EXPECT_FALSE(guard.Allows(unix_socket));
}

}  // namespace
}  // namespace outbox::sink
