#include "sink/file/last_line.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "sink/file/json_line.h"
#include "sink/file/line_writer.h"

namespace outbox::sink {
namespace {

constexpr off_t kLineBytesMax = off_t{64} << 20;

}  // namespace

Result<LastLine> ReadLastLine(int fd, off_t size, std::string_view name) {
  std::array<char, 64 << 10> piece{};
  const auto read = [&](off_t at, off_t bytes) {
    const ssize_t got = pread(fd, piece.data(), static_cast<std::size_t>(bytes), at);
    return std::string_view(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  };
  const auto failed = [&] { return ClassifyFileError("reading the end of", name, errno); };

  LastLine line{.start = size};
  while (line.start > 0 && size - line.start < kLineBytesMax) {
    const off_t bytes = std::min(static_cast<off_t>(piece.size()), line.start);
    std::string_view text = read(line.start - bytes, bytes);
    if (text.size() != static_cast<std::size_t>(bytes)) return failed();
    if (line.start == size) {
      line.ended = text.back() == '\n';
      if (line.ended) text.remove_suffix(1);
    }
    const std::size_t line_break = text.rfind('\n');
    line.start -= bytes;
    if (line_break == std::string_view::npos) continue;
    line.start += static_cast<off_t>(line_break) + 1;
    break;
  }
  const bool whole = size - line.start < kLineBytesMax;
  line.ours = whole && IsStartOfJsonLine(read(line.start, std::min(static_cast<off_t>(piece.size()),
                                                                   size - line.start)));
  return line;
}

}  // namespace outbox::sink
