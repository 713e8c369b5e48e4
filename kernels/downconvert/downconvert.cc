#include "kernels/downconvert/downconvert.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::downconvert {
namespace {

template <typename... Args>
absl::Status Refuse(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

absl::Status CheckShape(const Block& block) {
  if (block.format > InputFormat::kRealFloat32) {
    return Refuse("setup.format ", static_cast<int>(block.format), " is none of the formats");
  }
  if (!std::isfinite(block.scale) || block.scale <= 0.0F) {
    return Refuse("setup.scale ", block.scale, " is not finite and > 0");
  }
  if (block.first_index < 0 || block.first_index >= kMaxSampleIndex) {
    return Refuse("first_sample ", block.first_index, " is not in [0, 2^62)");
  }
  if (block.num_samples < 1 || block.num_samples > kMaxSampleIndex - block.first_index) {
    return Refuse("payload has ", block.num_samples,
                  " samples, not in [1, 2^62 - first_sample], [1, ",
                  kMaxSampleIndex - block.first_index, "]");
  }
  if (block.history < 0 || block.history > block.num_samples) {
    return Refuse("history ", block.history, " is not in [0, samples of the payload], [0, ",
                  block.num_samples, "]");
  }
  return absl::OkStatus();
}

absl::Status CheckStudy(const Channel& channel, const std::string& name, const Block& block) {
  if (channel.nco > NcoMethod::kAccumulated) {
    return Refuse(name, ".nco ", static_cast<int>(channel.nco), " is none of the methods");
  }
  if (channel.nco == NcoMethod::kExact) return absl::OkStatus();
  if (channel.nco != NcoMethod::kFloat && channel.study_segment < 1) {
    return Refuse(name, ".nco_segment ", channel.study_segment, " is not > 0");
  }
  if (block.first_index != 0) {
    return Refuse("first_sample ", block.first_index, " is not 0, where ", name,
                  ".nco, a method for study, begins");
  }
  if (block.num_samples > kMaxStudySamples) {
    return Refuse("payload has ", block.num_samples, " samples, not in [1, ", kMaxStudySamples,
                  "], as ", name, ".nco, a method for study, has it");
  }
  if (channel.phase.segments().size() > 1) {
    return Refuse("retunes has ", channel.phase.segments().size() - 1, " of ", name,
                  ", but only the exact nco can be retuned");
  }
  return absl::OkStatus();
}

// Indices of outputs, and of samples between the stages, must fit int64.
absl::Status CheckIndices(const Filter& filter, const std::string& name, const Block& block) {
  __int128 end = block.first_index + block.num_samples;
  for (const Stage& stage : filter.stages()) {
    end = (end * stage.up + stage.down - 1) / stage.down;
    if (end > std::numeric_limits<int64_t>::max()) {
      return Refuse("first_sample ", block.first_index, ": at ", name, ".filter.up ", filter.up(),
                    " and .filter.down ", filter.down(),
                    " the block's outputs have indices beyond 2^63");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckChannel(const Channel& channel, const std::string& name, const Block& block) {
  if (channel.filter == nullptr) return Refuse(name, ".filter is missing");
  if (!std::isfinite(channel.gain)) return Refuse(name, ".gain ", channel.gain, " is not finite");
  if (!std::isfinite(channel.gain * block.scale)) {
    return Refuse(name, ".gain ", channel.gain, " times setup.scale ", block.scale,
                  " is beyond float32");
  }
  if (channel.output > OutputFormat::kInt16) {
    return Refuse(name, ".output ", static_cast<int>(channel.output), " is none of the formats");
  }
  BASEBAND_RETURN_IF_ERROR(CheckStudy(channel, name, block));
  if (block.first_index > 0 && block.history < channel.filter->history()) {
    return Refuse("history ", block.history, " is less than the ", channel.filter->history(),
                  " samples that ", name, ".filter needs from before first_sample + history");
  }
  return CheckIndices(*channel.filter, name, block);
}

}  // namespace

OutputRange OutputsOf(const Channel& channel, const Block& block) {
  const Filter& filter = *channel.filter;
  OutputRange range;
  range.first = filter.FirstOutput(block.first_index + block.history);
  range.count = filter.FirstOutput(block.first_index + block.num_samples) - range.first;
  return range;
}

int64_t HistoryOf(absl::Span<const Channel> channels) {
  int64_t history = 0;
  for (const Channel& channel : channels) history = std::max(history, channel.filter->history());
  return history;
}

absl::Status CheckBlock(absl::Span<const Channel> channels, const Block& block) {
  if (channels.empty() || channels.size() > kMaxChannels) {
    return Refuse("setup.channels has ", channels.size(), " entries, not 1 to ", kMaxChannels);
  }
  BASEBAND_RETURN_IF_ERROR(CheckShape(block));
  for (size_t c = 0; c < channels.size(); ++c) {
    BASEBAND_RETURN_IF_ERROR(
        CheckChannel(channels[c], absl::StrCat("setup.channels[", c, "]"), block));
  }
  return absl::OkStatus();
}

}  // namespace baseband::downconvert
