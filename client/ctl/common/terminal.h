// What people read: numbers with units, and a progress bar.
#ifndef BASEBAND_CLIENT_CTL_COMMON_TERMINAL_H_
#define BASEBAND_CLIENT_CTL_COMMON_TERMINAL_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace baseband::ctl {

std::string HumanBytes(double bytes);                       // "1.0 MiB"
std::string HumanCount(double count);                       // "12.3 k"
std::string HumanRate(double bits_per_second);              // "1.25 Gb/s"
std::string HumanDuration(absl::Duration time);             // "12.3 ms"
std::string Plural(int64_t count, absl::string_view noun);  // "1 block", "2 blocks"

// Wraps `text` to `width` columns, keeping its own line breaks; lines after the first get `indent`
// blanks.
std::string Wrap(absl::string_view text, int width, int indent);

// Green or red text when standard output is a terminal and NO_COLOR is not set, else plain.
std::string Good(absl::string_view text);
std::string Bad(absl::string_view text);

// One line on standard error that is overwritten at most ten times a second; nothing at all when
// standard error is not a terminal. Not thread-safe.
class ProgressBar {
 public:
  explicit ProgressBar(bool enabled = true);
  ~ProgressBar() { Clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `fraction` in [0, 1]; below 0 if nobody knows: the text alone.
  void Show(double fraction, absl::string_view text);
  void Clear();

 private:
  const bool enabled_;
  bool shown_ = false;
  absl::Time next_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_TERMINAL_H_
