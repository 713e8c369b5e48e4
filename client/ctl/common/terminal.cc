#include "client/ctl/common/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl {
namespace {

// Three significant digits and the largest unit that leaves at least one before the point.
std::string WithUnit(double value, double base, const std::vector<const char*>& units) {
  size_t unit = 0;
  while (value >= base * 0.9995 && unit + 1 < units.size()) {
    value /= base;
    ++unit;
  }
  const int decimals = unit == 0 && value == std::floor(value) ? 0
                       : value >= 99.95                        ? 0
                       : value >= 9.995                        ? 1
                                                               : 2;
  return absl::StrFormat("%.*f%s%s", decimals, value, *units[unit] == '\0' ? "" : " ", units[unit]);
}

std::string Coloured(const char* code, absl::string_view text) {
  static const bool enabled = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return enabled ? absl::StrCat("\x1b[", code, "m", text, "\x1b[0m") : std::string(text);
}

}  // namespace

std::string HumanBytes(double bytes) {
  return WithUnit(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
}

std::string HumanCount(double count) { return WithUnit(count, 1000, {"", "k", "M", "G", "T"}); }

std::string HumanRate(double bits_per_second) {
  return WithUnit(bits_per_second, 1000, {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"});
}

std::string HumanDuration(absl::Duration time) {
  const double seconds = absl::ToDoubleSeconds(time);
  if (seconds >= 1) {
    return absl::StrFormat("%.2f s", seconds);
  }
  return WithUnit(seconds * 1e6, 1000, {"us", "ms"});
}

std::string Plural(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string Wrap(absl::string_view text, int width, int indent) {
  std::string result;
  int column = 0;
  const auto new_line = [&] {
    absl::StrAppend(&result, "\n", std::string(indent, ' '));
    column = 0;
  };
  bool first_line = true;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!first_line) {
      new_line();
    }
    first_line = false;
    for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      const int length = static_cast<int>(word.size());
      if (column > 0 && column + 1 + length > width) {
        new_line();
      }
      absl::StrAppend(&result, column > 0 ? " " : "", word);
      column += length + (column > 0 ? 1 : 0);
    }
  }
  return result;
}

std::string Good(absl::string_view text) { return Coloured("32", text); }
std::string Bad(absl::string_view text) { return Coloured("31", text); }

ProgressBar::ProgressBar(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO) != 0) {}

void ProgressBar::Show(double fraction, absl::string_view text) {
  const absl::Time now = SteadyNow();
  if (!enabled_ || now < next_) {
    return;
  }
  next_ = now + absl::Milliseconds(100);
  shown_ = true;
  if (fraction < 0) {
    absl::FPrintF(stderr, "\r\x1b[K%s", text);
    std::fflush(stderr);
    return;
  }
  constexpr int kWidth = 24;
  const int full = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * kWidth));
  absl::FPrintF(stderr, "\r\x1b[K[%s%s] %3.0f%%  %s", std::string(full, '#'),
                std::string(kWidth - full, '.'), 100 * std::clamp(fraction, 0.0, 1.0), text);
  std::fflush(stderr);
}

void ProgressBar::Clear() {
  if (shown_) {
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    shown_ = false;
  }
}

}  // namespace baseband::ctl
