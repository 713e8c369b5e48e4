#include "server/operations/downconvert.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/operations/downconvert_batch.h"

namespace baseband::server {
namespace {

// Outputs of a piece on the CPU: enough to make the filters' set-up small, few enough that the
// pieces of one channel spread over the cores.
constexpr int64_t kOutputsPerPiece = 1 << 14;

}  // namespace

DownconvertJob::DownconvertJob(DownconvertChannels channels, const downconvert::Block& block,
                               std::vector<uint8_t> before)
    : Job(OperationKind::kDownconvert),
      channels_(std::move(channels)),
      block_(block),
      before_(std::move(before)) {
  const int64_t block_bytes = block.num_samples * downconvert::BytesPerSample(block.format);
  prefix = before_;
  payload_bytes = block_bytes - static_cast<int64_t>(before_.size());
  int64_t output_staging_bytes = 0;
  for (size_t c = 0; c < channels_->size(); ++c) {
    ranges_.push_back(downconvert::OutputsOf((*channels_)[c], block));
    reply_offsets_.push_back(reply_bytes);
    reply_bytes += output_bytes(c);
    output_staging_bytes += AlignUp(output_bytes(c), 16);
    work.units += static_cast<double>(ranges_.back().count) *
                  static_cast<double>((*channels_)[c].filter->history() + 1);
  }
  work.shape = static_cast<int>(block.format);
  results.resize(channels_->size());
  footprint.blocks = static_cast<int64_t>(channels_->size());
  footprint.input_bytes = AlignUp(block_bytes) + kLaneAlignment;
  footprint.output_bytes =
      AlignUp(output_staging_bytes) +
      AlignUp(footprint.blocks * static_cast<int64_t>(sizeof(downconvert::ChannelResult)));
  footprint.control_bytes = AlignUp(DownconvertPlanBytes(*channels_, block));
}

std::unique_ptr<Batch> MakeDownconvertBatch(std::vector<JobPtr> jobs) {
  return std::make_unique<DownconvertBatch>(std::move(jobs));
}

DownconvertBatch::DownconvertBatch(std::vector<JobPtr> jobs) : Batch(std::move(jobs)) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    for (size_t c = 0; c < job(i).channels().size(); ++c) {
      const downconvert::OutputRange& range = job(i).ranges()[c];
      for (int64_t done = 0; done < range.count; done += kOutputsPerPiece) {
        pieces_.push_back({static_cast<uint32_t>(i),
                           static_cast<uint32_t>(c),
                           {range.first + done, std::min(kOutputsPerPiece, range.count - done)},
                           {}});
      }
    }
  }
}

void DownconvertBatch::RunPiece(int index) {
  if (pieces_.empty()) {
    return;
  }
  Piece& piece = pieces_[static_cast<size_t>(index)];
  const DownconvertJob& owner = job(piece.job);
  const downconvert::Channel& channel = owner.channels()[piece.channel];
  const int64_t bytes = downconvert::BytesPerOutput(channel.output);
  uint8_t* const target = owner.reply.data() + owner.reply_offsets()[piece.channel] +
                          (piece.part.first - owner.ranges()[piece.channel].first) * bytes;
  piece.result =
      downconvert::DownconvertOnCpu(channel, owner.block(), owner.input.span(), piece.part,
                                    {target, static_cast<size_t>(piece.part.count * bytes)});
}

absl::Status DownconvertBatch::Finish() {
  if (output_staging_ == nullptr) {  // the CPU ran
    for (const Piece& piece : pieces_) {
      job(piece.job).results[piece.channel].saturated += piece.result.saturated;
    }
    return absl::OkStatus();
  }
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const Place& place = places_[i];
    DownconvertJob& owner = job(i);
    std::memcpy(owner.results.data(), output_staging_ + place.results_offset,
                owner.results.size() * sizeof(downconvert::ChannelResult));
    for (size_t c = 0; !place.direct && c < owner.channels().size(); ++c) {
      std::memcpy(owner.reply.data() + owner.reply_offsets()[c],
                  output_staging_ + place.output_offsets[c],
                  static_cast<size_t>(owner.output_bytes(c)));
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
