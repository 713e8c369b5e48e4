#include "server/converters/downconvert_setup.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/rpc.h"

namespace baseband::server {
namespace {

constexpr double kMaxSampleRateHz = 1e15;
constexpr double kMaxScale = 1e15;
constexpr int kDefaultStudySegment = 1024;
constexpr int kMaxStudySegment = 1 << 22;

absl::Status Within(absl::string_view where, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(where, status.message()));
}

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

absl::StatusOr<downconvert::Channel> ChannelFromProto(const v1::DownconvertChannel& message,
                                                      double sample_rate_hz,
                                                      const downconvert::Frequency& frequency,
                                                      DownconvertFilters& filters,
                                                      const ContinueCheck& may_continue) {
  downconvert::Channel channel;
  BASEBAND_ASSIGN_OR_RETURN(
      channel.phase, downconvert::PhaseTrack::Create(frequency, message.phase(), /*retunes=*/{}));
  if (!std::isfinite(message.gain())) {
    return absl::InvalidArgumentError(absl::StrCat("gain ", message.gain(), " is not finite"));
  }
  channel.gain = message.gain() != 0.0F ? message.gain() : 1.0F;
  absl::StatusOr<downconvert::FilterPtr> filter =
      filters.FromProto(message.filter(), sample_rate_hz, may_continue);
  if (!filter.ok()) {
    return Within("filter.", filter.status());
  }
  channel.filter = *std::move(filter);
  BASEBAND_ASSIGN_OR_RETURN(channel.output, OutputFromProto(message.output()));
  BASEBAND_ASSIGN_OR_RETURN(channel.nco, NcoFromProto(message.nco()));
  BASEBAND_RETURN_IF_ERROR(CheckRange("nco_segment", message.nco_segment(), 0, kMaxStudySegment));
  channel.study_segment =
      message.nco_segment() != 0 ? static_cast<int>(message.nco_segment()) : kDefaultStudySegment;
  return channel;
}

}  // namespace

absl::StatusOr<DownconvertSetup> SetupFromProto(const v1::DownconvertSetup& message,
                                                DownconvertFilters& filters,
                                                const ContinueCheck& may_continue) {
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
  BASEBAND_ASSIGN_OR_RETURN(const double scale, PositiveOr("setup.scale", message.scale(),
                                                           kMaxScale, DefaultScale(setup.format)));
  setup.scale = static_cast<float>(scale);
  BASEBAND_RETURN_IF_ERROR(CheckRange("the number of setup.channels", message.channels_size(), 1,
                                      downconvert::kMaxChannels));
  for (int c = 0; c < message.channels_size(); ++c) {
    const auto here = [c](const absl::Status& status) {
      return Within(absl::StrCat("setup.channels[", c, "]."), status);
    };
    absl::StatusOr<downconvert::Frequency> frequency =
        FrequencyFromProto(message.channels(c).frequency(), setup.sample_rate_hz);
    if (!frequency.ok()) {
      return here(frequency.status());
    }
    absl::StatusOr<downconvert::Channel> channel = ChannelFromProto(
        message.channels(c), setup.sample_rate_hz, *frequency, filters, may_continue);
    if (!channel.ok()) {
      return here(channel.status());
    }
    setup.frequencies.push_back(*frequency);
    setup.channels.push_back(*std::move(channel));
  }
  return setup;
}

absl::StatusOr<std::vector<std::vector<downconvert::Retune>>> RetunesFromProto(
    const google::protobuf::RepeatedPtrField<v1::Retune>& messages, const DownconvertSetup& setup) {
  std::vector<std::vector<downconvert::Retune>> retunes(setup.channels.size());
  for (int i = 0; i < messages.size(); ++i) {
    const v1::Retune& message = messages[i];
    const std::string where = absl::StrCat("retunes[", i, "].");
    const auto here = [&where](const absl::Status& status) { return Within(where, status); };
    if (message.channel() >= setup.channels.size()) {
      return here(absl::InvalidArgumentError(absl::StrCat(
          "channel ", message.channel(), " is not in [0, ", setup.channels.size() - 1, "]")));
    }
    if (message.index() >= uint64_t{downconvert::kMaxSampleIndex}) {
      return here(absl::InvalidArgumentError(
          absl::StrCat("index ", message.index(), " is not in [1, 2^62)")));
    }
    downconvert::Retune retune;
    retune.index = static_cast<int64_t>(message.index());
    absl::StatusOr<downconvert::Frequency> frequency =
        FrequencyFromProto(message.frequency(), setup.sample_rate_hz);
    if (!frequency.ok()) {
      return here(frequency.status());
    }
    retune.frequency = *frequency;
    absl::StatusOr<downconvert::RetuneMode> mode = ModeFromProto(message.mode());
    if (!mode.ok()) {
      return here(mode.status());
    }
    retune.mode = *mode;
    retunes[message.channel()].push_back(retune);
  }
  return retunes;
}

absl::Status ApplyRetunes(const std::vector<std::vector<downconvert::Retune>>& retunes,
                          int64_t keep_from, std::vector<downconvert::Channel>* channels) {
  for (size_t c = 0; c < channels->size(); ++c) {
    downconvert::Channel& channel = (*channels)[c];
    if (retunes[c].empty() && channel.phase.segments().size() == 1) {
      continue;
    }
    absl::StatusOr<downconvert::PhaseTrack> track = channel.phase.Retuned(retunes[c], keep_from);
    if (!track.ok()) {
      return Within(absl::StrCat("retunes of channel ", c, ": "), track.status());
    }
    channel.phase = *std::move(track);
  }
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

absl::Status CheckJob(absl::Span<const downconvert::Channel> channels,
                      const downconvert::Block& block) {
  BASEBAND_RETURN_IF_ERROR(downconvert::CheckBlock(channels, block));
  const int64_t workspace = DownconvertWorkspaceBytes(channels, block);
  if (workspace > kMaxDownconvertWorkspaceBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the channels' filters need ", workspace, " bytes of scratch for ",
                     block.num_samples, " samples; this server has ", kMaxDownconvertWorkspaceBytes,
                     ": send fewer samples at a time"));
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

void DescribeChannels(const DownconvertSetup& setup, v1::DownconvertResponse* response) {
  for (size_t c = 0; c < setup.channels.size(); ++c) {
    const downconvert::Filter& filter = *setup.channels[c].filter;
    const downconvert::Frequency& frequency = setup.frequencies[c];
    v1::ChannelDescription& description = *response->add_descriptions();
    description.mutable_frequency()->set_num(frequency.num());
    description.mutable_frequency()->set_den(frequency.den());
    description.set_frequency_hz(frequency.cycles_per_sample() * setup.sample_rate_hz);
    description.set_output_rate_hz(setup.sample_rate_hz * filter.up() / filter.down());
    description.set_group_delay(filter.report().group_delay);
    description.set_transient(static_cast<uint64_t>(filter.report().transient_inputs));
    description.set_ripple_db(filter.report().ripple_db);
    description.set_attenuation_db(filter.report().attenuation_db);
    for (const downconvert::Stage& stage : filter.stages()) {
      description.add_stage_taps(static_cast<uint32_t>(stage.taps.size()));
      description.add_stage_up(static_cast<uint32_t>(stage.up));
      description.add_stage_down(static_cast<uint32_t>(stage.down));
    }
  }
}

void FillResponse(const DownconvertJob& job, v1::DownconvertResponse* response) {
  SetTiming(job.times, response->mutable_timing());
  for (size_t c = 0; c < job.channels().size(); ++c) {
    v1::ChannelOutput& output = *response->add_channels();
    output.set_first_output(static_cast<uint64_t>(job.ranges()[c].first));
    output.set_count(static_cast<uint64_t>(job.ranges()[c].count));
    output.set_saturated(static_cast<uint64_t>(job.results[c].saturated));
  }
  const int64_t next = job.block().first_index + job.block().num_samples;
  response->set_next_sample(static_cast<uint64_t>(next));
  response->set_history(
      static_cast<uint64_t>(std::min(next, downconvert::HistoryOf(job.channels()))));
}

void CountDownconvert(const DownconvertJob& job, Metrics& metrics) {
  int64_t outputs = 0;
  int64_t saturated = 0;
  for (size_t c = 0; c < job.channels().size(); ++c) {
    outputs += job.ranges()[c].count;
    saturated += job.results[c].saturated;
  }
  metrics.ObserveDownconvert(job.block().num_samples - job.block().history, outputs,
                             static_cast<int>(job.channels().size()), saturated);
}

}  // namespace baseband::server
