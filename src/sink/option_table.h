// OptionTable: the options that the address of each kind of sink may have, and which of their
// values may be shown.
//
// An address is shown by what is known of its options, never by what their names look like: a value
// is shown when its option is here and is no secret. Everything else is masked, a misspelt option
// too. registry_test.cc compares the tables with what the sinks read.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/mask_address.h"

namespace outbox::sink {

struct KnownOption {
  std::string_view name;
  base::OptionView view = base::OptionView::kShown;
};

// The options of a scheme, without the NAME_env and NAME_file of secrets; empty for one that is not
// known.
std::span<const KnownOption> OptionsOf(std::string_view scheme) noexcept;

// What of the value of `name` may be shown in an address of `scheme`.
base::OptionView ViewOf(std::string_view scheme, std::string_view name);

// The address of a sink for people to read, without what lets one in:
//
//   redis://:p@ss@cache:6379?stream=x            redis://:***@cache:6379?stream=x
//   https://hooks.example/x?sig=1&outbox.bearer=2 https://hooks.example/x?sig=***&outbox.bearer=***
std::string MaskSinkAddress(std::string_view address);

}  // namespace outbox::sink
