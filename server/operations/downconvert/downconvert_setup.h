// The setup of a down-conversion as it comes over the wire, shared by Downconvert and
// DownconvertStream.
#ifndef BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_SETUP_H_
#define BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_SETUP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/base/continue_check.h"
#include "kernels/downconvert/downconvert.h"
#include "server/operations/downconvert/downconvert.h"
#include "server/operations/downconvert/downconvert_filters.h"

namespace baseband::server {

// Retunes that a request has, or a stream waits for, at most: baseband.proto says so.
inline constexpr int64_t kMaxRetunesOfChannel = 4096;
inline constexpr int64_t kMaxRetunes = 16384;
// What the filters of one stream may need of its past, and those of a request of zeros.
inline constexpr int64_t kMaxHistoryBytes = 16 << 20;

// All but the samples.
struct DownconvertSetup {
  double sample_rate_hz = 0.0;
  downconvert::InputFormat format = downconvert::InputFormat::kInt16;
  float scale = 1.0F;
  DownconvertChannels channels;                     // without retunes
  std::vector<downconvert::Frequency> frequencies;  // by channel

  int64_t bytes_per_sample() const { return downconvert::BytesPerSample(format); }
};

// InvalidArgument names field, value and range: "setup.channels[3].filter.down 0 ..". Nothing: a
// filter has to be designed, and there is no `may_continue` to ask. `client` asks for it.
absl::StatusOr<absl::optional<DownconvertSetup>> SetupFromProto(const v1::DownconvertSetup& message,
                                                                DownconvertFilters& filters,
                                                                absl::string_view client,
                                                                const ContinueCheck* may_continue);

using RetuneMessages = google::protobuf::RepeatedPtrField<v1::Retune>;
// Gives the channels their retunes, none of which is before sample `first`, and takes those from
// them that are over before sample `keep_from`. The channels stay the same ones, shared with who
// has them, if nothing changes, and else are new ones. InvalidArgument names "retunes[i]. ..".
absl::Status ApplyRetunes(const RetuneMessages& messages, const DownconvertSetup& setup,
                          int64_t first, int64_t keep_from, DownconvertChannels* channels);

// Samples of a payload. InvalidArgument if it ends within one, or holds none.
absl::StatusOr<int64_t> CountSamples(int64_t payload_bytes, const DownconvertSetup& setup);
// InvalidArgument if an index goes beyond 2^62.
absl::Status CheckSamples(uint64_t first_sample, int64_t num_samples);
// Whether a server may keep so many samples of the past for the filters.
absl::Status CheckPast(const DownconvertSetup& setup, int64_t past_samples);
// Whether a job of the block, which begins with `past_samples` that its payload does not bring, can
// be; `max_input_bytes` is what a device takes at a time.
absl::Status CheckBlock(const DownconvertChannels& channels, const downconvert::Block& block,
                        int64_t past_samples, int64_t max_input_bytes);
// Whether the job can be run here.
absl::Status CheckJob(const DownconvertJob& job);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_SETUP_H_
