// MaskAddress: the address of a database or a sink for people to read, without what lets one in.
//
//   postgres://shop:pw@db/shop     postgres://shop:***@db/shop
//   host=db password=hunter2       host=db password=***
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace outbox::base {

// What of an option's value is shown.
enum class OptionView : std::uint8_t {
  kHidden,
  kShown,
  kAddress,  // an address without its login
};

// Of the options that addresses of `scheme`, in lower case, may have.
using ViewOption = OptionView (*)(std::string_view scheme, std::string_view name);

// Hidden: the password before the host, or a name there that looks like a token; every option but
// those that `view` knows. Of a web address also what looks like a key in its path, and its
// fragment.
std::string MaskAddress(std::string_view address, ViewOption view);

// The address of a database: libpq's parameters are known.
std::string MaskAddress(std::string_view address);

}  // namespace outbox::base
