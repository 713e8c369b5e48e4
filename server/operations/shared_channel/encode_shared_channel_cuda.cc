// The GPU's side of EncodeSharedChannelBatch. CUDA builds only.
#include <algorithm>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/ldpc/encode.h"
#include "kernels/nr/transmit_gpu.h"
#include "server/jobs/cuda_copies.h"
#include "server/operations/shared_channel/encode_shared_channel_batch.h"

namespace baseband::server {
namespace {

static_assert(sizeof(nr::TransmitTb) <= 192 && sizeof(nr::TransmitBlock) <= 8 &&
                  nr::TransmitWorkspaceBytes(1) <= 24,
              "EncodeSharedChannelJob's footprint counts 192 bytes a block, 8 and 24 a code block");

// The kernels write whole words, and symbols at multiples of 8 bytes: blocks that end there are
// already what the client gets.
bool IsDirect(const EncodeSharedChannelJob& job) {
  return std::all_of(job.groups().begin(), job.groups().end(),
                     [](const auto& group) { return group.output_bytes() % 8 == 0; });
}

}  // namespace

absl::Status PrepareEncodeSharedChannelCuda() { return nr::PrepareTransmitKernels(); }

absl::Status EncodeSharedChannelBatch::CudaCopyIn(const CudaLaneView& lane) {
  input_ = InputLayout(jobs_, lane.capacity.input_bytes);
  auto* const tbs = reinterpret_cast<nr::TransmitTb*>(lane.control_host);
  blocks_offset_ = AlignUp(static_cast<int64_t>(blocks_.size() * sizeof(nr::TransmitTb)));
  auto* piece = reinterpret_cast<nr::TransmitBlock*>(lane.control_host + blocks_offset_);
  int64_t control_end =
      blocks_offset_ + AlignUp(static_cast<int64_t>(pieces_.size() * sizeof(nr::TransmitBlock)));
  for (size_t i = 0; i < jobs_.size(); ++i) {
    for (const EncodeSharedChannelGroup& group : job(i).groups()) {
      BASEBAND_RETURN_IF_ERROR(tables_.Add(group.code, lane));
      shared_bytes_ = std::max(shared_bytes_, nr::TransmitSharedBytes(*group.code));
    }
  }
  tables_.Place(lane, &control_end);
  size_t next = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    int64_t bytes = 0;
    for (const EncodeSharedChannelGroup& group : job(i).groups()) {
      bytes += group.count * AlignUp(group.output_bytes(), sizeof(uint64_t));
    }
    const bool direct = IsDirect(job(i));
    int64_t offset = output_.Add(bytes, direct ? &job(i).reply : nullptr);
    for (const EncodeSharedChannelGroup& group : job(i).groups()) {
      nr::TransmitTb tb = nr::MakeTransmitTb(group.block.plan);
      tb.table_offset = tables_.At(*group.code);
      if (group.block.c_init.has_value()) tb.c_init = *group.block.c_init;
      if (group.symbols.has_value()) {
        tb.as_symbols = 1;
        tb.layout = *group.symbols;
      }
      for (int64_t b = 0; b < group.count; ++b, ++next) {
        const Block& block = *blocks_[next];
        tb.payload = lane.input_device + input_.device_offset(i) + block.payload_offset;
        tb.out = lane.output_device + offset;
        tbs[next] = tb;
        for (int r = 0; r < group.block.plan.num_blocks; r += nr::kTransmitBlocks) {
          piece->tb = static_cast<uint32_t>(next);
          piece->r = static_cast<uint32_t>(r);
          ++piece;
          ++num_launched_;
        }
        if (!direct) staged_.push_back({&block, offset});
        offset += AlignUp(group.output_bytes(), sizeof(uint64_t));
      }
    }
  }
  workspace_offset_ = output_.Reserve(nr::TransmitWorkspaceBytes(num_launched_));
  return CopyToDevice(control_end, input_.runs(), lane);
}

absl::Status EncodeSharedChannelBatch::CudaRun(const CudaLaneView& lane) {
  nr::TransmitBatch launch;
  launch.tbs = reinterpret_cast<const nr::TransmitTb*>(lane.control_device);
  launch.blocks = reinterpret_cast<const nr::TransmitBlock*>(lane.control_device + blocks_offset_);
  launch.num_blocks = num_launched_;
  launch.tables = tables_.memory(lane, lane.control_device);
  launch.shared_bytes = shared_bytes_;
  launch.workspace = lane.output_device + workspace_offset_;
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
      cudaMemsetAsync(launch.workspace, 0,
                      static_cast<size_t>(nr::TransmitWorkspaceBytes(num_launched_)), lane.stream),
      "cudaMemsetAsync"));
  return nr::LaunchTransmit(launch, lane.stream);
}

absl::Status EncodeSharedChannelBatch::CudaCopyOut(const CudaLaneView& lane) {
  output_staging_ = lane.output_staging_host;
  return CopyFromDevice(output_.Runs(lane.output_staging_host), lane);
}

}  // namespace baseband::server
