#include "server/operations/encode/encode.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/base/bits.h"
#include "kernels/ldpc/encode.h"
#include "server/operations/encode/encode_batch.h"
#include "server/operations/ldpc/ldpc_work.h"

namespace baseband::server {
namespace {

// Blocks a CPU worker takes at a time: one costs about a microsecond.
constexpr size_t kBlocksPerPiece = 16;
// An edge encoded, on one core.
constexpr double kGuessedEncodeEdgeS = 1e-11;

}  // namespace

int64_t EncodeGroup::output_bits() const {
  switch (output) {
    case EncodeOutput::kParity:
      return code->parity_bits();
    case EncodeOutput::kCodeword:
      return code->num_sent();
    case EncodeOutput::kFullCodeword:
      return code->n();
  }
  return 0;
}

JobPtr EncodeJob::CopyJoined(int64_t copies) const {
  if (HasCustomCode(groups_)) return nullptr;
  auto joined = std::make_unique<EncodeJob>(operation(), Repeat(groups_, copies));
  joined->requests = copies;
  return joined;
}

EncodeJob::EncodeJob(const Operation& operation, std::vector<EncodeGroup> groups)
    : Job(operation), groups_(std::move(groups)) {
  work.guessed_unit_s = kGuessedEncodeEdgeS;
  std::set<const ldpc::Code*> codes;
  int64_t parity_bytes = 0;
  for (const EncodeGroup& group : groups_) {
    footprint.blocks += group.count;
    payload_bytes += group.count * group.info_bytes();
    reply_bytes += group.count * group.output_bytes();
    parity_bytes += group.count * AlignUp(group.parity_bytes(), sizeof(uint32_t));
    work.units += static_cast<double>(group.count) * EdgesOf(*group.code);
    work.shape = ShapeOf(*group.code);
    host_reads_input |= group.output != EncodeOutput::kParity;  // JoinCodeword
    if (codes.insert(group.code.get()).second) {
      const auto& plan = *group.code->encode_plan();
      footprint.control_bytes += AlignUp(static_cast<int64_t>(plan->table().size()) * 4);
    }
  }
  footprint.input_bytes = AlignUp(payload_bytes);
  footprint.output_bytes = AlignUp(parity_bytes);
  footprint.control_bytes +=
      AlignUp(footprint.blocks * static_cast<int64_t>(sizeof(ldpc::EncodeBlock)));
}

void JoinCodeword(const EncodeGroup& group, const uint8_t* info, const uint8_t* parity,
                  uint8_t* reply) {
  const ldpc::Code& code = *group.code;
  const int skip =
      group.output == EncodeOutput::kCodeword ? code.punctured_columns() * code.zc() : 0;
  const int64_t bits = group.output_bits();
  reply[BytesForBits(bits) - 1] = 0;
  const int info_bits = std::max(0, group.info_bits() - skip);
  CopyBits(reply, 0, info, skip, info_bits);
  ClearBits(reply, info_bits, code.k() - skip - info_bits);
  CopyBits(reply, code.k() - skip, parity, 0, code.parity_bits());
}

std::unique_ptr<Batch> MakeEncodeBatch(std::vector<JobPtr> jobs) {
  return std::make_unique<EncodeBatch>(std::move(jobs));
}

EncodeBatch::EncodeBatch(std::vector<JobPtr> jobs) : Batch(std::move(jobs)) {
  blocks_.reserve(static_cast<size_t>(CountBlocks(jobs_)));
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const uint8_t* info = job(i).input.data();
    uint8_t* reply = job(i).reply.data();
    for (const EncodeGroup& group : job(i).groups()) {
      for (int64_t b = 0; b < group.count; ++b) {
        blocks_.push_back({&group, static_cast<uint32_t>(i), info, reply});
        info += group.info_bytes();
        reply += group.output_bytes();
      }
    }
    job(i).pieces = job(i).footprint.blocks;
  }
}

int EncodeBatch::num_pieces() const {
  return static_cast<int>((blocks_.size() + kBlocksPerPiece - 1) / kBlocksPerPiece);
}

void EncodeBatch::RunPiece(int piece) {
  const size_t begin = static_cast<size_t>(piece) * kBlocksPerPiece;
  const size_t end = std::min(begin + kBlocksPerPiece, blocks_.size());
  for (size_t i = begin; i < end; ++i) {
    RunIfWanted(job(blocks_[i].job), [&] { Run(blocks_[i]); });
  }
}

void EncodeBatch::Run(const Block& block) {
  thread_local std::vector<uint8_t> parity;
  const EncodeGroup& group = *block.group;
  const absl::Span<const uint8_t> info(block.info, static_cast<size_t>(group.info_bytes()));
  const auto parity_bytes = static_cast<size_t>(group.parity_bytes());
  if (group.output == EncodeOutput::kParity) {
    ldpc::EncodeOnCpu(*group.code, info, group.info_bits(), {block.reply, parity_bytes});
  } else {
    parity.resize(std::max(parity.size(), parity_bytes));
    ldpc::EncodeOnCpu(*group.code, info, group.info_bits(), {parity.data(), parity_bytes});
    JoinCodeword(group, block.info, parity.data(), block.reply);
  }
}

absl::Status EncodeBatch::Finish() {
  for (const Staged& staged : staged_) {
    const EncodeGroup& group = *staged.block->group;
    const uint8_t* parity = output_staging_ + staged.parity_offset;
    if (group.output == EncodeOutput::kParity) {
      std::copy_n(parity, group.parity_bytes(), staged.block->reply);
    } else {
      JoinCodeword(group, staged.block->info, parity, staged.block->reply);
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
