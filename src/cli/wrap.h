// Wrap: text in lines of a given width, for help.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace outbox::cli {

// Lines of at most `width` characters, broken between words. A longer word is broken after commas
// and bars; one without them has a line of its own.
std::vector<std::string> WrapLines(std::string_view text, std::size_t width);

// A name in a column `name_width` wide, indented by two, and its explanation beside it; below it
// when the name is longer. Ends in a line break.
std::string WrapEntry(std::string_view name, std::string_view text, std::size_t name_width,
                      std::size_t width);

}  // namespace outbox::cli
