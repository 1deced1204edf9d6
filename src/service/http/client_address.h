// Which client a connection is counted for.
//
// An IPv4 client is its address, whichever socket it came through. An IPv6 client is its /64: that
// is what one customer is given, with more addresses in it than could ever be counted.
//
// Threads: functions of their arguments.
#pragma once

#include <string>
#include <string_view>

namespace outbox::service {

// Of an address: "192.0.2.7", "2001:db8:1:2::". What is no address is a client of that name.
std::string ClientOf(std::string_view address);

// Of Request::remote: "192.0.2.7:1234", "[2001:db8::1]:1234".
std::string ClientOfPeer(std::string_view remote);

}  // namespace outbox::service
