#include "server/operations/shared_channel/encode_shared_channel.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/ldpc/encode.h"
#include "kernels/nr/block_chain.h"
#include "kernels/nr/modulation.h"
#include "kernels/nr/scrambling.h"
#include "server/operations/ldpc/ldpc_work.h"
#include "server/operations/shared_channel/encode_shared_channel_batch.h"

namespace baseband::server {
namespace {

// What descriptors take on a GPU, at most (checked where that is known): of a block, of a code
// block.
constexpr int64_t kSentBlockBytes = 192;
constexpr int64_t kSentCodeBlockBytes = 8;
// And of scratch, for each code block.
constexpr int64_t kWorkspaceBytes = 24;
// An edge encoded, on one core; a coded bit and a symbol cost as much as some of these.
constexpr double kGuessedSentEdgeS = 1e-11;

}  // namespace

JobPtr EncodeSharedChannelJob::CopyJoined(int64_t copies) const {
  auto joined = std::make_unique<EncodeSharedChannelJob>(operation(), Repeat(groups_, copies));
  joined->requests = copies;
  return joined;
}

EncodeSharedChannelJob::EncodeSharedChannelJob(const Operation& operation,
                                               std::vector<EncodeSharedChannelGroup> groups)
    : Job(operation), groups_(std::move(groups)) {
  work.guessed_unit_s = kGuessedSentEdgeS;
  double most_units = 0.0;
  std::set<const ldpc::Code*> codes;
  int64_t blocks = 0;
  int64_t output_bytes = 0;
  for (const EncodeSharedChannelGroup& group : groups_) {
    const nr::TransportBlockPlan& plan = group.block.plan;
    blocks += group.count;
    footprint.blocks += group.count * plan.num_blocks;
    payload_bytes += group.count * group.block.payload_bytes();
    reply_bytes += group.count * group.output_bytes();
    output_bytes += group.count * AlignUp(group.output_bytes(), sizeof(uint64_t));
    const double units = static_cast<double>(group.count) *
                         (plan.num_blocks * EdgesOf(*group.code) + static_cast<double>(plan.g()) +
                          static_cast<double>(group.output_bytes()));
    if (units > most_units) work.shape = ShapeOf(*group.code);
    most_units = std::max(most_units, units);
    work.units += units;
    if (codes.insert(group.code.get()).second) {
      const auto& encode_plan = *group.code->encode_plan();
      footprint.control_bytes += AlignUp(static_cast<int64_t>(encode_plan->table().size()) * 4);
    }
  }
  footprint.input_bytes = AlignUp(payload_bytes);
  footprint.output_bytes = AlignUp(output_bytes) + AlignUp(footprint.blocks * kWorkspaceBytes);
  footprint.control_bytes +=
      AlignUp(blocks * kSentBlockBytes) + AlignUp(footprint.blocks * kSentCodeBlockBytes);
}

std::unique_ptr<Batch> MakeEncodeSharedChannelBatch(std::vector<JobPtr> jobs) {
  return std::make_unique<EncodeSharedChannelBatch>(std::move(jobs));
}

EncodeSharedChannelBatch::EncodeSharedChannelBatch(std::vector<JobPtr> jobs)
    : Batch(std::move(jobs)) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    int64_t payload_offset = 0;
    uint8_t* reply = job(i).reply.data();
    for (const EncodeSharedChannelGroup& group : job(i).groups()) {
      const int num_blocks = group.block.plan.num_blocks;
      for (int64_t b = 0; b < group.count; ++b) {
        auto block = std::make_unique<Block>();
        block->group = &group;
        block->job = static_cast<uint32_t>(i);
        block->payload_offset = payload_offset;
        block->reply = reply;
        block->edges.resize(static_cast<size_t>(num_blocks));
        block->left = num_blocks;
        for (int r = 0; r < num_blocks; ++r) {
          pieces_.push_back({static_cast<uint32_t>(blocks_.size()), r});
        }
        blocks_.push_back(std::move(block));
        payload_offset += group.block.payload_bytes();
        reply += group.output_bytes();
      }
    }
    job(i).pieces = job(i).footprint.blocks;
  }
}

absl::Span<uint8_t> EncodeSharedChannelBatch::CodedBits(Block& block) const {
  const auto bytes = static_cast<size_t>(block.group->block.coded_bytes());
  if (!block.group->symbols.has_value()) return {block.reply, bytes};
  std::call_once(block.makes_coded, [&] { block.coded.resize(bytes); });
  return absl::MakeSpan(block.coded);
}

void EncodeSharedChannelBatch::RunPiece(int piece) {
  const Piece& place = pieces_[static_cast<size_t>(piece)];
  Block& block = *blocks_[place.block];
  const EncodeSharedChannelGroup& group = *block.group;
  const nr::TransportBlockPlan& plan = group.block.plan;
  Job& owner = job(block.job);
  RunIfWanted(owner, [&] {
    const absl::Span<const uint8_t> payload(owner.input.data() + block.payload_offset,
                                            static_cast<size_t>(group.block.payload_bytes()));
    // The CRC of all of it stands in the last code block, or in the last two.
    const bool has_tb_crc = plan.info_begin(place.r) + plan.info_bits() > plan.tb_bits;
    const uint32_t tb_crc = has_tb_crc ? nr::TransportBlockCrcOnCpu(plan, payload) : 0;
    block.edges[static_cast<size_t>(place.r)] =
        nr::EncodeBlockOnCpu(plan, *group.code, payload, tb_crc, place.r, CodedBits(block));
    if (block.left.fetch_sub(1) == 1) FinishBlock(block);  // of a job that is cut, it never is
  });
}

void EncodeSharedChannelBatch::FinishBlock(Block& block) {
  const EncodeSharedChannelGroup& group = *block.group;
  const nr::TransportBlockPlan& plan = group.block.plan;
  const absl::Span<uint8_t> coded = CodedBits(block);
  nr::JoinCodedBits(plan, block.edges, coded);
  if (group.block.c_init.has_value()) {
    nr::ScrambleBits(*group.block.c_init, /*first=*/0, coded, /*begin=*/0, plan.g());
  }
  if (group.symbols.has_value()) {
    nr::ModulateOnCpu(group.block.qm(), coded, /*begin=*/0, /*first=*/0, group.block.num_symbols(),
                      *group.symbols, {block.reply, static_cast<size_t>(group.output_bytes())});
  }
}

absl::Status EncodeSharedChannelBatch::Finish() {
  for (const Staged& staged : staged_) {
    std::copy_n(output_staging_ + staged.offset, staged.block->group->output_bytes(),
                staged.block->reply);
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
