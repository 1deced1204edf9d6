// Printable: texts from elsewhere without what a terminal obeys.
//
// A terminal obeys control characters (C0, DEL, and C1 from U+0080 to U+009F), and lets the
// characters of bidirectional text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) put
// others where they do not belong. U+2028 and U+2029 end lines in some. Bytes that are not UTF-8
// may be C1 as well, or the beginning of what follows.
//
// Everything that the program prints and logs goes through one of these functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outbox::base {

// `text` with a space in the place of each such character, and a replacement character in that of
// each byte that is not UTF-8. Those in `keep` stay.
std::string Harmless(std::string_view text, std::string_view keep = {});

// JSON text of the same value, in which they are escaped: "\u009b". Line breaks and tabs between
// values stay, carriage returns become spaces.
std::string HarmlessJson(std::string_view json);

// The length of the well-formed UTF-8 character at the front of `text`, which is not empty; 0 when
// there is none.
std::size_t Utf8Length(std::string_view text) noexcept;
// That character.
char32_t Utf8Character(std::string_view text, std::size_t length) noexcept;

}  // namespace outbox::base
