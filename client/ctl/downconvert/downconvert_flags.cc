#include "client/ctl/downconvert/downconvert_flags.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/angles.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/notes.h"
#include "client/ctl/common/sigmf.h"
#include "client/ctl/common/symbols.h"
#include "client/ctl/common/taps_file.h"
#include "client/ctl/downconvert/channels_json.h"
#include "common/numbers/numbers.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {
namespace {

constexpr NamedValue<v1::NcoMethod> kNcoMethods[] = {{"exact", v1::NCO_METHOD_EXACT},
                                                     {"float", v1::NCO_METHOD_FLOAT},
                                                     {"accumulated", v1::NCO_METHOD_ACCUMULATED},
                                                     {"segmented", v1::NCO_METHOD_SEGMENTED},
                                                     {"fast2sum", v1::NCO_METHOD_FAST_2SUM},
                                                     {"2sum", v1::NCO_METHOD_2SUM},
                                                     {"double", v1::NCO_METHOD_DOUBLE}};
constexpr NamedValue<v1::RetuneMode> kModes[] = {{"continuous", v1::RETUNE_MODE_PHASE_CONTINUOUS},
                                                 {"coherent", v1::RETUNE_MODE_PHASE_COHERENT}};

absl::Status Within(absl::string_view where, const absl::Status& status) {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(where, status.message()));
}

absl::StatusOr<v1::DownconvertChannel> ToChannel(const ChannelSpec& spec, const Band& band) {
  v1::DownconvertChannel channel;
  BASEBAND_ASSIGN_OR_RETURN(*channel.mutable_frequency(), ToOscillator(spec.frequency, band));
  channel.set_phase(spec.phase_degrees * (kPi / 180));
  if (static_cast<float>(spec.gain) == 0) {
    return absl::InvalidArgumentError("has gain (--gain) 0, which stands for 1 on the wire");
  }
  channel.set_gain(static_cast<float>(spec.gain));
  channel.set_output(spec.output);
  channel.set_nco(spec.nco);
  channel.set_nco_segment(spec.segment);
  v1::ChannelFilter& filter = *channel.mutable_filter();
  filter.set_up(spec.up);
  filter.set_down(spec.down);
  const bool masked = spec.pass_hz != 0 || spec.stop_hz != 0 || spec.ripple_db != 0 ||
                      spec.attenuation_db != 0 || spec.kaiser;
  if (!spec.taps.empty()) {
    if (masked) {
      return absl::InvalidArgumentError(
          "has taps and a mask (pass, stop, ripple, attenuation, kaiser): only one of them");
    }
    filter.mutable_taps()->Add(spec.taps.begin(), spec.taps.end());
    return channel;
  }
  const int up = std::max(1, spec.up);
  const int down = std::max(1, spec.down);
  if (!masked && up == 1 && down == 1) {
    filter.add_taps(1);  // nothing to be filtered: only mixed
    return channel;
  }
  v1::FilterMask& mask = *filter.mutable_mask();
  const double least_rate = band.sample_rate_hz * std::min(1.0, static_cast<double>(up) / down);
  mask.set_pass_edge_hz(spec.pass_hz != 0 ? spec.pass_hz : 0.4 * least_rate);
  mask.set_stop_edge_hz(spec.stop_hz);
  mask.set_ripple_db(spec.ripple_db);
  mask.set_attenuation_db(spec.attenuation_db);
  mask.set_design(spec.kaiser ? v1::FILTER_DESIGN_KAISER : v1::FILTER_DESIGN_EQUIRIPPLE);
  return channel;
}

// All channels that the flags and their files name.
absl::StatusOr<std::vector<ChannelSpec>> FindChannels(const DownconvertFlags& flags,
                                                      double* file_rate_hz) {
  std::vector<ChannelSpec> channels;
  for (const auto& [flag, texts] : {std::make_pair("--channel", &flags.channels),
                                    std::make_pair("--fraction", &flags.fractions)}) {
    for (const std::string& text : *texts) {
      ChannelSpec channel = flags.common;
      absl::Status status = ParseChannel(text, &channel);
      if (status.ok() && texts == &flags.fractions &&
          !channel.frequency.oscillator.has_fraction()) {
        status = absl::InvalidArgumentError(absl::StrCat("'", text, "' is not NUM/DEN[:DOWN]"));
      }
      if (!status.ok()) {
        return Within(absl::StrCat(flag, " "), status);
      }
      channels.push_back(std::move(channel));
    }
  }
  if (!flags.channels_file.empty()) {
    const absl::StatusOr<std::string> text = ReadText(flags.channels_file);
    if (!text.ok()) {
      return text.status();
    }
    absl::StatusOr<ChannelsFile> file = ParseChannels(*text, flags.common);
    if (!file.ok()) {
      return Within(absl::StrCat(flags.channels_file, ": "), file.status());
    }
    if (file->sample_rate_hz != 0) {
      *file_rate_hz = file->sample_rate_hz;
    }
    channels.insert(channels.end(), file->channels.begin(), file->channels.end());
  }
  if (channels.empty()) {
    return absl::InvalidArgumentError(
        "no channel is given: --channel=9.1M:8 takes what is at 9.1 MHz to an eighth of the sample"
        " rate; it may be repeated, and --channels=FILE.json names many");
  }
  return channels;
}

}  // namespace

absl::Status ParseChannel(absl::string_view text, ChannelSpec* channel) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  const auto frequency = ParseChannelFrequency(parts.empty() ? text : parts[0]);
  if (!frequency.ok()) {
    return frequency.status();
  }
  channel->frequency = *frequency;
  if (parts.size() > 2 || (parts.size() == 2 && !ParseWholeIn(parts[1], 1, 4096, &channel->down))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is not FREQUENCY[:DOWN] with DOWN in [1, 4096], such as 9.1M:8"));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Retune> ParseRetune(absl::string_view text, const Band& band) {
  const std::pair<absl::string_view, absl::string_view> sides =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  const std::vector<absl::string_view> place = absl::StrSplit(sides.first, '@');
  const std::vector<absl::string_view> value = absl::StrSplit(sides.second, ':');
  v1::Retune retune;
  uint32_t channel = 0;
  const absl::StatusOr<double> index =
      place.size() == 2 ? ParseNumber(place[1]) : absl::StatusOr<double>(-1.0);
  uint64_t whole = 0;
  // Plain digits first: a double does not hold all of them.
  if (place.size() != 2 || value.empty() || value.size() > 2 ||
      !absl::SimpleAtoi(place[0], &channel) ||
      !(absl::SimpleAtoi(place[1], &whole) || (index.ok() && *index >= 0 && *index < 9e15))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--retune '", text, "' is not CHANNEL@SAMPLE=FREQUENCY[:coherent], such as 0@5M=9.2M"));
  }
  retune.set_channel(channel);
  retune.set_index(absl::SimpleAtoi(place[1], &whole) ? whole : static_cast<uint64_t>(*index));
  const auto frequency = ParseChannelFrequency(value[0]);
  if (!frequency.ok()) {
    return Within("--retune ", frequency.status());
  }
  const auto oscillator = ToOscillator(*frequency, band);
  if (!oscillator.ok()) {
    return Within(absl::StrCat("--retune ", text, " "), oscillator.status());
  }
  *retune.mutable_frequency() = *oscillator;
  const auto mode = FindValue(kModes, "--retune mode", value.size() == 2 ? value[1] : "continuous");
  if (!mode.ok()) {
    return mode.status();
  }
  retune.set_mode(*mode);
  return retune;
}

absl::StatusOr<v1::SampleFormat> ParseOutputFormat(absl::string_view name) {
  return ParseSampleFormat("output", name);
}
absl::StatusOr<v1::NcoMethod> ParseNcoMethod(absl::string_view name) {
  return FindValue(kNcoMethods, "nco", name);
}
std::string NameOfNcoMethod(v1::NcoMethod method) { return NameOf(kNcoMethods, method); }

absl::StatusOr<DownconvertPlan> ToDownconvertPlan(DownconvertFlags flags, Band band) {
  const auto output = ParseOutputFormat(flags.output);
  const auto nco = ParseNcoMethod(flags.nco);
  if (!output.ok() || !nco.ok()) {
    return Within("--", output.ok() ? nco.status() : output.status());
  }
  flags.common.output = *output;
  flags.common.nco = *nco;
  if (!flags.taps_file.empty()) {
    absl::StatusOr<std::vector<float>> taps = ReadTaps(flags.taps_file);
    if (!taps.ok()) {
      return taps.status();
    }
    flags.common.taps = *std::move(taps);
  }
  const Band file = band;
  const absl::StatusOr<std::vector<ChannelSpec>> channels =
      FindChannels(flags, &band.sample_rate_hz);
  if (!channels.ok()) {
    return channels.status();
  }
  DownconvertPlan plan;
  if (flags.sample_rate_hz != 0) {
    band.sample_rate_hz = flags.sample_rate_hz;
  }
  if (flags.centre_hz.has_value()) {
    band.centre_hz = flags.centre_hz;
  }
  if (band.sample_rate_hz == 0) {
    return absl::InvalidArgumentError(
        absl::EndsWith(file.path, kSigmfMeta)
            ? absl::StrCat(file.path, " says no core:sample_rate: add --rate=64M")
            : "the sample rate is not known: add --rate=64M, or name a SigMF or WAV recording");
  }
  if (file.sample_rate_hz != 0 && band.sample_rate_hz != file.sample_rate_hz) {
    plan.notes.push_back(Contradiction(flags.sample_rate_hz != 0 ? "--rate" : flags.channels_file,
                                       band.sample_rate_hz, file.path, file.sample_rate_hz));
  }
  if (file.centre_hz.has_value() && band.centre_hz != file.centre_hz) {
    plan.notes.push_back(Contradiction("--centre", *band.centre_hz, file.path, *file.centre_hz));
  }
  plan.setup.set_sample_rate_hz(band.sample_rate_hz);
  plan.centre_hz = band.centre_hz;
  for (const ChannelSpec& spec : *channels) {
    const auto channel = ToChannel(spec, band);
    if (!channel.ok()) {
      return Within(absl::StrCat("channel ", plan.setup.channels_size(), " "), channel.status());
    }
    *plan.setup.add_channels() = *channel;
  }
  for (const std::string& text : flags.retunes) {
    BASEBAND_ASSIGN_OR_RETURN(v1::Retune retune, ParseRetune(text, band));
    plan.retunes.push_back(std::move(retune));
  }
  std::stable_sort(plan.retunes.begin(), plan.retunes.end(),
                   [](const v1::Retune& a, const v1::Retune& b) { return a.index() < b.index(); });
  return plan;
}

absl::Status CheckReached(const std::vector<v1::Retune>& retunes, int64_t end) {
  for (const v1::Retune& retune : retunes) {
    if (retune.index() >= static_cast<uint64_t>(end)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--retune at sample ", retune.index(), " of channel ", retune.channel(),
                       " is past the end: the last sample is ", end - 1));
    }
  }
  return absl::OkStatus();
}

double OutputsPerInput(const v1::ChannelFilter& filter) {
  return static_cast<double>(std::max(1U, filter.up())) / std::max(1U, filter.down());
}

}  // namespace baseband::ctl
