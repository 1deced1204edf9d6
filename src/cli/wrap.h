// Wrap: text in lines of a given width, for help.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace outbox::cli {

// Lines of at most `width` characters, broken between words. A longer word is broken after commas
// and bars and before brackets; one without them has a line of its own.
std::vector<std::string> WrapLines(std::string_view text, std::size_t width);

// The same, and a word that is too long is broken anywhere.
std::vector<std::string> BreakLines(std::string_view text, std::size_t width);

// A line with its line break: in lines of the terminal's width, and as it is where `fd` is none.
// What an indented line goes on in is indented further.
std::string FitTerminal(std::string_view line, int fd);

// Print such a line for people, without what a terminal obeys, to standard output and to standard
// error.
void PrintLine(std::string_view line);
void PrintNote(std::string_view line);

// A name in a column `name_width` wide, indented by two, and its explanation beside it; below it
// when the name is longer. Ends in a line break.
std::string WrapEntry(std::string_view name, std::string_view text, std::size_t name_width,
                      std::size_t width);

}  // namespace outbox::cli
