// The GPU's side of DecodeSharedChannelBatch. CUDA builds only.
#include <algorithm>
#include <cstring>

#include "kernels/base/status_macros.h"
#include "kernels/ldpc/decode_gpu.h"
#include "kernels/nr/receive_gpu.h"
#include "kernels/nr/soft_pack_gpu.h"
#include "server/jobs/cuda_copies.h"
#include "server/operations/shared_channel/decode_shared_channel_batch.h"

namespace baseband::server {
namespace {

static_assert(sizeof(nr::ReceiveTb) + sizeof(nr::CheckTb) <= 288 &&
                  sizeof(nr::DematchBlock) + sizeof(ldpc::DecodeBlock) + sizeof(nr::CheckBlock) +
                          sizeof(nr::SoftPackBlock) <=
                      112 &&
                  sizeof(ldpc::DecodeResult) + sizeof(nr::CheckResult) + sizeof(uint32_t) <= 16,
              "DecodeSharedChannelJob's footprint counts so many bytes a block and a code block");

// All but where it lies.
nr::ReceiveTb ReceiveTbOf(const DecodeSharedChannelGroup& group) {
  nr::ReceiveTb tb = nr::MakeReceiveTb(group.block.plan);
  if (group.block.c_init.has_value()) tb.c_init = *group.block.c_init;
  if (group.is_symbols) {
    tb.as_symbols = 1;
    tb.noise_format = group.demap.noise_format;
    tb.noise_variance = group.demap.noise_variance;
    tb.log_sum = group.demap.log_sum ? 1 : 0;
    tb.demap = nr::MakeDemapScale(group.demap);
    tb.layout = group.demap.layout;
  } else {
    tb.llr_format = group.llr_format;
    tb.llr_format_scale = group.llr_scale;
    tb.mean_llr = group.mean_llr;
  }
  return tb;
}

}  // namespace

absl::Status PrepareDecodeSharedChannelCuda() {
  BASEBAND_RETURN_IF_ERROR(ldpc::PrepareDecodeKernels());
  BASEBAND_RETURN_IF_ERROR(nr::PrepareSoftPackKernels());
  return nr::PrepareReceiveKernels();
}

// Each job's payloads and soft bits lie in output memory block by block, from where they are
// brought into the reply's shape: payloads of a job whose blocks all end on a word come straight
// into it.
void DecodeSharedChannelBatch::PlaceOutputs() {
  size_t next = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const size_t first = next;
    int64_t bits_bytes = 0;
    int64_t soft_bytes = 0;
    bool direct = true;
    for (const DecodeSharedChannelGroup& group : job(i).groups()) {
      direct &= group.block.payload_bytes() % 4 == 0;
      for (int64_t b = 0; b < group.count; ++b, ++next) {
        Block& block = *blocks_[next];
        block.bits_offset = bits_bytes;
        block.soft_offset = soft_bytes;
        bits_bytes += AlignUp(group.block.payload_bytes(), sizeof(uint32_t));
        if (group.soft_out) soft_bytes += group.block.plan.num_blocks * group.soft_stride();
      }
    }
    const int64_t bits_at = output_.Add(bits_bytes, direct ? &job(i).reply : nullptr);
    const int64_t soft_at = soft_bytes > 0 ? output_.Add(soft_bytes, nullptr) : 0;
    for (size_t b = first; b < next; ++b) {
      blocks_[b]->bits_offset += bits_at;
      blocks_[b]->soft_offset += soft_at;
      blocks_[b]->is_staged = !direct;
    }
  }
  const auto count = static_cast<int64_t>(pieces_.size());
  offsets_.decode_results =
      output_.Add(count * static_cast<int64_t>(sizeof(ldpc::DecodeResult)), nullptr);
  offsets_.check_results =
      output_.Add(count * static_cast<int64_t>(sizeof(nr::CheckResult)), nullptr);
  offsets_.unusable = output_.Add(count * static_cast<int64_t>(sizeof(uint32_t)), nullptr);
  // What stays on the device.
  int64_t decided_bytes = 0;
  int64_t kept_bytes = 0;
  for (const auto& block : blocks_) {
    const DecodeSharedChannelGroup& group = *block->group;
    const int num_blocks = group.block.plan.num_blocks;
    decided_bytes += num_blocks * group.decided_bytes();
    if (!group.soft_out && (block->held == nullptr || block->is_packed())) {
      block->soft_offset = kept_bytes;
      kept_bytes += num_blocks * group.soft_stride();
    }
  }
  offsets_.decided_bits = output_.Reserve(decided_bytes);
  const int64_t kept_at = output_.Reserve(kept_bytes);
  for (const auto& block : blocks_) {
    if (!block->group->soft_out && (block->held == nullptr || block->is_packed())) {
      block->soft_offset += kept_at;
    }
  }
}

void DecodeSharedChannelBatch::Describe(const CudaLaneView& lane) {
  uint8_t* const control = lane.control_host;
  int64_t end = 0;
  const auto place = [&end](size_t count, size_t bytes) {
    const int64_t offset = end;
    end += AlignUp(static_cast<int64_t>(count * bytes));
    return offset;
  };
  place(blocks_.size(), sizeof(nr::ReceiveTb));
  offsets_.dematch_blocks = place(pieces_.size(), sizeof(nr::DematchBlock));
  offsets_.decode_blocks = place(pieces_.size(), sizeof(ldpc::DecodeBlock));
  offsets_.check_tbs = place(blocks_.size(), sizeof(nr::CheckTb));
  offsets_.check_blocks = place(pieces_.size(), sizeof(nr::CheckBlock));
  offsets_.pack_blocks = place(pieces_.size(), sizeof(nr::SoftPackBlock));
  offsets_.control_end = end;

  auto* const receive = reinterpret_cast<nr::ReceiveTb*>(control);
  auto* const dematch = reinterpret_cast<nr::DematchBlock*>(control + offsets_.dematch_blocks);
  auto* const check = reinterpret_cast<nr::CheckTb*>(control + offsets_.check_tbs);
  auto* check_block = reinterpret_cast<nr::CheckBlock*>(control + offsets_.check_blocks);
  std::vector<ldpc::DecodeBlock> decode;
  decode.reserve(pieces_.size());
  const DecodeSharedChannelGroup* group = nullptr;
  nr::ReceiveTb receive_tb;
  nr::CheckTb check_tb;
  int64_t decided_offset = offsets_.decided_bits;
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    Block& block = *blocks_[b];
    if (block.group != group) {
      group = block.group;
      receive_tb = ReceiveTbOf(*group);
      check_tb = nr::MakeCheckTb(group->block.plan);
    }
    const uint8_t* const payload =
        lane.input_device + input_.device_offset(block.job) + block.payload_offset;
    receive[b] = receive_tb;
    receive[b].received = payload + group->received_offset();
    if (group->noise_bytes() > 0) receive[b].noise = payload + group->noise_offset();
    check[b] = check_tb;
    check[b].payload = lane.output_device + block.bits_offset;

    const auto n_cb = static_cast<uint32_t>(group->block.n_cb());
    const uint32_t decoded = std::min(n_cb, static_cast<uint32_t>(group->code->num_sent()));
    const uint32_t wanted = group->soft_out || block.held != nullptr ? n_cb : decoded;
    for (const nr::RateMatch* shape : {&group->block.plan.of_short, &group->block.plan.of_long}) {
      shared_bytes_ = std::max(shared_bytes_, nr::DematchSharedBytes(*shape, wanted));
    }
    const bool is_in_place = block.held != nullptr && !block.is_packed();
    auto* soft = reinterpret_cast<int8_t*>(is_in_place ? block.held_soft(0)
                                                       : lane.output_device + block.soft_offset);
    check[b].soft = soft;
    check[b].soft_stride = static_cast<uint32_t>(group->soft_stride());
    check[b].soft_count = decoded;
    block.first_dematch = static_cast<size_t>(num_dematch_);
    for (uint32_t r = 0; r < static_cast<uint32_t>(group->block.plan.num_blocks); ++r) {
      if (!block.repeats()) {
        nr::DematchBlock& descriptor = dematch[num_dematch_++];
        descriptor.tb = b;
        descriptor.r = r;
        descriptor.soft = soft;
        descriptor.soft_count = wanted;
        descriptor.old_soft = nullptr;
        if (group->soft_in) {
          descriptor.old_soft = reinterpret_cast<const int8_t*>(payload) + int64_t{r} * n_cb;
        } else if (block.combines()) {
          descriptor.old_soft = soft;
        }
      }
      ldpc::DecodeBlock descriptor;
      descriptor.llr = soft;
      descriptor.llr_count = decoded;
      descriptor.bits_offset = static_cast<uint32_t>(decided_offset);
      descriptor.num_filler = static_cast<uint32_t>(group->block.plan.num_filler());
      descriptor.soft_offset = ldpc::kNoSoft;
      descriptor.result_index = static_cast<uint32_t>(decode.size());
      decode.push_back(descriptor);
      check_block->tb = b;
      check_block->r = r;
      check_block->bits = lane.output_device + decided_offset;
      ++check_block;
      decided_offset += group->decided_bytes();
      soft += group->soft_stride();
    }
  }
  DescribePacked(lane);
  auto* sorted = reinterpret_cast<ldpc::DecodeBlock*>(control + offsets_.decode_blocks);
  for (const uint32_t i : GroupByShape()) *sorted++ = decode[i];
}

void DecodeSharedChannelBatch::DescribePacked(const CudaLaneView& lane) {
  auto* pack = reinterpret_cast<nr::SoftPackBlock*>(lane.control_host + offsets_.pack_blocks);
  const auto describe = [&](int* count, const auto& is_of) {
    for (const auto& block : blocks_) {
      if (!block->is_packed() || !is_of(*block)) continue;
      const DecodeSharedChannelGroup& group = *block->group;
      for (int r = 0; r < group.block.plan.num_blocks; ++r, ++*count, ++pack) {
        pack->soft = reinterpret_cast<int8_t*>(lane.output_device + block->soft_offset) +
                     r * group.soft_stride();
        pack->packed = block->held_soft(r);
        pack->count = static_cast<uint32_t>(group.block.n_cb());
        pack->size = static_cast<uint32_t>(group.held_llr_size);
      }
    }
  };
  describe(&num_repeated_, [](const Block& block) { return block.repeats(); });
  describe(&num_combined_, [](const Block& block) { return block.combines(); });
  describe(&num_begun_, [](const Block& block) { return !block.repeats() && !block.combines(); });
}

absl::Status DecodeSharedChannelBatch::CudaCopyIn(const CudaLaneView& lane) {
  input_ = InputLayout(jobs_, lane.capacity.input_bytes);
  PlaceOutputs();
  Describe(lane);
  return CopyToDevice(offsets_.control_end, input_.runs(), lane);
}

absl::Status DecodeSharedChannelBatch::CudaRun(const CudaLaneView& lane) {
  const uint8_t* const control = lane.control_device;
  uint8_t* const output = lane.output_device;
  nr::DematchBatch dematch;
  dematch.tbs = reinterpret_cast<const nr::ReceiveTb*>(control);
  dematch.blocks = reinterpret_cast<const nr::DematchBlock*>(control + offsets_.dematch_blocks);
  dematch.num_blocks = num_dematch_;
  dematch.shared_bytes = shared_bytes_;
  dematch.unusable = reinterpret_cast<uint32_t*>(output + offsets_.unusable);
  const auto* const pack =
      reinterpret_cast<const nr::SoftPackBlock*>(control + offsets_.pack_blocks);
  if (num_repeated_ + num_combined_ > 0) {
    BASEBAND_RETURN_IF_ERROR(
        nr::LaunchUnpackSoft(pack, num_repeated_ + num_combined_, lane.stream));
  }
  if (num_dematch_ > 0) {
    BASEBAND_RETURN_IF_ERROR(nr::LaunchRateDematch(dematch, lane.stream));
  }
  if (num_combined_ + num_begun_ > 0) {
    BASEBAND_RETURN_IF_ERROR(
        nr::LaunchPackSoft(pack + num_repeated_, num_combined_ + num_begun_, lane.stream));
  }
  for (const Launch& shape : launches_) {
    ldpc::DecodeBatch decode;
    decode.code = shape.group->code.get();
    decode.parameters = shape.group->parameters;
    decode.blocks =
        reinterpret_cast<const ldpc::DecodeBlock*>(control + offsets_.decode_blocks) + shape.begin;
    decode.num_blocks = static_cast<int>(shape.count);
    decode.bits = output;
    decode.sharers = lane.sharers;
    decode.results = reinterpret_cast<ldpc::DecodeResult*>(output + offsets_.decode_results);
    BASEBAND_RETURN_IF_ERROR(ldpc::LaunchDecode(decode, lane.stream));
  }
  nr::CheckBatch check;
  check.tbs = reinterpret_cast<const nr::CheckTb*>(control + offsets_.check_tbs);
  check.blocks = reinterpret_cast<const nr::CheckBlock*>(control + offsets_.check_blocks);
  check.num_blocks = num_pieces();
  check.decode_results =
      reinterpret_cast<const ldpc::DecodeResult*>(output + offsets_.decode_results);
  check.results = reinterpret_cast<nr::CheckResult*>(output + offsets_.check_results);
  return nr::LaunchCheckCrc(check, lane.stream);
}

absl::Status DecodeSharedChannelBatch::CudaCopyOut(const CudaLaneView& lane) {
  output_staging_ = lane.output_staging_host;
  return CopyFromDevice(output_.Runs(lane.output_staging_host), lane);
}

void DecodeSharedChannelBatch::CudaFinish() {
  const auto* decoded =
      reinterpret_cast<const ldpc::DecodeResult*>(output_staging_ + offsets_.decode_results);
  const auto* checked =
      reinterpret_cast<const nr::CheckResult*>(output_staging_ + offsets_.check_results);
  const auto* unusable = reinterpret_cast<const uint32_t*>(output_staging_ + offsets_.unusable);
  for (const auto& block : blocks_) {
    const DecodeSharedChannelGroup& group = *block->group;
    const auto num_blocks = static_cast<size_t>(group.block.plan.num_blocks);
    if (block->is_staged) {
      std::memcpy(block->bits, output_staging_ + block->bits_offset,
                  static_cast<size_t>(group.block.payload_bytes()));
    }
    *block->unusable = 0;
    for (size_t r = 0; r < num_blocks; ++r) {
      const size_t i = block->first_piece + r;
      block->results[r] = ResultOf(group.block, decoded[i], checked[i].crc_ok != 0);
      if (!block->repeats()) *block->unusable += unusable[block->first_dematch + r];
      if (block->soft == nullptr) continue;
      const auto n_cb = static_cast<size_t>(group.block.n_cb());
      std::memcpy(
          block->soft + r * n_cb,
          output_staging_ + block->soft_offset + static_cast<int64_t>(r) * group.soft_stride(),
          n_cb);
    }
    *block->crc_ok =
        IsRight({block->results, num_blocks},
                nr::TbCrcHolds(checked + block->first_piece, static_cast<int>(num_blocks)));
  }
}

}  // namespace baseband::server
