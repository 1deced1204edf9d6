// View: the demo as a picture. A pure function from a snapshot and a size to lines of text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "demo/show.h"

namespace outbox::demo {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;

  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};

inline constexpr ScreenSize kScreenMin{80, 24};

// Exactly size.rows lines of at most size.columns characters. Below kScreenMin it asks for room.
std::vector<std::string> Render(const Snapshot& now, ScreenSize size);

// `values` as bars of eight heights, the newest at the right; zero is blank. The scale goes by the
// square root, up to the largest: a burst does not flatten the rest.
std::string Sparkline(const std::vector<double>& values, std::size_t width);

}  // namespace outbox::demo
