#include "server/operations/downconvert/downconvert_setup.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

constexpr double kMaxSampleRateHz = 1e15;
constexpr double kMaxSetupScale = 1e15;
constexpr int kDefaultStudySegment = 1024;
constexpr int kMaxStudySegment = 1 << 22;

absl::StatusOr<downconvert::InputFormat> FormatFromProto(v1::WidebandFormat format) {
  switch (format) {
    case v1::WIDEBAND_FORMAT_COMPLEX_INT8:
      return downconvert::InputFormat::kInt8;
    case v1::WIDEBAND_FORMAT_UNSPECIFIED:
    case v1::WIDEBAND_FORMAT_COMPLEX_INT16:
      return downconvert::InputFormat::kInt16;
    case v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32:
      return downconvert::InputFormat::kFloat32;
    case v1::WIDEBAND_FORMAT_REAL_INT8:
      return downconvert::InputFormat::kRealInt8;
    case v1::WIDEBAND_FORMAT_REAL_INT16:
      return downconvert::InputFormat::kRealInt16;
    case v1::WIDEBAND_FORMAT_REAL_FLOAT32:
      return downconvert::InputFormat::kRealFloat32;
    default:
      return CheckRange("format", format, 0, 6);
  }
}

// What a full-scale sample of the format is divided by.
double DefaultScale(downconvert::InputFormat format) {
  switch (format) {
    case downconvert::InputFormat::kInt8:
    case downconvert::InputFormat::kRealInt8:
      return 1.0 / 128.0;
    case downconvert::InputFormat::kInt16:
    case downconvert::InputFormat::kRealInt16:
      return 1.0 / 32768.0;
    default:
      return 1.0;
  }
}

absl::StatusOr<downconvert::OutputFormat> OutputFromProto(v1::SampleFormat format) {
  switch (format) {
    case v1::SAMPLE_FORMAT_UNSPECIFIED:
    case v1::SAMPLE_FORMAT_FLOAT32:
      return downconvert::OutputFormat::kFloat32;
    case v1::SAMPLE_FORMAT_FLOAT16:
      return downconvert::OutputFormat::kFloat16;
    case v1::SAMPLE_FORMAT_INT16:
      return downconvert::OutputFormat::kInt16;
    default:
      return CheckRange("output", format, 0, 3);
  }
}

absl::StatusOr<downconvert::NcoMethod> NcoFromProto(v1::NcoMethod method) {
  switch (method) {
    case v1::NCO_METHOD_UNSPECIFIED:
    case v1::NCO_METHOD_EXACT:
      return downconvert::NcoMethod::kExact;
    case v1::NCO_METHOD_FLOAT:
      return downconvert::NcoMethod::kFloat;
    case v1::NCO_METHOD_SEGMENTED:
      return downconvert::NcoMethod::kSegmented;
    case v1::NCO_METHOD_FAST_2SUM:
      return downconvert::NcoMethod::kFast2Sum;
    case v1::NCO_METHOD_2SUM:
      return downconvert::NcoMethod::kTwoSum;
    case v1::NCO_METHOD_DOUBLE:
      return downconvert::NcoMethod::kDouble;
    case v1::NCO_METHOD_ACCUMULATED:
      return downconvert::NcoMethod::kAccumulated;
    default:
      return CheckRange("nco", method, 0, 7);
  }
}

absl::StatusOr<downconvert::RetuneMode> ModeFromProto(v1::RetuneMode mode) {
  switch (mode) {
    case v1::RETUNE_MODE_UNSPECIFIED:
    case v1::RETUNE_MODE_PHASE_CONTINUOUS:
      return downconvert::RetuneMode::kContinuous;
    case v1::RETUNE_MODE_PHASE_COHERENT:
      return downconvert::RetuneMode::kCoherent;
    default:
      return CheckRange("mode", mode, 0, 2);
  }
}

absl::StatusOr<downconvert::Frequency> FrequencyFromProto(const v1::OscillatorFrequency& message,
                                                          double sample_rate_hz) {
  switch (message.frequency_case()) {
    case v1::OscillatorFrequency::kHz:
      if (!(std::abs(message.hz()) <= sample_rate_hz)) {
        return absl::InvalidArgumentError(
            absl::StrCat("frequency.hz ", message.hz(), " is not in [", -sample_rate_hz, ", ",
                         sample_rate_hz, "]: at most the sample rate"));
      }
      return downconvert::Frequency::FromRatio(message.hz(), sample_rate_hz);
    case v1::OscillatorFrequency::kFraction: {
      auto made =
          downconvert::Frequency::FromFraction(message.fraction().num(), message.fraction().den());
      return made.ok() ? std::move(made) : Within("frequency.fraction.", made.status());
    }
    case v1::OscillatorFrequency::FREQUENCY_NOT_SET:
      break;
  }
  return downconvert::Frequency();
}

// Nothing: as SetupFromProto.
absl::StatusOr<absl::optional<downconvert::Channel>> ChannelFromProto(
    const v1::DownconvertChannel& message, double sample_rate_hz,
    const downconvert::Frequency& frequency, DownconvertFilters& filters, absl::string_view client,
    const ContinueCheck* may_continue, absl::Span<const downconvert::FilterPtr> own) {
  downconvert::Channel channel;
  BASEBAND_ASSIGN_OR_RETURN(
      channel.phase, downconvert::PhaseTrack::Create(frequency, message.phase(), /*retunes=*/{}));
  if (!std::isfinite(message.gain())) {
    return absl::InvalidArgumentError(absl::StrCat("gain ", message.gain(), " is not finite"));
  }
  channel.gain = message.gain() != 0.0F ? message.gain() : 1.0F;
  absl::StatusOr<downconvert::FilterPtr> filter =
      filters.FromProto(message.filter(), sample_rate_hz, may_continue, own, client);
  if (!filter.ok()) {
    return Within("filter.", filter.status());
  }
  if (*filter == nullptr) {
    return absl::optional<downconvert::Channel>();
  }
  channel.filter = *std::move(filter);
  BASEBAND_ASSIGN_OR_RETURN(channel.output, OutputFromProto(message.output()));
  BASEBAND_ASSIGN_OR_RETURN(channel.nco, NcoFromProto(message.nco()));
  BASEBAND_RETURN_IF_ERROR(CheckRange("nco_segment", message.nco_segment(), 0, kMaxStudySegment));
  channel.study_segment =
      message.nco_segment() != 0 ? static_cast<int>(message.nco_segment()) : kDefaultStudySegment;
  return absl::make_optional(std::move(channel));
}

}  // namespace

absl::StatusOr<absl::optional<DownconvertSetup>> SetupFromProto(const v1::DownconvertSetup& message,
                                                                DownconvertFilters& filters,
                                                                absl::string_view client,
                                                                const ContinueCheck* may_continue) {
  DownconvertSetup setup;
  setup.sample_rate_hz = message.sample_rate_hz();
  if (!(setup.sample_rate_hz > 0.0 && setup.sample_rate_hz <= kMaxSampleRateHz)) {
    return absl::InvalidArgumentError(absl::StrCat("setup.sample_rate_hz ", setup.sample_rate_hz,
                                                   " is not in (0, ", kMaxSampleRateHz, "]"));
  }
  absl::StatusOr<downconvert::InputFormat> format = FormatFromProto(message.format());
  if (!format.ok()) {
    return Within("setup.", format.status());
  }
  setup.format = *format;
  BASEBAND_ASSIGN_OR_RETURN(
      const double scale,
      PositiveOr("setup.scale", message.scale(), kMaxSetupScale, DefaultScale(setup.format)));
  setup.scale = static_cast<float>(scale);
  if (message.channels_size() < 1 || message.channels_size() > downconvert::kMaxChannels) {
    return absl::InvalidArgumentError(absl::StrCat("setup.channels has ", message.channels_size(),
                                                   " entries, not 1 to ",
                                                   downconvert::kMaxChannels));
  }
  auto channels = std::make_shared<std::vector<downconvert::Channel>>();
  channels->reserve(static_cast<size_t>(message.channels_size()));
  std::vector<downconvert::FilterPtr> own;
  for (int c = 0; c < message.channels_size(); ++c) {
    const auto here = [c](const absl::Status& status) {
      return Within(absl::StrCat("setup.channels[", c, "]."), status);
    };
    absl::StatusOr<downconvert::Frequency> frequency =
        FrequencyFromProto(message.channels(c).frequency(), setup.sample_rate_hz);
    if (!frequency.ok()) {
      return here(frequency.status());
    }
    absl::StatusOr<absl::optional<downconvert::Channel>> channel = ChannelFromProto(
        message.channels(c), setup.sample_rate_hz, *frequency, filters, client, may_continue, own);
    if (!channel.ok()) {
      return here(channel.status());
    }
    if (!channel->has_value()) {
      return absl::optional<DownconvertSetup>();
    }
    setup.frequencies.push_back(*frequency);
    own.push_back((*channel)->filter);
    channels->push_back(*std::move(*channel));
  }
  setup.channels = std::move(channels);
  return absl::make_optional(std::move(setup));
}

namespace {

absl::StatusOr<downconvert::Retune> RetuneFromProto(const v1::Retune& message,
                                                    const DownconvertSetup& setup) {
  if (message.channel() >= setup.channels->size()) {
    return absl::InvalidArgumentError(absl::StrCat("channel ", message.channel(), " is not in [0, ",
                                                   setup.channels->size() - 1, "]"));
  }
  downconvert::Retune retune;
  if (message.index() < 1 || message.index() >= uint64_t{downconvert::kMaxSampleIndex}) {
    return absl::InvalidArgumentError(
        absl::StrCat("index ", message.index(), " is not in [1, 2^62)"));
  }
  retune.index = static_cast<int64_t>(message.index());
  BASEBAND_ASSIGN_OR_RETURN(retune.frequency,
                            FrequencyFromProto(message.frequency(), setup.sample_rate_hz));
  BASEBAND_ASSIGN_OR_RETURN(retune.mode, ModeFromProto(message.mode()));
  return retune;
}

int64_t NumRetunes(const downconvert::Channel& channel) {
  return static_cast<int64_t>(channel.phase.segments().size()) - 1;
}

}  // namespace

absl::Status ApplyRetunes(const RetuneMessages& messages, const DownconvertSetup& setup,
                          int64_t first, int64_t keep_from, DownconvertChannels* channels) {
  if (messages.size() > kMaxRetunes) {
    return absl::InvalidArgumentError(
        absl::StrCat("retunes has ", messages.size(), " entries, more than ", kMaxRetunes));
  }
  const bool any_is_over = std::any_of(
      (*channels)->begin(), (*channels)->end(), [keep_from](const downconvert::Channel& channel) {
        return NumRetunes(channel) > 0 && channel.phase.segments()[1].begin <= keep_from;
      });
  if (messages.empty() && !any_is_over) return absl::OkStatus();

  std::vector<std::vector<downconvert::Retune>> retunes((*channels)->size());
  for (int i = 0; i < messages.size(); ++i) {
    const std::string where = absl::StrCat("retunes[", i, "].");
    absl::StatusOr<downconvert::Retune> retune = RetuneFromProto(messages[i], setup);
    if (!retune.ok()) {
      return Within(where, retune.status());
    }
    const uint32_t c = messages[i].channel();
    if ((**channels)[c].nco != downconvert::NcoMethod::kExact) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, "channel ", c, " has an nco for study: only the exact one can be retuned"));
    }
    const int64_t last = retunes[c].empty() ? (**channels)[c].phase.segments().back().begin
                                            : retunes[c].back().index;
    if (retune->index < first) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, "index ", retune->index, " is over: the message begins at sample ", first));
    }
    if (retune->index <= last) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, "index ", retune->index, " is not above ", last,
                       ", where the one before it on channel ", c, " is"));
    }
    retunes[c].push_back(*retune);
  }

  auto retuned = std::make_shared<std::vector<downconvert::Channel>>(**channels);
  int64_t total = 0;
  for (size_t c = 0; c < retuned->size(); ++c) {
    downconvert::Channel& channel = (*retuned)[c];
    BASEBAND_ASSIGN_OR_RETURN(channel.phase, channel.phase.Retuned(retunes[c], keep_from));
    if (NumRetunes(channel) > kMaxRetunesOfChannel) {
      return absl::InvalidArgumentError(
          absl::StrCat("retunes of channel ", c, " that are not over come to ", NumRetunes(channel),
                       ", more than ", kMaxRetunesOfChannel));
    }
    total += NumRetunes(channel);
  }
  if (total > kMaxRetunes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "retunes of all channels that are not over come to ", total, ", more than ", kMaxRetunes));
  }
  *channels = std::move(retuned);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CountSamples(int64_t payload_bytes, const DownconvertSetup& setup) {
  if (payload_bytes == 0 || payload_bytes % setup.bytes_per_sample() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("payload has ", payload_bytes,
                                                   " bytes: not a multiple, above 0, of the ",
                                                   setup.bytes_per_sample(), " of a sample"));
  }
  return payload_bytes / setup.bytes_per_sample();
}

absl::Status CheckPast(const DownconvertSetup& setup, int64_t past_samples) {
  if (past_samples <= kMaxHistoryBytes / setup.bytes_per_sample()) return absl::OkStatus();
  const auto longest = std::max_element(
      setup.channels->begin(), setup.channels->end(),
      [](const auto& a, const auto& b) { return a.filter->history() < b.filter->history(); });
  return absl::InvalidArgumentError(
      absl::StrCat("setup.channels[", longest - setup.channels->begin(), "].filter needs ",
                   longest->filter->history(),
                   " samples of the past; a server keeps, or puts zeros for, at most ",
                   kMaxHistoryBytes / setup.bytes_per_sample()));
}

absl::Status CheckBlock(const DownconvertChannels& channels, const downconvert::Block& block,
                        int64_t past_samples, int64_t max_input_bytes) {
  if (DownconvertInputBytes(block) > max_input_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("payload has ", block.num_samples - past_samples,
                     " samples, and the filters need ", past_samples, " before it: more than the ",
                     max_input_bytes, " bytes that this server takes at a time; send fewer"));
  }
  return downconvert::CheckBlock(*channels, block);
}

absl::Status CheckJob(const DownconvertJob& job) {
  if (job.workspace_bytes() > kMaxDownconvertWorkspaceBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "payload has ", job.block().num_samples - job.past_samples(),
        " samples, for which the channels' filters need ", job.workspace_bytes(),
        " bytes of scratch; this server has ", kMaxDownconvertWorkspaceBytes, ": send fewer"));
  }
  return absl::OkStatus();
}

absl::Status CheckSamples(uint64_t first_sample, int64_t num_samples) {
  if (first_sample >= uint64_t{downconvert::kMaxSampleIndex} ||
      num_samples > downconvert::kMaxSampleIndex - static_cast<int64_t>(first_sample)) {
    return absl::InvalidArgumentError(absl::StrCat("first_sample ", first_sample, " and ",
                                                   num_samples, " samples go beyond 2^62"));
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
