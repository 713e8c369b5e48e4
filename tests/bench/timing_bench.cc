// Speed of the CPU device's symbol timing on one core, beside that of the carrier recovery in it.
//
//   timing_bench [repetitions]
//
// Every figure first checks its results: frames of 64800 coded bits, 4 dB above the operating SNR,
// must lock with offset and clock error within 5 of their deviations. Figures are million symbols
// per second of the thread's processor time, the best of many short runs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/timing/timing_cpu.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/bench/rows.h"
#include "tests/support/timing_frames.h"

namespace baseband::timing {
namespace {

using bench::ThreadSeconds;

constexpr int kCodedBits = 64800;

template <typename Work>
bench::Times TimesOf(int repetitions, const Work& work) {
  std::vector<double> seconds;
  for (int k = 0; k < repetitions; ++k) {
    const double begin = ThreadSeconds();
    work();
    seconds.push_back(ThreadSeconds() - begin);
  }
  return bench::Times::Of(seconds);
}

void Measure(const std::string& name, const PulseShape& shape, int repetitions) {
  const auto constellation = *carrier::Constellation::FromName(name);
  const auto model = *carrier::Model::Create(constellation, carrier::Amplitude::kWeighted, 0);
  const PulsePtr pulse = *Pulse::Create(shape);
  const Parameters parameters;
  const carrier::Parameters carrier;
  const int num_symbols =
      kCodedBits / static_cast<int>(std::lround(std::log2(constellation->size())));
  testing::TimingSpec spec;
  spec.constellation = constellation;
  spec.shape = shape;
  spec.num_samples = SamplesFor(shape, parameters, num_symbols);
  spec.snr_db = constellation->operating_snr_db() + 4.0;
  spec = testing::WithRandomTiming(spec, 0.5 * parameters.max_clock_error,
                                   0.8 * model->max_frequency());
  const std::vector<uint8_t> samples =
      testing::ToSamples(testing::MakeSamples(spec).samples, carrier::SampleFormat::kFloat32);
  std::vector<uint8_t> corrected(static_cast<size_t>(num_symbols) * sizeof(carrier::Iq));
  Recovered recovered;
  const auto recover = [&] {
    recovered = RecoverOnCpu(*model, carrier, *pulse, parameters, samples, {},
                             absl::MakeSpan(corrected), {});
  };
  recover();
  const Result& timing = recovered.timing;
  double off = timing.offset - spec.offset;
  off -= std::rint(off);
  if (timing.lock != Lock::kLocked || timing.refined == 0 ||
      std::fabs(off) > 5.0 * static_cast<double>(timing.offset_stddev) ||
      std::fabs(timing.clock_error - spec.clock_error) >
          5.0 * static_cast<double>(timing.clock_error_stddev)) {
    std::fprintf(stderr, "FAILED: %s, roll-off %g: lock %d, offset %g is not %g\n", name.c_str(),
                 shape.rolloff, static_cast<int>(timing.lock), timing.offset, spec.offset);
    std::exit(1);
  }
  const bench::Times whole = TimesOf(repetitions, recover);
  // The corrected symbols are symbols like any others.
  const double alone = TimesOf(repetitions, [&] {
                         carrier::RecoverOnCpu(*model, carrier, corrected, {}, {}, {});
                       }).best;
  std::printf("%-16s roll-off %4.2f, %4.1f samples a symbol  %7.1f Msym/s   carrier alone %7.1f\n",
              name.c_str(), shape.rolloff, shape.samples_per_symbol(),
              1e-6 * num_symbols / whole.best, 1e-6 * num_symbols / alone);
  char samples_per_symbol[16];
  std::snprintf(samples_per_symbol, sizeof(samples_per_symbol), "%g", shape.samples_per_symbol());
  char rolloff[16];
  std::snprintf(rolloff, sizeof(rolloff), "%g", shape.rolloff);
  bench::Row row = bench::RateRow(
      "symbol timing", "cpu",
      {{"constellation", name}, {"rolloff", rolloff}, {"samples_per_symbol", samples_per_symbol}},
      num_symbols, "symbol", whole.best, whole.spread);
  row.bytes = sizeof(carrier::Iq) * (shape.samples_per_symbol() + 1.0);
  row.Emit();
}

int Main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 100;
  for (const char* name : {"QPSK", "16APSK 3/4", "64APSK 128/180"}) {
    for (const double rolloff : {0.05, 0.2, 0.35}) {
      for (const auto& [samples, symbols] : {std::pair{2, 1}, {5, 2}, {4, 1}}) {
        PulseShape shape;
        shape.rolloff = rolloff;
        shape.samples = samples;
        shape.symbols = symbols;
        Measure(name, shape, repetitions);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace baseband::timing

int main(int argc, char** argv) { return baseband::timing::Main(argc, argv); }
