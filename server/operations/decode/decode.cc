#include "server/operations/decode/decode.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "server/operations/decode/decode_batch.h"
#include "server/operations/ldpc/ldpc_work.h"

namespace baseband::server {
namespace {

// What a descriptor of a block takes on a GPU, at most (ldpc::DecodeBlock; checked where that is
// known).
constexpr int64_t kDecodeDescriptorBytes = 32;
// An edge in one iteration, on one core.
constexpr double kGuessedDecodeEdgeS = 1e-10;

}  // namespace

JobPtr DecodeJob::CopyJoined(int64_t copies) const {
  if (HasCustomCode(groups_)) return nullptr;
  auto joined = std::make_unique<DecodeJob>(operation(), Repeat(groups_, copies));
  joined->requests = copies;
  return joined;
}

DecodeJob::DecodeJob(const Operation& operation, std::vector<DecodeGroup> groups)
    : Job(operation), groups_(std::move(groups)) {
  int64_t output_staging_bytes = 0;
  work.guessed_unit_s = kGuessedDecodeEdgeS;
  for (const DecodeGroup& group : groups_) {
    footprint.blocks += group.count;
    payload_bytes += group.count * group.llr_count;
    bits_bytes_ += group.count * group.bits_bytes();
    soft_bytes_ += group.count * group.soft_bytes();
    work.units +=
        static_cast<double>(group.count) * EdgesOf(*group.code) * group.parameters.max_iterations;
    work.shape = ShapeOf(*group.code) + (group.parameters.early_termination ? kNumShapes / 2 : 0);
    output_staging_bytes += group.count * (AlignUp(group.bits_bytes(), sizeof(uint32_t)) +
                                           AlignUp(group.soft_bytes(), sizeof(uint32_t)));
  }
  reply_bytes = soft_bytes_ > 0 ? soft_offset() + soft_bytes_ : bits_bytes_;
  reply_has_gaps = soft_bytes_ > 0;
  results.resize(static_cast<size_t>(footprint.blocks));
  const auto result_bytes = static_cast<int64_t>(sizeof(ldpc::DecodeResult));
  footprint.input_bytes = AlignUp(payload_bytes);
  footprint.output_bytes =
      AlignUp(output_staging_bytes) + AlignUp(footprint.blocks * result_bytes) + 2 * kLaneAlignment;
  footprint.control_bytes = AlignUp(footprint.blocks * kDecodeDescriptorBytes);
}

int64_t DecodeJob::soft_offset() const { return AlignUp(bits_bytes_); }

std::unique_ptr<Batch> MakeDecodeBatch(std::vector<JobPtr> jobs) {
  return std::make_unique<DecodeBatch>(std::move(jobs));
}

DecodeBatch::DecodeBatch(std::vector<JobPtr> jobs) : Batch(std::move(jobs)) {
  blocks_.reserve(static_cast<size_t>(CountBlocks(jobs_)));
  for (size_t i = 0; i < jobs_.size(); ++i) {
    int64_t llr_offset = 0;
    uint8_t* bits = job(i).reply.data();
    auto* soft = reinterpret_cast<int8_t*>(bits + job(i).soft_offset());
    ldpc::DecodeResult* result = job(i).results.data();
    for (const DecodeGroup& group : job(i).groups()) {
      for (int64_t b = 0; b < group.count; ++b) {
        blocks_.push_back({&group, static_cast<uint32_t>(i), llr_offset, bits,
                           group.soft_output ? soft : nullptr, result});
        llr_offset += group.llr_count;
        bits += group.bits_bytes();
        soft += group.soft_bytes();
        ++result;
      }
    }
    job(i).pieces = job(i).footprint.blocks;
  }
}

void DecodeBatch::RunPiece(int piece) {
  const Block& block = blocks_[static_cast<size_t>(piece)];
  const DecodeGroup& group = *block.group;
  RunIfWanted(job(block.job), [&] {
    const auto* const llr =
        reinterpret_cast<const int8_t*>(job(block.job).input.data()) + block.llr_offset;
    *block.result = ldpc::DecodeOnCpu(*group.code, group.parameters, group.num_filler,
                                      {llr, static_cast<size_t>(group.llr_count)},
                                      {block.bits, static_cast<size_t>(group.bits_bytes())},
                                      {block.soft, static_cast<size_t>(group.soft_bytes())});
  });
}

std::vector<uint32_t> DecodeBatch::GroupByShape() {
  // Blocks of a group stay together: there are few groups, and hundreds of blocks.
  std::vector<Launch> groups;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    if (b == 0 || blocks_[b].group != blocks_[b - 1].group)
      groups.push_back({blocks_[b].group, b, 0});
    ++groups.back().count;
  }
  const auto less = [](const Launch& launch_a, const Launch& launch_b) {
    const DecodeGroup& a = *launch_a.group;
    const DecodeGroup& b = *launch_b.group;
    if (a.code != b.code) return a.code < b.code;
    if (a.soft_output != b.soft_output) return b.soft_output;
    return a.parameters < b.parameters;
  };
  std::stable_sort(groups.begin(), groups.end(), less);
  std::vector<uint32_t> order;
  order.reserve(blocks_.size());
  for (const Launch& group : groups) {
    if (launches_.empty() || less(launches_.back(), group)) {
      launches_.push_back({group.group, order.size(), 0});
    }
    launches_.back().count += group.count;
    for (size_t b = 0; b < group.count; ++b)
      order.push_back(static_cast<uint32_t>(group.begin + b));
  }
  return order;
}

absl::Status DecodeBatch::Finish() {
  for (const Staged& staged : staged_) {
    const Block& block = *staged.block;
    std::memcpy(block.bits, output_staging_ + staged.bits_offset,
                static_cast<size_t>(block.group->bits_bytes()));
    if (block.soft != nullptr) {
      std::memcpy(block.soft, output_staging_ + staged.soft_offset,
                  static_cast<size_t>(block.group->soft_bytes()));
    }
  }
  if (output_staging_ != nullptr) {  // a GPU ran: the results of all blocks, in order
    const uint8_t* results = output_staging_ + results_offset_;
    for (const Block& block : blocks_) {
      std::memcpy(block.result, results, sizeof(ldpc::DecodeResult));
      results += sizeof(ldpc::DecodeResult);
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
