// What we are talking to: a person's terminal, or a pipe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outbox::cli {

enum class Style { kPlain, kBold, kDim, kGood, kWarn, kBad };

bool IsTerminal(int fd) noexcept;
// A terminal, and the environment does not say NO_COLOR.
bool UseColour(int fd) noexcept;
// Columns of the terminal; 0 when it is none.
std::size_t TerminalWidth(int fd) noexcept;

// `text` between the escape sequences of `style`, or `text` itself.
std::string Styled(std::string_view text, Style style, bool colour);

// Characters, not bytes: what a text takes on a terminal, near enough.
std::size_t DisplayWidth(std::string_view text) noexcept;

// Asks on the terminal and reads a line; true for "y" and "yes".
bool Confirm(std::string_view question);

}  // namespace outbox::cli
