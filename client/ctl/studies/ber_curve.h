// One point of an error-rate curve, measured through the server.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_BER_CURVE_H_
#define BASEBAND_CLIENT_CTL_STUDIES_BER_CURVE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/client.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/common/session.h"
#include "client/ctl/ldpc/error_rate.h"

namespace baseband::ctl {

struct PointSpec {
  v1::DecodeGroup decode;  // with code, fillers and llr_count; its count is ignored
  double ebn0_db = 0;
  uint64_t seed = 1;
  int64_t frames_per_request = 128;
  // Ends after the first request that reaches one of them.
  int64_t min_frame_errors = 100;
  int64_t max_frames = 100000;
};

// Information bits per bit that carries something on the channel: fillers do not.
double CodeRate(const v1::DecodeGroup& decode, const client::CodeShape& shape);

// Random information through Encode, the channel and Decode, with flags.in_flight requests at a
// time. Requests count in the order of their numbers, and each has its own random sequence from
// (seed, ebn0_db, number): the result depends on neither timing nor the decoder's settings, so
// curves of different decoders see the same noise. `progress` gets the counts so far, from any
// thread, one call at a time. Statuses: those of the calls.
absl::StatusOr<ErrorRate> MeasurePoint(client::Client* client, const GlobalFlags& flags,
                                       const PointSpec& spec,
                                       const std::function<void(const ErrorRate&)>& progress);

// What `flag` gives: "1,1.5,2" and "0:0.25:3" (begin:step:end, both ends included), joined by
// commas. Sorted, without doubles, at most 1000. `notes`, if there are any to be taken, get a line
// for a range that ends before its end.
absl::StatusOr<std::vector<double>> ParseDecibels(absl::string_view flag, absl::string_view text,
                                                  std::vector<std::string>* notes = nullptr);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_BER_CURVE_H_
