// The setup of a down-conversion as it comes over the wire, shared by Downconvert and
// DownconvertStream.
#ifndef BASEBAND_SERVER_CONVERTERS_DOWNCONVERT_SETUP_H_
#define BASEBAND_SERVER_CONVERTERS_DOWNCONVERT_SETUP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/downconvert/downconvert.h"
#include "server/converters/recent_cache.h"
#include "server/limits/slow_path_executor.h"
#include "server/metrics/metrics.h"
#include "server/operations/downconvert.h"

namespace baseband::server {

// Turns messages into filters. Keeps those that were used last, for to design one may take seconds.
// Thread-safe.
class DownconvertFilters {
 public:
  // InvalidArgument names field, value and range. Aborted: a filter would have to be designed, and
  // `may_continue` is empty.
  absl::StatusOr<downconvert::FilterPtr> FromProto(const v1::ChannelFilter& message,
                                                   double sample_rate_hz,
                                                   const ContinueCheck& may_continue);

 private:
  static constexpr size_t kMaxFilters = 1024;
  static constexpr int64_t kMaxFilterBytes = 64 << 20;
  RecentCache<downconvert::FilterPtr> recent_{kMaxFilters, kMaxFilterBytes};
};

// All but the samples.
struct DownconvertSetup {
  double sample_rate_hz = 0.0;
  downconvert::InputFormat format = downconvert::InputFormat::kInt16;
  float scale = 1.0F;
  std::vector<downconvert::Channel> channels;
  std::vector<downconvert::Frequency> frequencies;  // by channel, at first

  int64_t bytes_per_sample() const { return downconvert::BytesPerSample(format); }
};

// InvalidArgument names field, value and range: "setup.channels[3].filter.down 0 ..". Aborted, and
// what `may_continue` says, as DownconvertFilters has it.
absl::StatusOr<DownconvertSetup> SetupFromProto(const v1::DownconvertSetup& message,
                                                DownconvertFilters& filters,
                                                const ContinueCheck& may_continue);

// The retunes of each channel, in the order given. InvalidArgument names "retunes[i]. ..".
absl::StatusOr<std::vector<std::vector<downconvert::Retune>>> RetunesFromProto(
    const google::protobuf::RepeatedPtrField<v1::Retune>& messages, const DownconvertSetup& setup);

// Gives each channel its retunes; samples before `keep_from` will not be asked for again.
absl::Status ApplyRetunes(const std::vector<std::vector<downconvert::Retune>>& retunes,
                          int64_t keep_from, std::vector<downconvert::Channel>* channels);

// Samples of a payload. InvalidArgument if it ends within one, or holds none.
absl::StatusOr<int64_t> CountSamples(int64_t payload_bytes, const DownconvertSetup& setup);
// InvalidArgument if an index goes beyond 2^62.
absl::Status CheckSamples(uint64_t first_sample, int64_t num_samples);
// Whether a job of this block can be run here.
absl::Status CheckJob(absl::Span<const downconvert::Channel> channels,
                      const downconvert::Block& block);

void DescribeChannels(const DownconvertSetup& setup, v1::DownconvertResponse* response);

// The response of a job that is done, but for what the caller knows better.
void FillResponse(const DownconvertJob& job, v1::DownconvertResponse* response);
// What a job of `new_samples` samples came to.
void CountDownconvert(const DownconvertJob& job, Metrics& metrics);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONVERTERS_DOWNCONVERT_SETUP_H_
