// The GPU's side of EncodeBatch. CUDA builds only.
#include <algorithm>
#include <map>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/ldpc/encode_gpu.h"
#include "server/jobs/cuda_copies.h"
#include "server/operations/encode/encode_batch.h"

namespace baseband::server {
namespace {

// The kernels write whole words: parity that ends on one is already what the client gets.
bool IsDirect(const EncodeJob& job) {
  return std::all_of(job.groups().begin(), job.groups().end(), [](const EncodeGroup& group) {
    return group.output == EncodeOutput::kParity && group.parity_bytes() % 4 == 0;
  });
}

}  // namespace

// Whether there are many blocks, and many of a code: a tile is encoded once for each code in it.
bool EncodeBatch::MakesTiles() const {
  constexpr size_t kLeastOfACode = 128;
  return blocks_.size() >=
         std::max(size_t{ldpc::kLeastTiledBlocks}, kLeastOfACode * tables_.size());
}

// Orders codes as tiles want it, the large ones first.
std::pair<int, uint32_t> EncodeBatch::KeyOf(const EncodeGroup& group) const {
  return {-group.code->k(), tables_.At(*group.code)};
}

// Where the descriptors of each code begin, if those of one code are to follow each other.
std::map<std::pair<int, uint32_t>, size_t> EncodeBatch::DescriptorPlaces() const {
  std::map<std::pair<int, uint32_t>, size_t> places;
  if (tile_bytes_ == 0) return places;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    for (const EncodeGroup& group : job(i).groups()) {
      places[KeyOf(group)] += static_cast<size_t>(group.count);
    }
  }
  size_t end = 0;
  for (auto& [key, place] : places) end += std::exchange(place, end);
  return places;
}

absl::Status PrepareEncodeCuda() { return ldpc::PrepareEncodeKernels(); }

absl::Status EncodeBatch::CudaCopyIn(const CudaLaneView& lane) {
  if (!in_place_) input_ = InputLayout(jobs_, lane.capacity.input_bytes);
  const auto descriptors =
      absl::MakeSpan(reinterpret_cast<ldpc::EncodeBlock*>(lane.control_host), blocks_.size());
  for (size_t i = 0; i < jobs_.size(); ++i) {
    for (const EncodeGroup& group : job(i).groups()) {
      BASEBAND_RETURN_IF_ERROR(tables_.Add(group.code, lane));
      shared_bytes_ = std::max(shared_bytes_, ldpc::EncodeSharedBytes(*group.code));
      tile_bytes_ = std::max(tile_bytes_, ldpc::EncodeTileBytes(*group.code));
    }
  }
  auto control_end = AlignUp(static_cast<int64_t>(descriptors.size() * sizeof(ldpc::EncodeBlock)));
  tables_.Place(lane, &control_end);
  if (!MakesTiles()) tile_bytes_ = 0;
  std::map<std::pair<int, uint32_t>, size_t> place_of = DescriptorPlaces();
  size_t place_of_all = 0;
  size_t next = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const bool direct = !in_place_ && IsDirect(job(i));
    const uint8_t* const payload =
        in_place_ ? job(i).input.data() : lane.input_device + input_.device_offset(i);
    int64_t parity_offset =
        output_.Add(job(i).footprint.output_bytes, direct ? &job(i).reply : nullptr);
    for (const EncodeGroup& group : job(i).groups()) {
      const uint32_t table_offset = tables_.At(*group.code);
      size_t& place = tile_bytes_ > 0 ? place_of[KeyOf(group)] : place_of_all;
      for (int64_t b = 0; b < group.count; ++b, ++next) {
        const Block& block = blocks_[next];
        ldpc::EncodeBlock& descriptor = descriptors[place++];
        descriptor.table_offset = table_offset;
        descriptor.info = payload + (block.info - job(i).input.data());
        descriptor.info_bits = static_cast<uint32_t>(group.info_bits());
        descriptor.parity_offset = static_cast<uint32_t>(parity_offset);
        if (!direct) {
          staged_.push_back({&block, parity_offset});
        }
        parity_offset += AlignUp(group.parity_bytes(), sizeof(uint32_t));
      }
    }
  }
  if (in_place_) {
    return absl::OkStatus();
  }
  return CopyToDevice(control_end, input_.runs(), lane);
}

absl::Status EncodeBatch::CudaRun(const CudaLaneView& lane) {
  const uint8_t* const control = in_place_ ? lane.control_host : lane.control_device;
  ldpc::EncodeBatch launch;
  launch.blocks = reinterpret_cast<const ldpc::EncodeBlock*>(control);
  launch.blocks_host = reinterpret_cast<const ldpc::EncodeBlock*>(lane.control_host);
  launch.num_blocks = static_cast<int>(blocks_.size());
  launch.tables = tables_.memory(lane, control);
  launch.parity = in_place_ ? lane.output_staging_host : lane.output_device;
  launch.shared_bytes = shared_bytes_;
  launch.tile_bytes = tile_bytes_;
  if (in_place_ && lane.resident != nullptr && tables_.AreThere(lane) &&
      ldpc::FitsResident(launch)) {
    return ldpc::PostEncode(launch, lane.resident);
  }
  return ldpc::LaunchEncode(launch, lane.stream);
}

absl::Status EncodeBatch::CudaCopyOut(const CudaLaneView& lane) {
  output_staging_ = lane.output_staging_host;
  return in_place_ ? absl::OkStatus()
                   : CopyFromDevice(output_.Runs(lane.output_staging_host), lane);
}

}  // namespace baseband::server
