// Speed of the CPU device's carrier recovery on one core, beside its peer.
//
//   carrier_bench [repetitions]
//
// Every figure first checks its results: frames of 64800 coded bits, 5 dB above the operating SNR
// (the loop: 12 dB) and off the grid of bins, must lock at the right frequency. Figures are million
// symbols per second of the thread's processor time, the best of many short runs, so that other
// work on the machine disturbs them least. The peer's: the decision-directed loop of liquid-dsp 1.5
// with its own constellations of the same sizes, measured by us on one core of an EPYC (Zen 4, 2.6
// GHz).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "kernels/carrier/recover.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/bench/rows.h"
#include "tests/support/carrier_frames.h"

namespace baseband::carrier {
namespace {

using bench::ThreadSeconds;

constexpr int kCodedBits = 64800;
constexpr int kFrames = 4;

struct Case {
  const char* name;
  double peer;  // Msym/s; 0: none
};

struct Method {
  const char* name;
  Fine fine;
  Coarse coarse;
  // Of 1 / N: the share within which the frequency must be right.
  double tolerance;
  int min_repetitions_divisor;  // slow ones are repeated less often
};

struct Frames {
  std::vector<double> frequencies;
  std::vector<std::vector<uint8_t>> samples;
  std::vector<std::vector<Iq>> known;
  int num_symbols = 0;
};

Frames MakeFrames(const Model& model, const Method& method) {
  Frames frames;
  testing::FrameSpec spec;
  spec.constellation = *Constellation::FromName(model.constellation().name());
  spec.num_symbols =
      kCodedBits / static_cast<int>(std::lround(std::log2(model.constellation().size())));
  if (method.coarse == Coarse::kKnown) {
    spec.pilots = testing::Pilots::kDvbS2;
    spec.num_symbols += 90 + 36 * ((spec.num_symbols - 1) / 1440);
  }
  spec.snr_db = model.constellation().operating_snr_db() + (method.fine == Fine::kPll ? 12.0 : 5.0);
  frames.num_symbols = spec.num_symbols;
  for (int k = 0; k < kFrames; ++k) {
    spec.seed = static_cast<uint64_t>(k + 1);
    testing::FrameSpec drawn = WithRandomOffset(spec, 0.9 * model.max_frequency());
    // The loop starts at phase 0; from anywhere else a dense constellation catches it at times.
    if (method.fine == Fine::kPll) drawn.phase = 0.0;
    const testing::CarrierFrame frame = MakeFrame(drawn);
    frames.frequencies.push_back(drawn.frequency);
    frames.samples.push_back(testing::ToSamples(frame.symbols, SampleFormat::kFloat32));
    frames.known.push_back(frame.known);
  }
  return frames;
}

struct Figures {
  bench::Times times;  // of `num_frames`
  double symbols = 0.0;
  int wrong = 0;
};

Figures Measure(const Model& model, const Method& method, int num_frames, int repetitions) {
  const Frames frames = MakeFrames(model, method);
  Parameters parameters;
  parameters.fine = method.fine;
  parameters.coarse = method.coarse;
  Figures figures;
  figures.symbols = static_cast<double>(num_frames) * frames.num_symbols;
  std::vector<double> seconds;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    const double start = ThreadSeconds();
    for (int frame = 0; frame < num_frames; ++frame) {
      const auto k = static_cast<size_t>(frame % kFrames);
      const Result result =
          RecoverOnCpu(model, parameters, frames.samples[k], frames.known[k], {}, {});
      const double error = std::fabs(result.frequency - frames.frequencies[k]);
      const bool right =
          result.lock == Lock::kLocked && error < method.tolerance / frames.num_symbols;
      figures.wrong += right ? 0 : 1;
    }
    seconds.push_back(ThreadSeconds() - start);
  }
  figures.times = bench::Times::Of(seconds);
  return figures;
}

// For the report; symbols are complex float32.
bench::Row RowOf(const Figures& figures, bench::RowParameters parameters) {
  bench::Row row = bench::RateRow("carrier recovery", "cpu", std::move(parameters), figures.symbols,
                                  "symbol", figures.times.best, figures.times.spread);
  row.bytes = sizeof(Iq);
  row.checked = figures.wrong == 0;
  return row;
}

int Main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 100;
  const Case cases[] = {{"BPSK", 0.0},          {"QPSK", 13.2},           {"8PSK", 0.0},
                        {"16APSK 3/4", 10.6},   {"32APSK 3/4", 0.0},      {"64APSK 128/180", 7.6},
                        {"64APSK 7/9", 7.6},    {"128APSK 135/180", 6.9}, {"256APSK 135/180", 5.9},
                        {"256APSK 20/30", 5.9}, {"16QAM", 0.0},           {"64QAM", 0.0},
                        {"256QAM", 0.0},        {"1024QAM", 0.0}};
  const Method methods[] = {
      {"default", Fine::kRemodulate, Coarse::kPower, 0.1, 1},
      {"interpolate", Fine::kInterpolate, Coarse::kPower, 0.1, 1},
      {"pilots", Fine::kRemodulate, Coarse::kKnown, 0.1, 1},
      {"sweep 5e-7", Fine::kSweep, Coarse::kPower, 0.1, 20},
      {"loop", Fine::kPll, Coarse::kPower, 0.5, 4},
  };
  std::printf("one core with %s; Msym/s\n",
              hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets()));
  std::printf("%-18s %9s", "", "symbols");
  for (const Method& method : methods) std::printf(" %12s", method.name);
  std::printf(" %16s\n", "liquid-dsp loop");
  int wrong = 0;
  for (const Case& test : cases) {
    const ModelPtr model =
        *Model::Create(*Constellation::FromName(test.name), Amplitude::kWeighted, 0);
    std::printf("%-18s %9d", test.name, MakeFrames(*model, methods[0]).num_symbols);
    for (const Method& method : methods) {
      const Figures figures = Measure(*model, method, kFrames,
                                      std::max(repetitions / method.min_repetitions_divisor, 1));
      std::printf(" %11.1f%c", 1e-6 * figures.symbols / figures.times.best,
                  figures.wrong > 0 ? '!' : ' ');
      RowOf(figures, {{"constellation", test.name}, {"method", method.name}}).Emit();
      std::fflush(stdout);
      wrong += figures.wrong;
    }
    if (test.peer > 0.0) std::printf(" %16.1f", test.peer);
    std::printf("\n");
  }
  const ModelPtr qpsk = *Model::Create(*Constellation::FromName("QPSK"), Amplitude::kWeighted, 0);
  for (int frames = 1; frames <= 64; frames *= 4) {
    const Figures figures = Measure(*qpsk, methods[0], frames, std::max(repetitions / frames, 1));
    std::printf("QPSK, %2d frames: %9.1f us\n", frames, 1e6 * figures.times.best);
    TimeRow(RowOf(figures, {{"constellation", "QPSK"}, {"frames", std::to_string(frames)}}),
            figures.symbols, "frames")
        .Emit();
    wrong += figures.wrong;
  }
  if (wrong > 0) std::printf("WRONG (!): %d frames were not recovered\n", wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace baseband::carrier

int main(int argc, char** argv) { return baseband::carrier::Main(argc, argv); }
