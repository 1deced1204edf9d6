#include "demo/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/text.h"

namespace outbox::demo {
namespace {

constexpr std::array kQuitSignals{SIGINT, SIGTERM, SIGHUP};
constexpr std::array kFatalSignals{SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT};
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr char kControlC = '\x03';
constexpr char kControlD = '\x04';

// Signal handlers have nothing but globals.
volatile std::sig_atomic_t g_quit = 0;
termios g_before{};

void WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Async-signal-safe.
void Restore() {
  WriteAll(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &g_before);
}

void OnQuitSignal(int) { g_quit = 1; }

void OnFatalSignal(int signal) {
  Restore();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

template <std::size_t N>
void Install(const std::array<int, N>& signals, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (const int signal : signals) sigaction(signal, &action, nullptr);
}

}  // namespace

bool QuitRequested() noexcept { return g_quit != 0; }

QuitSignals::QuitSignals() {
  g_quit = 0;
  Install(kQuitSignals, OnQuitSignal);
}

QuitSignals::~QuitSignals() { Install(kQuitSignals, SIG_DFL); }

Result<std::unique_ptr<Terminal>> Terminal::Open() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 ||
      tcgetattr(STDIN_FILENO, &g_before) != 0) {
    return Status::Permanent(Code::kInvalidArgument, "demo: this is not a terminal")
        .WithHint("--script runs the demo without one");
  }
  termios raw = g_before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  Install(kFatalSignals, OnFatalSignal);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  WriteAll(kEnter);
  return std::unique_ptr<Terminal>(new Terminal);
}

Terminal::~Terminal() {
  Restore();
  Install(kFatalSignals, SIG_DFL);
}

ScreenSize Terminal::Size() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kScreenMin;
  return {size.ws_col, size.ws_row};
}

void Terminal::Draw(const std::vector<std::string>& lines, ScreenSize size) {
  std::string out;
  if (size != shown_size_) {
    out += "\x1b[2J";
    shown_.clear();
    shown_size_ = size;
  }
  shown_.resize(lines.size());
  for (std::size_t row = 0; row < lines.size(); ++row) {
    if (lines[row] == shown_[row]) continue;
    out += base::StrCat("\x1b[", row + 1, ";1H", lines[row], "\x1b[K");
    shown_[row] = lines[row];
  }
  WriteAll(out);
}

std::optional<char> Terminal::ReadKey(std::chrono::milliseconds wait) {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (poll(&input, 1, static_cast<int>(wait.count())) <= 0) return std::nullopt;
  char key = 0;
  const ssize_t count = read(STDIN_FILENO, &key, 1);
  if (count < 0 && errno == EINTR) return std::nullopt;
  if (count <= 0 || key == kControlC || key == kControlD) return 'q';
  return key;
}

}  // namespace outbox::demo
