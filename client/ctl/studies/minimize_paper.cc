#include "client/ctl/studies/minimize_paper.h"

#include <algorithm>
#include <vector>

#include "client/ctl/common/angles.h"

namespace baseband::ctl {
namespace {

constexpr double kIntervalS = 2e-7;
constexpr unsigned kCode = 0xC44B;
constexpr int kBits = 16;
constexpr int kSamplesPerBit = 150;
constexpr int kSamples = kBits * kSamplesPerBit;
constexpr double kCodeHz = 465000;
constexpr double kLowestHz = 1000;

double Phase(double frequency_hz, int sample) {
  return 2 * kPi * frequency_hz * kIntervalS * sample;
}

void Append(const std::vector<double>& numbers, std::string* payload) {
  payload->append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
}

}  // namespace

v1::MinimizeRequest PaperSearch() {
  std::vector<double> signal;
  std::vector<double> cosine;
  std::vector<double> sine;
  for (int n = 0; n < kSamples; ++n) {
    const double sign = (kCode >> (kBits - 1 - n / kSamplesPerBit) & 1) != 0 ? 1 : -1;
    signal.push_back(std::sin(Phase(kPaperFrequencyHz, n)));
    cosine.push_back(sign * std::cos(Phase(kCodeHz, n)));
    sine.push_back(sign * std::sin(Phase(kCodeHz, n)));
  }
  v1::MinimizeRequest request;
  request.mutable_sinusoids()->set_num_samples(kSamples);
  request.mutable_sinusoids()->set_sampling_interval_s(kIntervalS);
  request.mutable_sinusoids()->set_fixed_columns(2);
  for (const auto* numbers : {&signal, &cosine, &sine}) Append(*numbers, request.mutable_payload());
  return request;
}

double PaperEnergy() {
  double energy = 0;
  for (int n = 0; n < kSamples; ++n) energy += std::pow(std::sin(Phase(kPaperFrequencyHz, n)), 2);
  return energy;
}

v1::GridAxis PaperAxis(int64_t points, double step_hz) {
  const double below = std::min(static_cast<double>(points / 2),
                                std::floor((kPaperFrequencyHz - kLowestHz) / step_hz) - 1);
  v1::GridAxis axis;
  axis.set_begin(kPaperFrequencyHz - (below + 0.3) * step_hz);
  axis.set_step(step_hz);
  axis.set_count(static_cast<uint64_t>(points));
  return axis;
}

}  // namespace baseband::ctl
