// What `downconvert` prints.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_REPORT_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/ctl/common/front_end.h"
#include "client/ctl/downconvert/downconvert_flags.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// What came of one channel.
struct ChannelTotals {
  int64_t samples = 0;
  int64_t saturated = 0;
  std::string path;  // of its file; empty: none
};

struct DownconvertTotals {
  std::vector<v1::ChannelDescription> descriptions;
  std::vector<ChannelTotals> channels;
  int64_t samples = 0;  // of the input
  int64_t end = 0;      // index behind the last of them
  int64_t bytes = 0;
  int64_t messages = 0;
  int64_t gaps = 0;
  int64_t missing = 0;  // samples in them
  absl::Duration wall;
  double kernel_us = 0;  // of all messages together
};

struct DownconvertReport {
  std::string input;
  std::string format;  // of its samples: "ci16"
  DownconvertPlan plan;
  DownconvertTotals totals;
  FrontEnd front_end;  // of the input, as it was
  WantedCorrection wanted;
};

// The table of channels, at most `max_rows` of them, and the totals.
std::string ToText(const DownconvertReport& report, int max_rows);
// Each channel as it is: frequency, rate, filter.
std::string DescribeChannels(const DownconvertPlan& plan,
                             const std::vector<v1::ChannelDescription>& descriptions);
// Both, for programs.
nlohmann::ordered_json ToJson(const DownconvertReport& report);

// "9123457/64000000".
std::string ToText(const v1::Fraction& fraction);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_REPORT_H_
