// When the server is to stop decoding a code block, as people say it.
#ifndef BASEBAND_CLIENT_CTL_SHARED_CHANNEL_EARLY_STOP_H_
#define BASEBAND_CLIENT_CTL_SHARED_CHANNEL_EARLY_STOP_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::ctl {

inline constexpr char kParityStop[] = "parity";  // what is meant where nothing is said

// "parity", "crc", "none".
std::vector<std::string> NamesOfEarlyStops();
v1::EarlyStop ParseEarlyStop(absl::string_view name);  // one of them
// --early-stop, which takes those names.
CLI::Option* AddEarlyStopFlag(CLI::App* app, std::string* name);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_SHARED_CHANNEL_EARLY_STOP_H_
