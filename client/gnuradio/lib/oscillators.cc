#include "client/gnuradio/lib/oscillators.h"

#include <cmath>

namespace gr::baseband_offload {
namespace {

// x InverseOf(x) is 1 modulo 2^64, x odd: Newton's steps, each of which doubles the right bits.
uint64_t InverseOf(uint64_t x) {
  uint64_t inverse = x;  // 3 bits
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - x * inverse;
  return inverse;
}

// Modulo 2^63, of which half are negative: at most half the sample rate.
int64_t Wrapped(uint64_t units) {
  units %= kUnits;
  return units < kUnits / 2 ? static_cast<int64_t>(units) : -static_cast<int64_t>(kUnits - units);
}

}  // namespace

int64_t ToUnits(double frequency_hz, double sample_rate_hz) {
  // A long double's mantissa has the 64 bits that it takes.
  const long double units =
      static_cast<long double>(frequency_hz) / sample_rate_hz * static_cast<long double>(kUnits);
  if (units >= static_cast<long double>(INT64_MAX)) return INT64_MAX;
  return llroundl(units);
}

double ToHz(int64_t units, double sample_rate_hz) {
  return static_cast<double>(static_cast<long double>(units) / static_cast<long double>(kUnits) *
                             sample_rate_hz);
}

Oscillators::Oscillators(const std::vector<int64_t>& frequencies) : channels_(frequencies.size()) {
  for (size_t i = 0; i < frequencies.size(); ++i) channels_[i].frequency = frequencies[i];
}

void Oscillators::Forget(uint64_t begin) {
  std::vector<Retuning> later;
  for (const Retuning& retuning : retunings_) {
    if (retuning.sample >= begin) {
      later.push_back(retuning);
      continue;
    }
    State& channel = channels_[retuning.channel];
    if (retuning.coherent) {
      channel.phase = 0;
    } else {
      // f n + phase is to be the same for both at `sample`; overflow is modulo 2^64 cycles' parts,
      // of which 2^63 are a cycle.
      channel.phase +=
          (static_cast<uint64_t>(channel.frequency) - static_cast<uint64_t>(retuning.frequency)) *
          retuning.sample;
      channel.phase %= kUnits;
    }
    channel.frequency = retuning.frequency;
  }
  retunings_.swap(later);
}

std::vector<Retuning> Oscillators::SetUp(uint64_t begin, ::baseband::v1::DownconvertSetup* setup) {
  const uint64_t settled = Settled(begin);
  Forget(settled + 1);
  std::vector<Retuning> told;
  for (size_t i = 0; i < channels_.size(); ++i) {
    const State& state = channels_[i];
    // A frequency from which a continuous retuning at `settled` leads to the phase: it differs from
    // that of the channel by phase / settled, where that odd number has an inverse modulo 2^63.
    const int64_t frequency =
        Wrapped(static_cast<uint64_t>(state.frequency) + state.phase * InverseOf(settled));
    auto* fraction =
        setup->mutable_channels(static_cast<int>(i))->mutable_frequency()->mutable_fraction();
    fraction->set_num(state.phase == 0 ? state.frequency : frequency);
    fraction->set_den(kUnits);
    if (state.phase == 0) continue;
    told.push_back({static_cast<uint32_t>(i), settled, state.frequency, /*coherent=*/false});
  }
  return told;
}

}  // namespace gr::baseband_offload
