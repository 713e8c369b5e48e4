#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/downconvert/downconvert.h"
#include "tests/support/downconvert_signals.h"
#include "tests/support/random_requests.h"

namespace baseband::testing {
namespace {

constexpr int kMaxChannels = 12;
constexpr int kMaxSamples = 5000;
constexpr int64_t kMostSamplesForStudy = int64_t{1} << 22;

void SetFrequency(double sample_rate, Random& random, v1::OscillatorFrequency* frequency) {
  if (OneIn(2, random)) {
    frequency->set_hz(Between(-sample_rate, sample_rate, random));
    return;
  }
  const auto den = static_cast<uint64_t>(SomeCount(1 << 30, random));
  frequency->mutable_fraction()->set_den(den);
  frequency->mutable_fraction()->set_num(
      static_cast<int64_t>(Between(-1.0, 1.0, random) * static_cast<double>(den)));
}

void SetFilter(double sample_rate, Random& random, v1::ChannelFilter* filter) {
  const int up = OneIn(2, random) ? 1 : SomeCount(20, random);
  const int down =
      OneIn(4, random) ? SomeCount(downconvert::kMaxDown, random) : SomeCount(64, random);
  filter->set_up(static_cast<uint32_t>(up));
  filter->set_down(static_cast<uint32_t>(down));
  if (OneIn(6, random)) {  // of a few hundred taps, which is quick
    v1::FilterMask& mask = *filter->mutable_mask();
    filter->set_up(1);
    filter->set_down(static_cast<uint32_t>(1 + random.Below(8)));
    mask.set_pass_edge_hz(0.2 * sample_rate / filter->down());
    if (OneIn(2, random)) {
      mask.set_stop_edge_hz(Between(0.5, 0.8, random) * sample_rate / filter->down());
    }
    mask.set_attenuation_db(Between(30.0, 80.0, random));
    mask.set_ripple_db(Between(0.05, 1.0, random));
    mask.set_design(static_cast<v1::FilterDesign>(random.Below(3)));
    return;
  }
  const std::vector<float> taps =
      SomeTaps(SomeCount(800, random), up, down, static_cast<uint32_t>(random.Next()));
  filter->mutable_taps()->Add(taps.begin(), taps.end());
}

bool IsExact(v1::NcoMethod nco) {
  return nco == v1::NCO_METHOD_UNSPECIFIED || nco == v1::NCO_METHOD_EXACT;
}

}  // namespace

v1::DownconvertRequest RandomDownconvertRequest(Random& random) {
  v1::DownconvertRequest request;
  v1::DownconvertSetup& setup = *request.mutable_setup();
  setup.set_sample_rate_hz(LogBetween(1.0, 1e10, random));
  setup.set_format(static_cast<v1::WidebandFormat>(random.Below(7)));
  if (OneIn(3, random)) setup.set_scale(static_cast<float>(LogBetween(1e-6, 10.0, random)));
  bool is_exact = true;
  for (int c = SomeCount(kMaxChannels, random); c > 0; --c) {
    v1::DownconvertChannel& channel = *setup.add_channels();
    SetFrequency(setup.sample_rate_hz(), random, channel.mutable_frequency());
    channel.set_phase(Between(-10.0, 10.0, random));
    if (OneIn(3, random)) channel.set_gain(static_cast<float>(Between(-3.0, 3.0, random)));
    SetFilter(setup.sample_rate_hz(), random, channel.mutable_filter());
    channel.set_output(static_cast<v1::SampleFormat>(random.Below(4)));
    if (OneIn(8, random)) channel.set_nco(static_cast<v1::NcoMethod>(random.Below(8)));
    if (OneIn(8, random)) {
      channel.set_nco_segment(
          static_cast<uint32_t>(SomeCount(static_cast<int>(kMostSamplesForStudy), random)));
    }
    is_exact = is_exact && IsExact(channel.nco());
  }
  if (is_exact && OneIn(2, random)) {
    request.set_first_sample(
        OneOf<uint64_t>({1, 12345, (uint64_t{1} << 53) + 1, (uint64_t{1} << 61) + 7}, random));
  }
  request.set_zero_history(request.first_sample() > 0 || OneIn(3, random));
  const int samples = SomeCount(kMaxSamples, random);
  if (OneIn(3, random)) request.set_history(static_cast<uint64_t>(random.Below(samples + 1)));
  const uint64_t end = request.first_sample() + static_cast<uint64_t>(samples);
  if (is_exact) {
    std::vector<uint64_t> last(static_cast<size_t>(setup.channels_size()),
                               request.first_sample() > 2000 ? request.first_sample() - 1000 : 0);
    for (int r = OneIn(2, random) ? random.Below(6) : 0; r > 0; --r) {
      v1::Retune& retune = *request.add_retunes();
      retune.set_channel(static_cast<uint32_t>(random.Below(setup.channels_size())));
      uint64_t& index = last[retune.channel()];
      index += static_cast<uint64_t>(SomeCount(2000, random));
      retune.set_index(std::min(index, end + 100));
      index = retune.index();
      SetFrequency(setup.sample_rate_hz(), random, retune.mutable_frequency());
      retune.set_mode(static_cast<v1::RetuneMode>(random.Below(3)));
    }
  }
  request.set_describe(OneIn(3, random));
  const auto format = kInputFormats[setup.format() == 0 ? 1 : setup.format() - 1];
  const std::vector<uint8_t> noise =
      NoiseSamples(format, samples, static_cast<uint32_t>(random.Next()));
  request.set_payload(noise.data(), noise.size());
  return request;
}

}  // namespace baseband::testing
