// What the forms of `demo` have in common: a file goes in, and comes out again with a report.
#ifndef BASEBAND_CLIENT_CTL_DEMO_DEMO_RUN_H_
#define BASEBAND_CLIENT_CTL_DEMO_DEMO_RUN_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "client/ctl/ldpc/transfer.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {

struct DemoInput {
  std::string name;
  std::string data;   // one byte or more
  uint64_t seed = 1;  // of the noise
};

struct DemoOutcome {
  std::string recovered;
  bool equal = false;
  std::string text;  // the report for people, and for programs
  nlohmann::ordered_json json;
};

// "1.25 Gb/s".
std::string RateText(int64_t bits, absl::Duration time);
// What the server says of its part, in two lines.
std::string ServerText(const TransferTimes& times);
nlohmann::ordered_json ToJson(const TransferTimes& times);
// The last line.
std::string Verdict(bool equal);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DEMO_DEMO_RUN_H_
