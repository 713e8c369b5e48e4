#include "server/operations/downconvert/downconvert.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/device/object_store.h"
#include "server/operations/downconvert/downconvert_batch.h"

namespace baseband::server {
namespace {

// Outputs of a piece on the CPU: enough to make the filters' set-up small, few enough that the
// pieces of one channel spread over the cores.
constexpr int64_t kOutputsPerPiece = 1 << 14;
// A job with more of either fills a GPU by itself.
constexpr int64_t kMaxLaneWorkspace = 256 << 10;
constexpr int64_t kMaxOutputBesideIt = 512 << 10;
// A product of tap and sample, on one core.
constexpr double kGuessedProductS = 2e-10;

}  // namespace

int64_t DownconvertInputBytes(const downconvert::Block& block) {
  return AlignUp(block.num_samples * downconvert::BytesPerSample(block.format)) + kLaneAlignment;
}

void Remove(const KeptPast& past) {
  if (past.device != nullptr) past.device->objects()->Remove(past.key);
}

DownconvertJob::DownconvertJob(const Operation& operation, DownconvertChannels channels,
                               const downconvert::Block& block, DownconvertPast past,
                               DownconvertPlanPtr plan)
    : Job(operation), channels_(std::move(channels)), block_(block), past_(std::move(past)) {
  const int64_t sample_bytes = downconvert::BytesPerSample(block.format);
  const int64_t block_bytes = block.num_samples * sample_bytes;
  prefix_zeros = past_.zeros * sample_bytes;
  prefix = past_.received;
  resident_bytes = past_.resident * sample_bytes;
  payload_bytes =
      block_bytes - resident_bytes - prefix_zeros - static_cast<int64_t>(past_.received.size());
  // To read a sample is work, too: no job is without any, whatever comes out.
  work.units = static_cast<double>(block.num_samples);
  work.shape = static_cast<int>(block.format);
  for (size_t c = 0; c < channels_->size(); ++c) {
    ranges_.push_back(downconvert::OutputsOf((*channels_)[c], block));
    reply_offsets_.push_back(reply_bytes);
    staging_offsets_.push_back(staging_bytes_);
    reply_bytes += output_bytes(c);
    staging_bytes_ += AlignUp(output_bytes(c), 16);
    work.units += static_cast<double>(ranges_.back().count) *
                  static_cast<double>((*channels_)[c].filter->history() + 1);
  }
  work.guessed_unit_s = kGuessedProductS;
  plan_ = PlanDownconvert(channels_, block_, staging_offsets_, std::move(plan));
  results.resize(channels_->size());
  footprint.blocks = static_cast<int64_t>(channels_->size());
  footprint.input_bytes = DownconvertInputBytes(block);
  footprint.output_bytes =
      AlignUp(staging_bytes_) +
      AlignUp(footprint.blocks * static_cast<int64_t>(sizeof(downconvert::ChannelResult)));
  has_lane_workspace_ =
      workspace_bytes() <= kMaxLaneWorkspace && footprint.output_bytes <= kMaxOutputBesideIt;
  if (has_lane_workspace_) footprint.output_bytes += AlignUp(workspace_bytes());
  footprint.control_bytes =
      plan_ == nullptr ? 0 : AlignUp(static_cast<int64_t>(plan_->gpu.layout().bytes));
}

DownconvertJob::~DownconvertJob() { Remove(kept); }

JobPtr DownconvertJob::Copy() const {
  return std::make_unique<DownconvertJob>(operation(), channels_, block_, past_, plan_);
}

int64_t DownconvertJob::kept_bytes() const {
  int64_t taps = 0;  // of filters that it alone may keep, as the CPU and as a GPU's plan has them
  for (const downconvert::Channel& channel : *channels_) taps += channel.filter->history() + 1;
  constexpr int64_t kTapBytes = 32;
  return Job::kept_bytes() + kTapBytes * taps + prefix_zeros;
}

int64_t DownconvertJob::past_samples() const {
  return past_.resident + past_.zeros +
         static_cast<int64_t>(past_.received.size()) / downconvert::BytesPerSample(block_.format);
}

void DownconvertJob::Keep(std::string name, int64_t samples, int64_t object_bytes) {
  keep_name_ = std::move(name);
  keep_bytes_ = samples * downconvert::BytesPerSample(block_.format);
  keep_object_bytes_ = object_bytes;
}

bool DownconvertJob::has_non_finite() const {
  return std::any_of(results.begin(), results.end(), [](const downconvert::ChannelResult& result) {
    return result.has_non_finite != 0;
  });
}

std::unique_ptr<Batch> MakeDownconvertBatch(std::vector<JobPtr> jobs) {
  return std::make_unique<DownconvertBatch>(std::move(jobs));
}

DownconvertBatch::DownconvertBatch(std::vector<JobPtr> jobs) : Batch(std::move(jobs)) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    // The samples are looked at by the channel with the most outputs, which cuts them finest.
    const absl::Span<const downconvert::OutputRange> ranges = job(i).ranges();
    const size_t looks = static_cast<size_t>(
        std::max_element(ranges.begin(), ranges.end(),
                         [](const auto& a, const auto& b) { return a.count < b.count; }) -
        ranges.begin());
    for (size_t c = 0; c < ranges.size(); ++c) {
      const auto check =
          c == looks ? downconvert::SampleCheck::kYes : downconvert::SampleCheck::kNo;
      int64_t done = 0;
      do {
        const int64_t count = std::min(kOutputsPerPiece, ranges[c].count - done);
        if (count == 0 && c != looks) break;
        pieces_.push_back({static_cast<uint32_t>(i),
                           static_cast<uint32_t>(c),
                           check,
                           {ranges[c].first + done, count},
                           {}});
        ++job(i).pieces;
        done += count;
      } while (done < ranges[c].count);
    }
  }
}

void DownconvertBatch::RunPiece(int index) {
  Piece& piece = pieces_[static_cast<size_t>(index)];
  DownconvertJob& owner = job(piece.job);
  const downconvert::Channel& channel = owner.channels()[piece.channel];
  const int64_t bytes = downconvert::BytesPerOutput(channel.output);
  uint8_t* const target = owner.reply.data() + owner.reply_offsets()[piece.channel] +
                          (piece.part.first - owner.ranges()[piece.channel].first) * bytes;
  RunIfWanted(owner, [&] {
    piece.result = downconvert::DownconvertOnCpu(
        channel, owner.block(), owner.input.span(), piece.part,
        {target, static_cast<size_t>(piece.part.count * bytes)}, piece.check);
  });
}

absl::Status DownconvertBatch::Finish() {
  if (output_staging_ == nullptr) {  // the CPU ran
    for (const Piece& piece : pieces_) {
      downconvert::ChannelResult& result = job(piece.job).results[piece.channel];
      result.saturated += piece.result.saturated;
      result.has_non_finite |= piece.result.has_non_finite;
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
                  output_staging_ + place.output_offset + owner.staging_offsets()[c],
                  static_cast<size_t>(owner.output_bytes(c)));
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
