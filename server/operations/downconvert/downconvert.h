// Downconvert: what a job is, and how jobs lie in a batch.
#ifndef BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_H_
#define BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/gpu_plan.h"
#include "server/jobs/job.h"
#include "server/jobs/operation.h"

namespace baseband::server {

using DownconvertChannels = std::shared_ptr<const std::vector<downconvert::Channel>>;

// What a GPU is told to do: made for a job, which shares it with its copies, and moved on to the
// next one of its stream once that is done.
struct DownconvertPlan {
  DownconvertChannels channels;  // that it is of
  downconvert::gpu::GpuPlan gpu;
};
using DownconvertPlanPtr = std::shared_ptr<DownconvertPlan>;

// The first samples of a block, those that its request does not bring.
struct DownconvertPast {
  int64_t zeros = 0;              // samples that are zero, and after them
  std::vector<uint8_t> received;  // bytes of samples
  // Or all of them lie on a device: so many samples, the first of Job::objects.
  int64_t resident = 0;
};

// Where a job has left the last samples of its block for the next one of its stream.
struct KeptPast {
  Device* device = nullptr;  // null: nowhere
  ObjectKey key;
  int64_t end = 0;      // the sample of the signal that comes next
  int64_t samples = 0;  // before that
};
void Remove(const KeptPast& past);
// Less is sent along with the next request sooner than it is copied on the device, twice: on an
// H200 64 KiB in 16 us against 19, 128 KiB in 22 against 18, 1 MiB in 94 against 23.
inline constexpr int64_t kMinKeptBytes = 128 << 10;

// What the block takes of the input memory of a lane.
int64_t DownconvertInputBytes(const downconvert::Block& block);

// One piece of a wideband signal and all its channels.
class DownconvertJob : public Job {
 public:
  // `block` has passed CheckBlock; what is not in `past` is the request's payload. Computes
  // footprint, payload_bytes and reply_bytes. `plan`: that of the stream's last job, which is done,
  // or of one that asks for the same; or null.
  DownconvertJob(const Operation& operation, DownconvertChannels channels,
                 const downconvert::Block& block, DownconvertPast past,
                 DownconvertPlanPtr plan = nullptr);
  // What it has kept and nobody took goes.
  ~DownconvertJob() override;
  // Null of a message of a stream.
  JobPtr Copy() const override;
  int64_t kept_bytes() const override;

  absl::Span<const downconvert::Channel> channels() const { return *channels_; }
  const downconvert::Block& block() const { return block_; }
  // By channel: its outputs, and where in `reply` they begin.
  absl::Span<const downconvert::OutputRange> ranges() const { return ranges_; }
  absl::Span<const int64_t> reply_offsets() const { return reply_offsets_; }
  // Likewise where they begin in the memory of a lane, each on a multiple of 16; and their end.
  absl::Span<const int64_t> staging_offsets() const { return staging_offsets_; }
  int64_t staging_bytes() const { return staging_bytes_; }
  int64_t output_bytes(size_t channel) const {
    return ranges_[channel].count * downconvert::BytesPerOutput((*channels_)[channel].output);
  }
  // Of the block's samples, how many its request did not bring: the first ones.
  int64_t past_samples() const;

  // Wanted: a device is to keep the last `samples` of the block under that name, in an object of
  // `object_bytes`. What runs on the CPU device is not kept: it reads samples where requests lie.
  void Keep(std::string name, int64_t samples, int64_t object_bytes);
  absl::string_view keep_name() const { return keep_name_; }
  int64_t keep_bytes() const { return keep_bytes_; }
  int64_t keep_object_bytes() const { return keep_object_bytes_; }
  // Once it is done; whoever takes it removes the object.
  KeptPast kept;
  KeptPast TakeKept() { return std::exchange(kept, KeptPast()); }

  // Null without CUDA.
  const DownconvertPlan* plan() const { return plan_.get(); }
  // For the next job of the stream, once this one is done.
  DownconvertPlanPtr TakePlan() { return std::move(plan_); }
  // Scratch that it takes of a GPU; and whether it is so little, and so little else is to be done,
  // that it has its own, on its lane: jobs of other lanes run at the same time.
  int64_t workspace_bytes() const {
    return plan_ == nullptr ? 0 : static_cast<int64_t>(plan_->gpu.workspace_bytes());
  }
  bool has_lane_workspace() const { return has_lane_workspace_; }

  // Once it is done, by channel.
  std::vector<downconvert::ChannelResult> results;
  // Whether a sample of the block is not finite: then the outputs are nothing to send.
  bool has_non_finite() const;

 protected:
  const DownconvertChannels& shared_channels() const { return channels_; }
  const DownconvertPast& past() const { return past_; }
  const DownconvertPlanPtr& shared_plan() const { return plan_; }

 private:
  const DownconvertChannels channels_;
  const downconvert::Block block_;
  const DownconvertPast past_;
  DownconvertPlanPtr plan_;
  std::string keep_name_;
  int64_t keep_bytes_ = 0;
  int64_t keep_object_bytes_ = 0;
  std::vector<downconvert::OutputRange> ranges_;
  std::vector<int64_t> reply_offsets_;
  std::vector<int64_t> staging_offsets_;
  int64_t staging_bytes_ = 0;
  bool has_lane_workspace_ = false;
};

std::unique_ptr<Batch> MakeDownconvertBatch(std::vector<JobPtr> jobs);

// Channels of a tone on the lane of `bench`. Internal says what came out of them.
absl::Status TestDownconvert(const Operation& operation, SelfTestBench& bench);

// Loads the kernels on the GPU that is current.
absl::Status PrepareDownconvertCuda();

// The plan of a block; `last` may be it, or be moved on to become it. Null without CUDA.
DownconvertPlanPtr PlanDownconvert(DownconvertChannels channels, const downconvert::Block& block,
                                   absl::Span<const int64_t> output_offsets,
                                   DownconvertPlanPtr last);
inline constexpr int64_t kMaxDownconvertWorkspaceBytes = int64_t{512} << 20;

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_H_
