#include "client/ctl/operate/live_screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl {
namespace {

// The other screen, without a cursor and without lines that wrap; and back.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr char kLeave[] = "\x1b[?7h\x1b[?25h\x1b[?1049l";

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) {
    sigaddset(&signals, signal);
  }
  return signals;
}

int OpenSignals() {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

void WriteAll(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) {
      return;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

const char* CodeOf(LineStyle style) {
  switch (style) {
    case LineStyle::kPlain:
      return "";
    case LineStyle::kBar:
      return "\x1b[1;7m";
    case LineStyle::kHead:
      return "\x1b[1m";
    case LineStyle::kSelected:
      return "\x1b[7m";
    case LineStyle::kWarning:
      return "\x1b[33m";
    case LineStyle::kBad:
      return "\x1b[31m";
    case LineStyle::kFaint:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

bool LiveScreen::IsPossible() { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

LiveScreen::LiveScreen() : signals_fd_(OpenSignals()) {
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
  WriteAll(kEnter);
}

LiveScreen::~LiveScreen() {
  WriteAll(kLeave);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  close(signals_fd_);
}

ScreenSize LiveScreen::size() const {
  winsize window = {};
  ScreenSize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0) {
    size = {window.ws_col, window.ws_row};
  }
  return size;
}

void LiveScreen::Draw(const std::vector<Line>& lines) const {
  static const bool colours = std::getenv("NO_COLOR") == nullptr;
  const ScreenSize fits = size();
  std::string text = "\x1b[H";
  const size_t count = std::min(lines.size(), static_cast<size_t>(fits.rows));
  for (size_t i = 0; i < count; ++i) {
    const LineStyle style = lines[i].style;
    std::string shown = lines[i].text.substr(0, static_cast<size_t>(fits.columns));
    if (style == LineStyle::kBar || style == LineStyle::kSelected) {
      shown.resize(static_cast<size_t>(fits.columns), ' ');
    }
    // Reversed lines are no colours: they say which one is selected.
    const bool styled = *CodeOf(style) != '\0' && (colours || style <= LineStyle::kSelected);
    absl::StrAppend(&text, "\x1b[K", styled ? CodeOf(style) : "", shown, styled ? "\x1b[0m" : "",
                    i + 1 < static_cast<size_t>(fits.rows) ? "\r\n" : "");
  }
  WriteAll(absl::StrCat(text, count < static_cast<size_t>(fits.rows) ? "\x1b[J" : ""));
}

ScreenEvent LiveScreen::Wait(absl::Time until, int ready_fd) {
  while (true) {
    pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {signals_fd_, POLLIN, 0}, {ready_fd, POLLIN, 0}};
    const absl::Duration left = std::max(until - SteadyNow(), absl::ZeroDuration());
    const int ms = static_cast<int>(std::min<int64_t>(
        absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))), 60000));
    poll(fds, 3, ms);
    if (fds[1].revents != 0) {
      signalfd_siginfo signal = {};
      const bool resized = read(signals_fd_, &signal, sizeof(signal)) == sizeof(signal) &&
                           signal.ssi_signo == SIGWINCH;
      return resized ? ScreenEvent::kResize : ScreenEvent::kQuit;
    }
    if (fds[0].revents != 0) {
      const ScreenEvent key = ReadKey();
      if (key != ScreenEvent::kTime) {
        return key;
      }
    } else if (fds[2].revents != 0) {
      return ScreenEvent::kReady;
    }
    if (SteadyNow() >= until) {
      return ScreenEvent::kTime;
    }
  }
}

ScreenEvent LiveScreen::ReadKey() {
  char buffer[64];
  const ssize_t size = read(STDIN_FILENO, buffer, sizeof(buffer));
  if (size <= 0) {  // the terminal is gone
    return ScreenEvent::kQuit;
  }
  const absl::string_view keys(buffer, static_cast<size_t>(size));
  if (keys[0] == '\x1b') {
    return absl::EndsWith(keys, "A")   ? ScreenEvent::kUp
           : absl::EndsWith(keys, "B") ? ScreenEvent::kDown
           : keys.size() == 1          ? ScreenEvent::kEscape
                                       : ScreenEvent::kTime;
  }
  if (keys.find_first_of(absl::string_view("qQ\x03")) != absl::string_view::npos) {  // 3: ^C
    return ScreenEvent::kQuit;
  }
  return keys[0] == 'k'   ? ScreenEvent::kUp
         : keys[0] == 'j' ? ScreenEvent::kDown
                          : ScreenEvent::kTime;
}

}  // namespace baseband::ctl
