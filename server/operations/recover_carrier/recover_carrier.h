// RecoverCarrier: what a job is, and how jobs lie in a batch.
#ifndef BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_H_
#define BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"
#include "kernels/timing/timing.h"
#include "server/jobs/job.h"
#include "server/jobs/operation.h"

namespace baseband::server {

// By carrier::Lock, as metrics and the self-test call them.
inline constexpr std::array<const char*, 5> kLockNames = {"locked", "no_signal", "no_peak",
                                                          "ambiguous", "bad_fit"};
static_assert(static_cast<size_t>(carrier::Lock::kBadFit) == kLockNames.size() - 1);
// By timing::Lock.
inline constexpr std::array<const char*, 4> kTimingLockNames = {"locked", "no_signal", "no_line",
                                                                "too_short"};
static_assert(static_cast<size_t>(timing::Lock::kTooShort) == kTimingLockNames.size() - 1);

// `count` frames recovered alike.
struct RecoverCarrierGroup {
  carrier::ModelPtr model;
  carrier::Parameters parameters;
  timing::PulsePtr pulse;  // of frames that come as samples; null: they come as symbols
  timing::Parameters timing;
  int64_t count = 0;
  int frame_samples = 0;           // with `pulse`
  int frame_symbols = 0;           // with it SymbolsOf the samples
  std::vector<carrier::Iq> known;  // [frame_symbols] or empty, as RecoverOnCpu takes them
  carrier::Reach reach;
  carrier::Curve curve;         // of each frame; no points: not wanted
  double symbol_rate_hz = 0.0;  // 0: unknown

  bool has_timing() const { return pulse != nullptr; }
  // Samples or symbols of a frame, as it comes.
  int received() const { return has_timing() ? frame_samples : frame_symbols; }
  int64_t frame_bytes() const {
    return int64_t{received()} * carrier::BytesPerSymbol(parameters.format);
  }
  int64_t corrected_bytes() const {
    return parameters.want_corrected
               ? int64_t{frame_symbols} * carrier::BytesPerSymbol(parameters.format)
               : 0;
  }
  int64_t curve_bytes() const { return int64_t{curve.num_points} * sizeof(float); }
};

class RecoverCarrierJob final : public Job {
 public:
  // Computes footprint, payload_bytes and reply_bytes. At least one group, each with count >= 1.
  RecoverCarrierJob(const Operation& operation, std::vector<RecoverCarrierGroup> groups);

  absl::Span<const RecoverCarrierGroup> groups() const { return groups_; }

  // `reply` holds the corrected symbols of all frames, then from curves_offset() on their curves.
  int64_t corrected_bytes() const { return corrected_bytes_; }
  int64_t curves_offset() const;
  int64_t curves_bytes() const { return curves_bytes_; }

  std::vector<carrier::Result> results;  // by frame
  std::vector<timing::Result> timings;   // by frame of the groups with timing

 private:
  const std::vector<RecoverCarrierGroup> groups_;
  int64_t corrected_bytes_ = 0;
  int64_t curves_bytes_ = 0;
};

std::unique_ptr<Batch> MakeRecoverCarrierBatch(std::vector<JobPtr> jobs);

// A known carrier on the lane of `bench`, as symbols and as samples. Internal says what was found.
absl::Status TestRecoverCarrier(const Operation& operation, SelfTestBench& bench);

// Loads the kernels on the GPU that is current.
absl::Status PrepareRecoverCarrierCuda();
// Scratch on a GPU: many of the longest frames at a time.
inline constexpr int64_t kRecoverCarrierWorkspaceBytes = int64_t{512} << 20;

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_H_
