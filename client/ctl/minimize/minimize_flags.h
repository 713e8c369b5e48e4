// The flags of `minimize`, and the request that they make.
#ifndef BASEBAND_CLIENT_CTL_MINIMIZE_MINIMIZE_FLAGS_H_
#define BASEBAND_CLIENT_CTL_MINIMIZE_MINIMIZE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::ctl {

struct MinimizeFlags {
  std::string expression;
  std::string builtin;               // "schwefel", "sinusoids", "chirp", "delay-doppler"
  std::vector<std::string> axes;     // [NAME=]BEGIN:STEP:END
  std::vector<std::string> scalars;  // NAME=VALUE
  std::vector<std::string> arrays;   // NAME=FILE
  std::string signal;                // FILE
  std::string replica;               // FILE
  std::vector<std::string> columns;  // FILE
  double interval_s = 1;
  bool is_complex = false;
  bool maximum = false;
  bool float32 = false;
  std::string method;
  bool fail_on_nan = false;
  uint32_t top = 1;
  std::vector<uint64_t> separation;
  std::string refinement;
  std::string profile;  // NAME or NAME:BINS
  uint64_t first_point = 0;
  uint64_t num_points = 0;
};

void AddMinimizeFlags(CLI::App* command, MinimizeFlags* flags);

// [NAME=]BEGIN:STEP:END, all points from BEGIN to END, both included if END is one; or
// [NAME=]BEGIN:STEP*COUNT. Numbers take k, M, G. InvalidArgument quotes what is wrong. `notes`, if
// there are any to be taken, get a line for an axis that ends before its END.
absl::StatusOr<v1::GridAxis> ParseAxis(absl::string_view text,
                                       std::vector<std::string>* notes = nullptr);

absl::StatusOr<v1::MinimizeRequest> ToMinimizeRequest(const MinimizeFlags& flags,
                                                      std::vector<std::string>* notes = nullptr);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_MINIMIZE_MINIMIZE_FLAGS_H_
