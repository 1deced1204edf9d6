// MaskAddress: the address of a database or a sink for people to read, without what lets one in.
//
//   redis://:p@ss@cache:6379?stream=x            redis://:***@cache:6379?stream=x
//   https://hooks.example/x?sig=1&outbox.bearer=2 https://hooks.example/x?sig=***&outbox.bearer=***
//   host=db password=hunter2                     host=db password=***
#pragma once

#include <string>
#include <string_view>

namespace outbox::base {

// Hidden: the password before the host, or a name there that looks like a token; options that are
// secret by their name (not NAME_env and NAME_file, which only say where it is); headers; passwords
// in an address that is itself an option's value. Of a web address also what looks like a key in
// its path, and the query but for options of our own: nobody here knows what it means there.
std::string MaskAddress(std::string_view address);

}  // namespace outbox::base
