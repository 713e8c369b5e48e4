#include "server/operations/shared_channel/decode_shared_channel.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/nr/scrambling.h"
#include "server/operations/ldpc/ldpc_work.h"
#include "server/operations/shared_channel/decode_shared_channel_batch.h"

namespace baseband::server {
namespace {

// What descriptors take on a GPU, at most (checked where that is known): of a block, of a code
// block; and results and scratch of a code block besides its soft and its decided bits.
constexpr int64_t kReceivedBlockBytes = 288;
constexpr int64_t kReceivedCodeBlockBytes = 112;
constexpr int64_t kCodeBlockResultBytes = 16;
// An edge in one iteration, on one core.
constexpr double kGuessedReceivedEdgeS = 1e-10;
// What else takes as long as so many edges: a launch, and what is done with an LLR before it is one
// of the decoder's; of a sum of exponentials, for each level of an axis.
constexpr double kUnitsOfLaunch = 5e4;
double UnitsPerLlr(const DecodeSharedChannelGroup& group) {
  if (!group.is_symbols) return 2.0;
  const int levels = 1 << (group.block.qm() + 1) / 2;
  return group.demap.log_sum ? 2.0 + 4.0 * levels : 6.0;
}

}  // namespace

CodeBlockResult ResultOf(const SharedChannelBlock& block, const ldpc::DecodeResult& decode,
                         bool crc_holds) {
  const bool has_crc = block.plan.tb_crc_bits + block.plan.block_crc_bits > 0;
  return {decode, has_crc ? crc_holds : decode.parity_ok != 0};
}

bool IsRight(absl::Span<const CodeBlockResult> code_blocks, bool tb_crc_holds) {
  return tb_crc_holds && std::all_of(code_blocks.begin(), code_blocks.end(),
                                     [](const CodeBlockResult& one) { return one.crc_ok; });
}

DecodeSharedChannelJob::DecodeSharedChannelJob(const Operation& operation,
                                               std::vector<DecodeSharedChannelGroup> groups,
                                               std::vector<std::string> free_keys)
    : Job(operation),
      groups_(std::move(groups)),
      free_keys_(std::move(free_keys)),
      held_(groups_.size()) {
  work.guessed_unit_s = kGuessedReceivedEdgeS;
  double most_units = 0.0;
  const DecodeSharedChannelGroup* last = nullptr;
  int64_t blocks = 0;
  for (const DecodeSharedChannelGroup& group : groups_) {
    const nr::TransportBlockPlan& plan = group.block.plan;
    const int64_t num_code_blocks = group.count * plan.num_blocks;
    blocks += group.count;
    footprint.blocks += num_code_blocks;
    payload_bytes += group.count * AlignUp(group.payload_bytes(), sizeof(uint32_t));
    bits_bytes_ += group.count * group.block.payload_bytes();
    soft_bytes_ += group.count * group.soft_out_bytes();
    const double units =
        static_cast<double>(num_code_blocks) * EdgesOf(*group.code) *
            group.parameters.max_iterations +
        static_cast<double>(group.count) * static_cast<double>(plan.g()) * UnitsPerLlr(group);
    if (units > most_units) work.shape = ShapeOf(*group.code) + kNumShapes / 2;
    most_units = std::max(most_units, units);
    work.units += units;
    // Another code, or other parameters, are another launch of the decoder.
    if (last == nullptr || last->code != group.code || !(last->parameters == group.parameters)) {
      work.units += kUnitsOfLaunch;
    }
    last = &group;
    footprint.output_bytes += group.count * AlignUp(group.block.payload_bytes(), 4) +
                              num_code_blocks * (group.soft_stride() + group.decided_bytes());
  }
  reply_bytes = soft_bytes_ > 0 ? soft_offset() + soft_bytes_ : bits_bytes_;
  reply_has_gaps = soft_bytes_ > 0;
  code_blocks.resize(static_cast<size_t>(footprint.blocks));
  crc_ok.resize(static_cast<size_t>(blocks));
  unusable.resize(static_cast<size_t>(blocks));
  footprint.input_bytes = AlignUp(payload_bytes);
  footprint.output_bytes = AlignUp(footprint.output_bytes) +
                           AlignUp(footprint.blocks * kCodeBlockResultBytes) + 7 * kLaneAlignment;
  footprint.control_bytes =
      AlignUp(blocks * kReceivedBlockBytes + footprint.blocks * kReceivedCodeBlockBytes) +
      6 * kLaneAlignment;
}

JobPtr DecodeSharedChannelJob::CopyJoined(int64_t copies) const {
  if (HoldsSoftBits() || !free_keys_.empty()) return nullptr;
  auto joined = std::make_unique<DecodeSharedChannelJob>(operation(), Repeat(groups_, copies));
  joined->requests = copies;
  return joined;
}

bool DecodeSharedChannelJob::HoldsSoftBits() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const auto& group) { return !group.harq_key.empty(); });
}

absl::Status DecodeSharedChannelJob::Bind(absl::Span<Device* const> devices) {
  const bool holds = HoldsSoftBits();
  device = holds ? HarqDeviceOf(caller.client, devices) : nullptr;
  return holds && device == nullptr ? absl::UnavailableError("no device is healthy")
                                    : absl::OkStatus();
}

absl::Status DecodeSharedChannelJob::Hold(absl::Span<Device* const> devices) {
  LetGo();
  for (const std::string& key : free_keys_) {
    for (Device* const one : devices) FreeSoftBits(caller.client, key, *one);
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    const DecodeSharedChannelGroup& group = groups_[i];
    if (group.harq_key.empty()) continue;
    const int64_t bytes = group.block.plan.num_blocks * group.held_stride();
    absl::StatusOr<HeldSoftBits> held =
        HoldSoftBits(caller.client, group.harq_key, group.transmission, group.block,
                     {group.harq_block, group.held_llr_size, bytes}, *device);
    if (!held.ok()) {
      return absl::Status(held.status().code(),
                          absl::StrCat("groups[", i, "].harq: ", held.status().message()));
    }
    held_[i] = *std::move(held);
    if (held_[i].object != nullptr) objects.push_back(held_[i].object);
    if (held_[i].combines() || held_[i].repeats()) continue;
    // What is left of another time, when the client's device was another one.
    for (Device* const one : devices) {
      if (one != device) FreeSoftBits(caller.client, group.harq_key, *one);
    }
  }
  return absl::OkStatus();
}

void DecodeSharedChannelJob::LetGo() {
  objects.clear();
  for (HeldSoftBits& held : held_) held.object.reset();
}

int64_t DecodeSharedChannelJob::soft_offset() const { return AlignUp(bits_bytes_); }

std::unique_ptr<Batch> MakeDecodeSharedChannelBatch(std::vector<JobPtr> jobs) {
  return std::make_unique<DecodeSharedChannelBatch>(std::move(jobs));
}

DecodeSharedChannelBatch::DecodeSharedChannelBatch(std::vector<JobPtr> jobs)
    : Batch(std::move(jobs)) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    int64_t payload_offset = 0;
    uint8_t* bits = job(i).reply.data();
    auto* soft = reinterpret_cast<int8_t*>(bits + job(i).soft_offset());
    CodeBlockResult* results = job(i).code_blocks.data();
    uint8_t* crc_ok = job(i).crc_ok.data();
    uint32_t* unusable = job(i).unusable.data();
    for (size_t g = 0; g < job(i).groups().size(); ++g) {
      const DecodeSharedChannelGroup& group = job(i).groups()[g];
      const HeldSoftBits& held = job(i).held(g);
      // Until it is done; what a repeated transmission leaves is what it finds.
      if (held.object != nullptr && !held.repeats()) held.object->set_mark(0);
      const int num_blocks = group.block.plan.num_blocks;
      for (int64_t b = 0; b < group.count; ++b) {
        auto block = std::make_unique<Block>();
        block->group = &group;
        block->job = static_cast<uint32_t>(i);
        block->payload_offset = payload_offset;
        block->bits = bits;
        block->soft = group.soft_out ? soft : nullptr;
        block->results = results;
        if (held.object != nullptr) block->held = &held;
        block->crc_ok = crc_ok++;
        block->unusable = unusable++;
        block->first_piece = pieces_.size();
        block->code_blocks.resize(static_cast<size_t>(num_blocks));
        block->code_blocks_unusable.resize(static_cast<size_t>(num_blocks));
        block->left = num_blocks;
        for (int r = 0; r < num_blocks; ++r) {
          pieces_.push_back({static_cast<uint32_t>(blocks_.size()), r});
        }
        blocks_.push_back(std::move(block));
        payload_offset += AlignUp(group.payload_bytes(), sizeof(uint32_t));
        bits += group.block.payload_bytes();
        soft += group.soft_out_bytes();
        results += num_blocks;
      }
    }
    job(i).pieces = job(i).footprint.blocks;
  }
}

absl::Span<const int8_t> DecodeSharedChannelBatch::ReceivedLlrs(const Block& block, int r,
                                                                int64_t* unusable) const {
  thread_local std::vector<int8_t> llr;
  const DecodeSharedChannelGroup& group = *block.group;
  const nr::TransportBlockPlan& plan = group.block.plan;
  const int64_t first = plan.e_begin(r);
  const auto count = static_cast<size_t>(plan.e(r));
  *unusable = 0;
  llr.resize(std::max(llr.size(), count));
  const absl::Span<int8_t> wanted(llr.data(), count);
  if (block.repeats()) {  // what is held has it already
    std::fill(wanted.begin(), wanted.end(), int8_t{0});
    return wanted;
  }
  const uint8_t* const payload = job(block.job).input.data() + block.payload_offset;
  const absl::Span<const uint8_t> received(payload + group.received_offset(),
                                           static_cast<size_t>(group.received_bytes()));
  if (group.is_int8_as_it_is()) {
    return {reinterpret_cast<const int8_t*>(received.data()) + first, count};
  }
  if (group.is_symbols) {
    const int64_t qm = group.block.qm();
    *unusable =
        nr::DemapOnCpu(group.demap, received,
                       {payload + group.noise_offset(), static_cast<size_t>(group.noise_bytes())},
                       first / qm, plan.e(r) / qm, wanted);
  } else {
    float scale = group.llr_scale;
    if (scale == 0.0F) {
      scale = nr::ChosenScale(nr::MagnitudeSumOnCpu(received, first, plan.e(r)),
                              static_cast<uint64_t>(plan.e(r)), group.mean_llr);
    }
    *unusable = nr::ToInt8LlrsOnCpu(group.llr_format, scale, received, first, wanted);
  }
  if (group.block.c_init.has_value()) nr::DescrambleLlrs(*group.block.c_init, first, wanted);
  return wanted;
}

absl::Span<int8_t> DecodeSharedChannelBatch::SoftBits(const Block& block, int r) const {
  thread_local std::vector<int8_t> scratch;
  const DecodeSharedChannelGroup& group = *block.group;
  const auto n_cb = static_cast<size_t>(group.block.n_cb());
  if (block.held != nullptr && !block.is_packed()) {
    return {reinterpret_cast<int8_t*>(block.held_soft(r)), n_cb};
  }
  const int64_t soft_at = r * static_cast<int64_t>(n_cb);
  if (block.soft == nullptr) scratch.resize(std::max(scratch.size(), n_cb));
  int8_t* const soft = block.soft != nullptr ? block.soft + soft_at : scratch.data();
  if (block.combines() || block.repeats()) {
    nr::UnpackSoftOnCpu(group.held_llr_size, block.held_soft(r), {soft, n_cb});
  }
  if (group.soft_in) {
    std::memcpy(soft, job(block.job).input.data() + block.payload_offset + soft_at, n_cb);
  }
  return {soft, n_cb};
}

void DecodeSharedChannelBatch::HoldPacked(const Block& block, int r,
                                          absl::Span<const int8_t> soft) {
  if (!block.is_packed() || block.repeats()) return;
  nr::PackSoftOnCpu(block.group->held_llr_size, soft, block.held_soft(r));
}

void DecodeSharedChannelBatch::RunPiece(int piece) {
  const Piece& place = pieces_[static_cast<size_t>(piece)];
  Block& block = *blocks_[place.block];
  const DecodeSharedChannelGroup& group = *block.group;
  Job& owner = job(block.job);
  RunIfWanted(owner, [&] {
    const auto r = static_cast<size_t>(place.r);
    const absl::Span<const int8_t> llr =
        ReceivedLlrs(block, place.r, &block.code_blocks_unusable[r]);
    const bool combine = group.soft_in || block.combines() || block.repeats();
    const absl::Span<int8_t> soft = SoftBits(block, place.r);
    nr::BlockResult& result = block.code_blocks[r];
    result =
        nr::DecodeBlockOnCpu(group.block.plan, *group.code, group.parameters, place.r, llr, combine,
                             soft, {block.bits, static_cast<size_t>(group.block.payload_bytes())});
    HoldPacked(block, place.r, soft);
    block.results[r] = ResultOf(group.block, result.decode, result.crc_ok);
    if (block.left.fetch_sub(1) == 1) FinishBlock(block);  // of a job that is cut, it never is
  });
}

void DecodeSharedChannelBatch::FinishBlock(Block& block) {
  const SharedChannelBlock& shape = block.group->block;
  // What fills up the last byte is nobody's bits.
  if (shape.plan.tb_bits % 8 != 0) block.bits[shape.plan.tb_bits / 8] = 0;
  const bool tb_crc_holds = nr::JoinTransportBlock(
      shape.plan, block.code_blocks, {block.bits, static_cast<size_t>(shape.payload_bytes())});
  const bool has_crc = shape.plan.tb_crc_bits + shape.plan.block_crc_bits > 0;
  *block.crc_ok = IsRight({block.results, block.code_blocks.size()}, tb_crc_holds || !has_crc);
  *block.unusable = static_cast<uint32_t>(std::accumulate(
      block.code_blocks_unusable.begin(), block.code_blocks_unusable.end(), int64_t{0}));
}

absl::Status DecodeSharedChannelBatch::Finish() {
  if (output_staging_ != nullptr) CudaFinish();
  for (const auto& block : blocks_) {
    if (block->held == nullptr || job(block->job).is_cut()) continue;
    const DecodeSharedChannelGroup& group = *block->group;
    block->held->object->set_mark(
        SoftBitsMark(group.block, {group.harq_block, group.held_llr_size}, group.transmission));
  }
  return absl::OkStatus();
}

std::vector<uint32_t> DecodeSharedChannelBatch::GroupByShape() {
  std::vector<uint32_t> order(pieces_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
  const auto group_of = [this](uint32_t i) -> const DecodeSharedChannelGroup& {
    return *blocks_[pieces_[i].block]->group;
  };
  const auto less = [&](uint32_t a, uint32_t b) {
    const DecodeSharedChannelGroup& x = group_of(a);
    const DecodeSharedChannelGroup& y = group_of(b);
    return x.code != y.code ? std::less<>()(x.code.get(), y.code.get())
                            : x.parameters < y.parameters;
  };
  std::stable_sort(order.begin(), order.end(), less);
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || less(order[i - 1], order[i])) launches_.push_back({&group_of(order[i]), i, 0});
    ++launches_.back().count;
  }
  return order;
}

}  // namespace baseband::server
