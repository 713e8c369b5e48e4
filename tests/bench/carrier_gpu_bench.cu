// Carrier recovery on a GPU with everything in device memory: checks its results against the CPU
// device first, then prints symbols per second; then the sweep in the paper's forms beside ours.
//   carrier_gpu_bench [FRAMES [forms|noforms [METHOD [CONSTELLATION]]]]
// METHOD and CONSTELLATION: only those whose names begin so.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/carrier/recover.h"
#include "kernels/carrier/recover_gpu.h"
#include "kernels/cuda/resources.h"
#include "kernels/cuda/status.h"
#include "tests/bench/carrier_sweep_forms.h"
#include "tests/bench/device_memory.h"
#include "tests/bench/must.h"
#include "tests/support/carrier_frames.h"

namespace {

using baseband::bench::Download;
using baseband::bench::Fail;
using baseband::bench::MedianSeconds;
using baseband::bench::Must;
using baseband::bench::PaperSweep;
using baseband::bench::PointsIn;
using baseband::bench::Reduction;
using baseband::bench::Room;
using baseband::bench::Upload;
using baseband::carrier::Coarse;
using baseband::carrier::Constellation;
using baseband::carrier::Fine;
using baseband::carrier::Iq;
using baseband::carrier::Lock;
using baseband::carrier::Model;
using baseband::carrier::ModelPtr;
using baseband::carrier::Parameters;
using baseband::carrier::RecoverBatch;
using baseband::carrier::RecoverFrame;
using baseband::carrier::Result;
using baseband::cuda::DeviceBuffer;
using baseband::testing::Pilots;

bool g_differs = false;  // a result, from the CPU device's

constexpr int kDifferentFrames = 16;  // the others repeat them

bool BeginsWith(const std::string& name, const std::string& beginning) {
  return name.compare(0, beginning.size(), beginning) == 0;
}

// Frames of a constellation, in device memory, and what recovers them.
class Workload {
 public:
  Workload(const std::string& name, int num_symbols, int num_frames, double above_db,
           std::string only, Pilots pilots = Pilots::kNone)
      : num_symbols_(num_symbols), num_frames_(num_frames), only_(std::move(only)) {
    const auto constellation = Must(Constellation::FromName(name));
    model_ = Must(Model::Create(constellation, baseband::carrier::Amplitude::kWeighted, 0));
    for (int i = 0; i < kDifferentFrames; ++i) {
      baseband::testing::FrameSpec spec;
      spec.constellation = constellation;
      spec.num_symbols = num_symbols;
      spec.snr_db = constellation->operating_snr_db() + above_db;
      spec.seed = static_cast<uint64_t>(i) + 1;
      spec.pilots = pilots;
      // Off the bins, within the paper's 0.005 (table 3) at most.
      const double range = std::min(0.005, 0.8 * model_->max_frequency());
      frames_.push_back(
          baseband::testing::MakeFrame(baseband::testing::WithRandomOffset(spec, range)));
    }
    std::vector<Iq> symbols;
    std::vector<Iq> known;
    for (int f = 0; f < num_frames; ++f) {
      RecoverFrame frame;
      frame.symbols_offset = static_cast<uint32_t>(symbols.size() * sizeof(Iq));
      frame.num_symbols = static_cast<uint32_t>(num_symbols);
      const auto& known_of = frames_[static_cast<size_t>(f % kDifferentFrames)].known;
      frame.known_offset = known_of.empty() ? baseband::carrier::kNoKnown
                                            : static_cast<uint32_t>(known.size() * sizeof(Iq));
      known.insert(known.end(), known_of.begin(), known_of.end());
      frame.result_index = static_cast<uint32_t>(f);
      frame.curve_offset = static_cast<uint32_t>(f) * 4096 * 4;
      descriptors_.push_back(frame);
      const auto& from = frames_[static_cast<size_t>(f % kDifferentFrames)].symbols;
      symbols.insert(symbols.end(), from.begin(), from.end());
    }
    lengths_.assign(static_cast<size_t>(num_frames), static_cast<uint32_t>(num_symbols));
    symbols_ = Upload(symbols);
    if (!known.empty()) known_ = Upload(known);
    device_frames_ = Upload(descriptors_);
    results_ = Room<Result>(descriptors_.size());
    output_ = Room<uint8_t>(static_cast<size_t>(num_frames) * 4096 * 4);
  }

  const Model& model() const { return *model_; }
  const std::vector<Iq>& known() const { return frames_[0].known; }  // all frames' lie alike
  const DeviceBuffer<Iq>& symbols() const { return symbols_; }
  int num_symbols() const { return num_symbols_; }
  int num_frames() const { return num_frames_; }

  std::vector<Result> Results() const { return Download(results_); }
  std::vector<float> CurveOfFrame(int f, int count) const {
    std::vector<float> curve(static_cast<size_t>(count));
    cudaMemcpy(curve.data(), output_.data() + descriptors_[static_cast<size_t>(f)].curve_offset,
               curve.size() * 4, cudaMemcpyDeviceToHost);
    return curve;
  }

  // Symbols per second; 0 if `what` is not asked for. The report's row is along the parameter of
  // that name, or has no method but the number of symbols.
  double Run(const Parameters& parameters, const char* what, double target_gsps,
             cudaStream_t stream, const std::string& along = "") {
    if (!BeginsWith(what, only_)) return 0.0;
    const int64_t bytes = RecoverWorkspaceBytes(parameters, num_symbols_, num_frames_);
    const auto workspace = Room<uint8_t>(static_cast<size_t>(bytes));
    RecoverBatch batch;
    batch.model = model_.get();
    batch.parameters = parameters;
    batch.frames = device_frames_.data();
    batch.lengths = lengths_;
    batch.symbols = reinterpret_cast<const uint8_t*>(symbols_.data());
    batch.known = reinterpret_cast<const uint8_t*>(known_.data());
    batch.output = output_.data();
    batch.results = results_.data();
    batch.workspace = workspace.data();
    batch.workspace_bytes = bytes;
    const auto launch = [&] { Must(LaunchRecover(batch, stream)); };
    launch();
    const int locked = CheckResults(parameters);
    const baseband::bench::Times times = baseband::bench::TimesOf(stream, 15, 1, launch);
    const double seconds = times.median;
    const double symbols = static_cast<double>(num_symbols_) * num_frames_;
    const double rate = symbols / seconds;
    baseband::bench::RowParameters of = {{"constellation", model_->constellation().name()}};
    if (along == "frames") {
      of.emplace_back(along, std::to_string(num_frames_));
    } else if (along == "symbols") {
      of.emplace_back(along, std::to_string(num_symbols_));
    } else {
      of.emplace_back("method", what);
    }
    baseband::bench::Row row = baseband::bench::RateRow("carrier recovery", "gpu", of, symbols,
                                                        "symbol", seconds, times.spread);
    row.bytes = sizeof(Iq);
    row.checked = !g_differs;
    (along == "frames" ? TimeRow(row, symbols, along) : row).Emit();
    std::printf("%-16s N %6d x %4d  %-12s %9.1f us %8.3f Gsps  target %5.2f  locked %d of %d\n",
                model_->constellation().name().c_str(), num_symbols_, num_frames_, what,
                seconds * 1e6, rate * 1e-9, target_gsps, locked, num_frames_);
    std::fflush(stdout);
    return rate;
  }

 private:
  // Against the CPU device; returns how many are locked.
  int CheckResults(const Parameters& parameters) const {
    const std::vector<Result> results = Results();
    Parameters plain = parameters;
    plain.want_curve = false;
    int locked = 0;
    for (int f = 0; f < num_frames_; ++f) {
      const Result& result = results[static_cast<size_t>(f)];
      const Result& first = results[static_cast<size_t>(f % kDifferentFrames)];
      if (std::memcmp(&result.frequency, &first.frequency, sizeof(double)) != 0) {
        Fail("equal frames have unequal results");
      }
      locked += result.lock == Lock::kLocked ? 1 : 0;
      if (f >= (parameters.fine == Fine::kSweep ? 2 : kDifferentFrames)) continue;
      const auto& symbols = frames_[static_cast<size_t>(f)].symbols;
      const Result expected =
          RecoverOnCpu(*model_, plain,
                       absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(symbols.data()),
                                           symbols.size() * sizeof(Iq)),
                       frames_[static_cast<size_t>(f)].known, {}, {});
      const double off = std::fabs(result.frequency - expected.frequency);
      if (!(off <= 0.05 * static_cast<double>(expected.frequency_stddev) + 1e-6 / num_symbols_) ||
          result.lock != expected.lock) {
        g_differs = true;
        std::printf("  DIFFERS from the CPU: frame %d f %.9e not %.9e (stddev %.2e), lock %d %d\n",
                    f, result.frequency, expected.frequency,
                    static_cast<double>(expected.frequency_stddev), static_cast<int>(result.lock),
                    static_cast<int>(expected.lock));
      }
    }
    return locked;
  }

  int num_symbols_;
  int num_frames_;
  std::string only_;
  ModelPtr model_;
  std::vector<baseband::testing::CarrierFrame> frames_;
  std::vector<RecoverFrame> descriptors_;
  std::vector<uint32_t> lengths_;
  DeviceBuffer<Iq> symbols_;
  DeviceBuffer<Iq> known_;
  DeviceBuffer<RecoverFrame> device_frames_;
  DeviceBuffer<Result> results_;
  DeviceBuffer<uint8_t> output_;
};

// The paper's forms on the same frames and candidates as the sweep that was run last. All
// candidates of a frame are given the phase of its result, which changes no time.
void RunPaperForms(const Workload& work, const Parameters& parameters, double ours,
                   cudaStream_t stream) {
  const std::vector<Result> results = work.Results();
  const int candidates = CurveOf(work.model(), parameters, work.num_symbols()).num_points;
  const int half = candidates / 2;
  const auto frames = static_cast<size_t>(work.num_frames());
  std::vector<double> frequency(frames);
  std::vector<double> turns(frames * static_cast<size_t>(candidates));
  for (size_t f = 0; f < frames; ++f) {
    frequency[f] = results[f].coarse_frequency - half * parameters.sweep_step;
    for (int k = 0; k < candidates; ++k) {
      // Phase at symbol 0, so that at the centre it is the result's.
      const double centre = 0.5 * (work.num_symbols() - 1);
      const double off = results[f].frequency - (frequency[f] + k * parameters.sweep_step);
      turns[f * static_cast<size_t>(candidates) + static_cast<size_t>(k)] =
          results[f].phase / (2 * M_PI) + off * centre;
    }
  }
  const auto device_frequency = Upload(frequency);
  const auto device_turns = Upload(turns);
  const auto terms_count = static_cast<size_t>(baseband::bench::kPaperFramesAtATime) *
                           static_cast<size_t>(candidates) *
                           static_cast<size_t>(work.num_symbols());
  const auto terms = Room<float>(terms_count);
  const auto partials = Room<float>(terms_count / 64 + 4096);
  const auto sums = Room<float>(turns.size());
  PaperSweep sweep;
  sweep.symbols = reinterpret_cast<const float2*>(work.symbols().data());
  sweep.turns = device_turns.data();
  sweep.frequency = device_frequency.data();
  sweep.step = parameters.sweep_step;
  sweep.num_symbols = work.num_symbols();
  sweep.num_candidates = candidates;
  sweep.num_frames = work.num_frames();
  sweep.terms = terms.data();
  sweep.partials = partials.data();
  sweep.sums = sums.data();
  const auto points = work.model().constellation().points();
  if (!baseband::bench::SetPaperPoints({points.begin(), points.end()})) Fail("SetPaperPoints");
  const std::vector<float> curve = work.CurveOfFrame(0, candidates);
  const int best = static_cast<int>(std::min_element(curve.begin(), curve.end()) - curve.begin());
  const double symbols = static_cast<double>(work.num_symbols()) * work.num_frames();
  struct Form {
    const char* name;
    PointsIn points;
    Reduction reduction;
  };
  for (const Form& form :
       {Form{"global memory, base reduction", PointsIn::kGlobal, Reduction::kBase},
        Form{"constant memory", PointsIn::kConstant, Reduction::kBase},
        Form{"+ quadrant folding", PointsIn::kConstantFolded, Reduction::kBase},
        Form{"+ no divergence", PointsIn::kConstantFolded, Reduction::kNoDivergence},
        Form{"+ 8 values a thread", PointsIn::kConstantFolded, Reduction::kSeveralAThread}}) {
    const double seconds = MedianSeconds(
        stream, 3, [&] { RunPaperSweep(sweep, form.points, form.reduction, stream); });
    std::vector<float> found(static_cast<size_t>(candidates));
    cudaMemcpy(found.data(), sums.data(), found.size() * 4, cudaMemcpyDeviceToHost);
    const float least = found[static_cast<size_t>(best)] / static_cast<float>(work.num_symbols());
    const float expected = curve[static_cast<size_t>(best)];
    const bool equal = std::fabs(least - expected) < 0.02F * expected;
    std::printf("    %-32s %9.1f us %8.3f Gsps   ours %5.1fx   EVM %.5f ours %.5f%s\n", form.name,
                seconds * 1e6, symbols / seconds * 1e-9, ours * seconds / symbols,
                static_cast<double>(least), static_cast<double>(expected),
                equal ? "" : "  DIFFERS");
  }
  for (const auto& [name, reduction] :
       {std::pair{"reduction base", Reduction::kBase},
        std::pair{"reduction without divergence", Reduction::kNoDivergence},
        std::pair{"reduction, 8 values a thread", Reduction::kSeveralAThread}}) {
    const int rows = baseband::bench::kPaperFramesAtATime * candidates;
    const double seconds = MedianSeconds(
        stream, 5, [&, r = reduction] { RunPaperReduction(sweep, r, rows, sums.data(), stream); });
    std::printf("    %-32s %9.1f us for %d x %d\n", name, seconds * 1e6, rows, work.num_symbols());
  }
  Must(baseband::cuda::ToStatus(cudaGetLastError(), "the paper's forms"));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int num_frames = argc > 1 ? std::atoi(argv[1]) : 1000;
  const bool forms = argc <= 2 || std::strcmp(argv[2], "noforms") != 0;
  const std::string method = argc > 3 ? argv[3] : "";
  const std::string constellation = argc > 4 ? argv[4] : "";
  const auto stream = Must(baseband::cuda::Stream::Create());
  Must(baseband::carrier::PrepareRecover());
  struct Case {
    const char* name;
    int num_symbols;
    double sweep_target;
  };
  for (const Case& c : {Case{"QPSK", 32400, 10.0}, Case{"16APSK 3/4", 16200, 5.0},
                        Case{"64APSK 128/180", 10800, 1.5}, Case{"128APSK 135/180", 9257, 0.7},
                        Case{"256APSK 135/180", 8100, 0.35}}) {
    if (!BeginsWith(c.name, constellation)) continue;
    Workload work(c.name, c.num_symbols, num_frames, 4.0, method);
    Parameters parameters;
    work.Run(parameters, "default", 20.0, stream.get());
    parameters.fine = Fine::kInterpolate;
    work.Run(parameters, "interpolate", 0.0, stream.get());
    parameters.fine = Fine::kPll;
    work.Run(parameters, "PLL", 0.0, stream.get());
    parameters.fine = Fine::kSweep;
    const double ours = work.Run(parameters, "sweep 5e-7", c.sweep_target, stream.get());
    parameters.want_curve = true;
    work.Run(parameters, "sweep, curve", 0.0, stream.get());
    if (forms && ours > 0.0) RunPaperForms(work, parameters, ours, stream.get());

    Workload piloted(c.name, c.num_symbols, num_frames, 4.0, method, Pilots::kDvbS2);
    parameters = Parameters();
    parameters.coarse = CoarseFor(piloted.model(), parameters, piloted.known());
    piloted.Run(parameters, "DVB-S2's pilots", 0.0, stream.get());
  }
  for (const int n : {1000, 32400, 1 << 20}) {
    Workload work("QPSK", n, 1, 4.0, method);
    Parameters parameters;
    work.Run(parameters, "one frame", 0.0, stream.get(), "symbols");
  }
  for (int frames = 1; frames <= 1024; frames *= 4) {
    Workload work("QPSK", 32400, frames, 4.0, method);
    work.Run(Parameters(), "batch", 0.0, stream.get(), "frames");
  }
  return g_differs ? 1 : 0;
}
