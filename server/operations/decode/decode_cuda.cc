// The GPU's side of DecodeBatch. CUDA builds only.
#include <algorithm>

#include "kernels/base/status_macros.h"
#include "kernels/ldpc/decode_gpu.h"
#include "server/jobs/cuda_copies.h"
#include "server/operations/decode/decode_batch.h"

namespace baseband::server {
namespace {

static_assert(sizeof(ldpc::DecodeBlock) <= 32, "DecodeJob's footprint counts 32 bytes a block");

// The kernels write whole words: blocks that end on one are already what the client gets.
bool IsDirect(const DecodeJob& job) {
  return std::all_of(job.groups().begin(), job.groups().end(), [](const DecodeGroup& group) {
    return group.bits_bytes() % 4 == 0 && group.soft_bytes() % 4 == 0;
  });
}

}  // namespace

absl::Status PrepareDecodeCuda() { return ldpc::PrepareDecodeKernels(); }
int64_t DecodeCudaWorkspaceBytes() { return ldpc::kMaxDecodeWorkspaceBytes; }

absl::Status DecodeBatch::CudaCopyIn(const CudaLaneView& lane) {
  if (!in_place_) input_ = InputLayout(jobs_, lane.capacity.input_bytes);
  // Where each block's bits and soft values go, job by job: a direct job's lie as in its reply.
  std::vector<Staged> places;
  places.reserve(blocks_.size());
  size_t next = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const bool direct = !in_place_ && IsDirect(job(i));
    int64_t bits_bytes = 0;
    int64_t soft_bytes = 0;
    for (const DecodeGroup& group : job(i).groups()) {
      bits_bytes += group.count * AlignUp(group.bits_bytes(), sizeof(uint32_t));
      soft_bytes += group.count * AlignUp(group.soft_bytes(), sizeof(uint32_t));
    }
    const int64_t bytes = soft_bytes > 0 ? AlignUp(bits_bytes) + soft_bytes : bits_bytes;
    int64_t bits_offset = output_.Add(bytes, direct ? &job(i).reply : nullptr);
    int64_t soft_offset = bits_offset + AlignUp(bits_bytes);
    for (const DecodeGroup& group : job(i).groups()) {
      for (int64_t b = 0; b < group.count; ++b, ++next) {
        places.push_back({&blocks_[next], bits_offset, soft_offset});
        if (!direct) {
          staged_.push_back(places.back());
        }
        bits_offset += AlignUp(group.bits_bytes(), sizeof(uint32_t));
        soft_offset += AlignUp(group.soft_bytes(), sizeof(uint32_t));
      }
    }
  }
  // Few are written by the kernels where the host reads them: a copy would take longer.
  const auto results_bytes = static_cast<int64_t>(blocks_.size() * sizeof(ldpc::DecodeResult));
  copies_results_ = results_bytes > kMaxInPlaceBytes;
  results_offset_ =
      copies_results_ ? output_.Add(results_bytes, nullptr) : output_.Reserve(results_bytes);

  auto* descriptor = reinterpret_cast<ldpc::DecodeBlock*>(lane.control_host);
  for (const uint32_t b : GroupByShape()) {
    const Block& block = blocks_[b];
    const uint8_t* const payload = in_place_ ? job(block.job).input.data()
                                             : lane.input_device + input_.device_offset(block.job);
    descriptor->llr = reinterpret_cast<const int8_t*>(payload) + block.llr_offset;
    descriptor->llr_count = static_cast<uint32_t>(block.group->llr_count);
    descriptor->bits_offset = static_cast<uint32_t>(places[b].bits_offset);
    descriptor->num_filler = static_cast<uint32_t>(block.group->num_filler);
    descriptor->soft_offset =
        block.soft != nullptr ? static_cast<uint32_t>(places[b].soft_offset) : ldpc::kNoSoft;
    descriptor->result_index = b;
    ++descriptor;
  }
  if (in_place_) {
    return absl::OkStatus();
  }
  return CopyToDevice(static_cast<int64_t>(blocks_.size() * sizeof(ldpc::DecodeBlock)),
                      input_.runs(), lane);
}

absl::Status DecodeBatch::CudaRun(const CudaLaneView& lane) {
  const auto* descriptors = reinterpret_cast<const ldpc::DecodeBlock*>(
      in_place_ ? lane.control_host : lane.control_device);
  uint8_t* const output = in_place_ ? lane.output_staging_host : lane.output_device;
  for (const Launch& shape : launches_) {
    ldpc::DecodeBatch launch;
    launch.code = shape.group->code.get();
    launch.parameters = shape.group->parameters;
    launch.blocks = descriptors + shape.begin;
    launch.num_blocks = static_cast<int>(shape.count);
    launch.bits = output;
    launch.sharers = lane.sharers;
    // Null where nobody asks: few blocks without have kernels of their own.
    if (shape.group->soft_output) launch.soft = reinterpret_cast<int8_t*>(output);
    launch.results = reinterpret_cast<ldpc::DecodeResult*>(
        (copies_results_ ? lane.output_device : lane.output_staging_host) + results_offset_);
    if (ldpc::DecodeWorkspaceBytes(*launch.code, launch.parameters) == 0) {
      BASEBAND_RETURN_IF_ERROR(ldpc::LaunchDecode(launch, lane.stream));
    } else {
      launch.workspace = lane.workspace;
      BASEBAND_RETURN_IF_ERROR(
          lane.with_workspace([&] { return ldpc::LaunchDecode(launch, lane.stream); }));
    }
  }
  return absl::OkStatus();
}

absl::Status DecodeBatch::CudaCopyOut(const CudaLaneView& lane) {
  output_staging_ = lane.output_staging_host;
  return in_place_ ? absl::OkStatus()
                   : CopyFromDevice(output_.Runs(lane.output_staging_host), lane);
}

}  // namespace baseband::server
