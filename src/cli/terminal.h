// What we are talking to: a person's terminal, or a pipe.
#pragma once

#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>

#include "base/printable.h"

namespace outbox::cli {

enum class Style { kPlain, kBold, kDim, kGood, kWarn, kBad };

bool IsTerminal(int fd) noexcept;
// A terminal, and the environment does not say NO_COLOR.
bool UseColour(int fd) noexcept;
// Columns of the terminal; 0 when it is none.
std::size_t TerminalWidth(int fd) noexcept;

// `text` between the escape sequences of `style`, or `text` itself.
std::string Styled(std::string_view text, Style style, bool colour);

// For every text from elsewhere that is printed.
using base::Harmless;

// Prints JSON text and a line break, with what a terminal obeys escaped.
void PrintJson(std::string_view json, std::ostream& out = std::cout);

// Columns that a text takes on a terminal: two for the wide characters of East Asia and for emoji,
// none for marks that combine with the character before.
std::size_t DisplayWidth(std::string_view text) noexcept;

// A text without its last character, and the marks that belong to it.
std::string_view WithoutLast(std::string_view text) noexcept;

// Asks on the terminal, without what it obeys, and reads a line; true for "y" and "yes".
bool Confirm(std::string_view question);

}  // namespace outbox::cli
