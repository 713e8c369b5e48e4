// A terminal that is drawn on again and again, and listened to.
#ifndef BASEBAND_CLIENT_CTL_OPERATE_LIVE_SCREEN_H_
#define BASEBAND_CLIENT_CTL_OPERATE_LIVE_SCREEN_H_

#include <termios.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace baseband::ctl {

// How a line of text looks.
enum class LineStyle { kPlain, kBar, kHead, kSelected, kWarning, kBad, kFaint };
struct Line {
  std::string text;  // ASCII
  LineStyle style = LineStyle::kPlain;
};

struct ScreenSize {
  int columns = 80;
  int rows = 24;
};

// What ended a wait.
enum class ScreenEvent { kTime, kReady, kResize, kQuit, kUp, kDown, kEscape };

// While it lives, the terminal shows its other screen, without a cursor, and keys come one by one;
// afterwards all is as before. SIGINT, SIGTERM, SIGHUP and SIGWINCH are events, not signals: it has
// to be made before threads are, which inherit that. One at a time, of one thread.
class LiveScreen {
 public:
  // Whether standard input and output are a terminal.
  static bool IsPossible();
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  ScreenSize size() const;
  // As much of the lines as fits, in place of what was there. In colours, unless NO_COLOR is set.
  void Draw(const std::vector<Line>& lines) const;
  // Waits until a key says something, the size changes, `ready_fd` (-1: none) can be read from or
  // it is `until`, by SteadyNow().
  ScreenEvent Wait(absl::Time until, int ready_fd);

 private:
  ScreenEvent ReadKey();

  const int signals_fd_;
  termios before_ = {};
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_OPERATE_LIVE_SCREEN_H_
