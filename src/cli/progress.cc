#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli/terminal.h"

namespace outbox::cli {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr std::chrono::milliseconds kRedraw{100};

std::string Bar(std::uint64_t done, std::uint64_t total) {
  const double share =
      total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBarWidth));
  std::string bar;
  for (std::size_t i = 0; i < kBarWidth; ++i) bar += i < filled ? "█" : "░";
  return base::StrCat(bar, " ", static_cast<int>(share * 100), "%");
}

}  // namespace

Progress::Progress(std::string label, std::optional<std::uint64_t> total)
    : label_(std::move(label)), total_(total), visible_(IsTerminal(STDERR_FILENO)) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Update(std::uint64_t done, const std::string& note) {
  const auto now = std::chrono::steady_clock::now();
  if (!visible_ || now < next_) return;
  next_ = now + kRedraw;
  drawn_ = true;
  // A line that goes on in the next one could not be drawn over.
  const std::size_t width = TerminalWidth(STDERR_FILENO);
  std::string line = base::StrCat(label_, " ", total_ ? Bar(done, *total_) : "", "  ", note);
  if (width != 0 && DisplayWidth(line) >= width) line = base::StrCat(label_, "  ", note);
  std::string_view shown = line;
  while (width != 0 && DisplayWidth(shown) >= width && !shown.empty()) shown = WithoutLast(shown);
  std::fputs(base::StrCat("\r\x1b[K", shown).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace outbox::cli
