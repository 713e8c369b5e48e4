// Symbol timing on a GPU with everything in device memory: checks its results first, then prints
// samples and symbols per second beside LaunchRecover's own on symbols of the same frames, what the
// memory's bandwidth allows, and the time of each stage.
//   timing_gpu_bench [FRAMES [REPEATS]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "kernels/carrier/gpu/device_models.h"
#include "kernels/carrier/recover_gpu.h"
#include "kernels/cuda/resources.h"
#include "kernels/cuda/status.h"
#include "kernels/timing/gpu/device_pulses.h"
#include "kernels/timing/gpu/timing_launch.h"
#include "kernels/timing/gpu/timing_workspace.h"
#include "kernels/timing/timing_cpu.h"
#include "kernels/timing/timing_gpu.h"
#include "tests/bench/device_memory.h"
#include "tests/bench/gpu_limits.h"
#include "tests/bench/must.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/timing_frames.h"

namespace {

using baseband::bench::Download;
using baseband::bench::Fail;
using baseband::bench::MedianSeconds;
using baseband::bench::Must;
using baseband::bench::Room;
using baseband::bench::Upload;
using baseband::carrier::Constellation;
using baseband::carrier::Iq;
using baseband::carrier::Model;
using baseband::carrier::ModelPtr;
using baseband::carrier::SampleFormat;
using baseband::cuda::DeviceBuffer;
using baseband::timing::Lock;
using baseband::timing::Pulse;
using baseband::timing::PulsePtr;
using baseband::timing::PulseShape;
using baseband::timing::TimingBatch;
using baseband::timing::TimingFrame;

constexpr int kDifferentFrames = 8;  // the others repeat them
constexpr double kAboveDb = 4.0;     // of the constellation's operating point
constexpr double kMostFrequency = 0.005;

struct Case {
  const char* constellation;
  int num_symbols;
  PulseShape shape;
  SampleFormat format;
  bool want_corrected;
};

// Frames of a case in device memory.
class TimingWorkload {
 public:
  TimingWorkload(const Case& c, int num_frames) : case_(c), num_frames_(num_frames) {
    const auto constellation = Must(Constellation::FromName(c.constellation));
    model_ = Must(Model::Create(constellation, baseband::carrier::Amplitude::kWeighted, 0));
    pulse_ = Must(Pulse::Create(c.shape));
    carrier_.format = c.format;
    carrier_.scale = c.format == SampleFormat::kInt16 ? 1.0F / 8192 : 1.0F;
    carrier_.want_corrected = c.want_corrected;
    MakeFrames(constellation);
    std::vector<uint8_t> samples;
    const auto row = static_cast<uint32_t>(frames_[0].size());
    for (int f = 0; f < num_frames; ++f) {
      TimingFrame frame;
      frame.samples_offset = static_cast<uint32_t>(f) * row;
      frame.num_samples = static_cast<uint32_t>(specs_[0].num_samples);
      frame.corrected_offset = static_cast<uint32_t>(f) * SymbolBytes();
      frame.known_offset = baseband::carrier::kNoKnown;
      frame.result_index = static_cast<uint32_t>(f);
      descriptors_.push_back(frame);
      const auto& from = frames_[static_cast<size_t>(f % kDifferentFrames)];
      samples.insert(samples.end(), from.begin(), from.end());
    }
    lengths_.assign(static_cast<size_t>(num_frames), descriptors_[0].num_samples);
    samples_ = Upload(samples);
    device_frames_ = Upload(descriptors_);
    results_ = Room<baseband::timing::Result>(descriptors_.size());
    carrier_results_ = Room<baseband::carrier::Result>(descriptors_.size());
    output_ = Room<uint8_t>(static_cast<size_t>(num_frames) * SymbolBytes());
    workspace_ = Room<uint8_t>(static_cast<size_t>(
        WorkspaceBytes(carrier_, *pulse_, parameters_, specs_[0].num_samples, num_frames)));
  }

  // Whether the results are right.
  bool Run(int repeats, double bytes_per_second, cudaStream_t stream) {
    const TimingBatch batch = Batch();
    Must(LaunchTiming(batch, stream));
    const int locked = CheckResults();
    const baseband::bench::Times times =
        baseband::bench::TimesOf(stream, repeats, 1, [&] { Must(LaunchTiming(batch, stream)); });
    const double seconds = times.median;
    const double carrier = TimeCarrier(repeats, stream);
    const double symbols = static_cast<double>(case_.num_symbols) * num_frames_;
    const double samples = static_cast<double>(specs_[0].num_samples) * num_frames_;
    // Samples twice, symbols and slopes written and read.
    const double bytes = 2.0 * samples * BytesPerSymbol(case_.format) + 32.0 * symbols +
                         (case_.want_corrected ? symbols * SymbolBytes() / case_.num_symbols : 0.0);
    std::printf(
        "%-14s N %6d x %4d  %d/%d samples, roll-off %.2f, %s%s: %9.1f us  %7.3f Gsymbols/s %7.3f "
        "Gsamples/s  carrier alone %7.3f Gsymbols/s, part %.3f  memory's bound beside it %7.3f  "
        "locked %d of %d\n",
        case_.constellation, case_.num_symbols, num_frames_, case_.shape.samples,
        case_.shape.symbols, case_.shape.rolloff,
        case_.format == SampleFormat::kInt16     ? "int16"
        : case_.format == SampleFormat::kFloat16 ? "float16"
                                                 : "float32",
        case_.want_corrected ? ", corrected" : "", seconds * 1e6, symbols / seconds * 1e-9,
        samples / seconds * 1e-9, symbols / carrier * 1e-9, carrier / seconds,
        symbols / (carrier + bytes / bytes_per_second) * 1e-9, locked, num_frames_);
    char rolloff[16];
    std::snprintf(rolloff, sizeof(rolloff), "%g", case_.shape.rolloff);
    baseband::bench::Row row = baseband::bench::RateRow(
        "symbol timing", "gpu",
        {{"constellation", case_.constellation},
         {"rolloff", rolloff},
         {"samples_per_symbol",
          std::to_string(case_.shape.samples) + "/" + std::to_string(case_.shape.symbols)},
         {"symbols", std::to_string(case_.num_symbols)},
         {"frames", std::to_string(num_frames_)},
         {"format", std::string(case_.format == SampleFormat::kInt16 ? "int16" : "float32") +
                        (case_.want_corrected ? ", corrected" : "")}},
        symbols, "symbol", seconds, times.spread);
    row.bytes = bytes / symbols;
    row.checked = is_right_;
    row.Emit();
    TimeStages(repeats, stream);
    std::fflush(stdout);
    return is_right_;
  }

 private:
  uint32_t SymbolBytes() const {
    return static_cast<uint32_t>(case_.num_symbols * BytesPerSymbol(case_.format));
  }

  void MakeFrames(const baseband::carrier::ConstellationPtr& constellation) {
    for (int i = 0; i < kDifferentFrames; ++i) {
      baseband::testing::TimingSpec spec;
      spec.constellation = constellation;
      spec.shape = case_.shape;
      spec.num_samples = SamplesFor(case_.shape, parameters_, case_.num_symbols);
      spec.snr_db = constellation->operating_snr_db() + kAboveDb;
      spec.seed = static_cast<uint64_t>(i) + 1;
      spec = baseband::testing::WithRandomTiming(
          spec, 0.5 * parameters_.max_clock_error,
          std::min(kMostFrequency, 0.8 * model_->max_frequency()));
      frames_.push_back(baseband::testing::ToSamples(baseband::testing::MakeSamples(spec).samples,
                                                     carrier_.format,
                                                     static_cast<double>(carrier_.scale)));
      specs_.push_back(spec);
    }
  }

  TimingBatch Batch() const {
    TimingBatch batch;
    batch.model = model_.get();
    batch.pulse = pulse_.get();
    batch.carrier = carrier_;
    batch.parameters = parameters_;
    batch.frames = device_frames_.data();
    batch.lengths = lengths_;
    batch.samples = samples_.data();
    batch.output = output_.data();
    batch.results = results_.data();
    batch.carrier_results = carrier_results_.data();
    batch.workspace = workspace_.data();
    batch.workspace_bytes = static_cast<int64_t>(workspace_.size());
    return batch;
  }

  // Against what was made, and the CPU device; returns how many are locked.
  int CheckResults() {
    const auto results = Download(results_);
    int locked = 0;
    for (size_t f = 0; f < results.size(); ++f) {
      const auto& result = results[f];
      const size_t frame = f % kDifferentFrames;
      if (result.offset != results[frame].offset) Fail("equal frames have unequal results");
      locked += result.lock == Lock::kLocked && result.refined != 0 ? 1 : 0;
      if (f >= kDifferentFrames) continue;
      const auto expected =
          RecoverOnCpu(*model_, carrier_, *pulse_, parameters_, frames_[frame], {}, {}, {});
      const double stddev = static_cast<double>(expected.timing.offset_stddev);
      const double off = result.offset - expected.timing.offset;
      const double error = baseband::testing::WrappedDifference(result.offset, specs_[frame].offset,
                                                                1.0 + specs_[frame].clock_error);
      if (!(std::fabs(off) <= 0.1 * stddev) || !(std::fabs(error) <= 5.0 * stddev) ||
          result.lock != expected.timing.lock) {
        std::printf(
            "  WRONG: frame %zu offset %.6f, CPU %.6f, true %.6f, deviation %.1e, lock %d %d\n", f,
            result.offset, expected.timing.offset, specs_[frame].offset, stddev,
            static_cast<int>(result.lock), static_cast<int>(expected.timing.lock));
        is_right_ = false;
      }
    }
    return locked;
  }

  // Seconds of LaunchRecover on symbols of the same constellation, SNR, frequencies and number.
  double TimeCarrier(int repeats, cudaStream_t stream) const {
    std::vector<Iq> symbols;
    std::vector<std::vector<Iq>> made;
    for (const auto& from : specs_) {
      baseband::testing::FrameSpec spec;
      spec.constellation = from.constellation;
      spec.num_symbols = case_.num_symbols;
      spec.frequency = from.frequency;
      spec.phase = from.phase;
      spec.snr_db = from.snr_db;
      spec.seed = from.seed;
      made.push_back(baseband::testing::MakeFrame(spec).symbols);
    }
    std::vector<baseband::carrier::RecoverFrame> descriptors;
    for (int f = 0; f < num_frames_; ++f) {
      baseband::carrier::RecoverFrame frame;
      frame.symbols_offset = static_cast<uint32_t>(symbols.size() * sizeof(Iq));
      frame.num_symbols = static_cast<uint32_t>(case_.num_symbols);
      frame.known_offset = baseband::carrier::kNoKnown;
      frame.result_index = static_cast<uint32_t>(f);
      descriptors.push_back(frame);
      const auto& from = made[static_cast<size_t>(f % kDifferentFrames)];
      symbols.insert(symbols.end(), from.begin(), from.end());
    }
    const std::vector<uint32_t> lengths(static_cast<size_t>(num_frames_),
                                        static_cast<uint32_t>(case_.num_symbols));
    const auto device_symbols = Upload(symbols);
    const auto device_frames = Upload(descriptors);
    const auto results = Room<baseband::carrier::Result>(descriptors.size());
    baseband::carrier::RecoverBatch batch;
    batch.model = model_.get();
    batch.frames = device_frames.data();
    batch.lengths = lengths;
    batch.symbols = reinterpret_cast<const uint8_t*>(device_symbols.data());
    batch.results = results.data();
    batch.workspace = workspace_.data();
    batch.workspace_bytes = static_cast<int64_t>(workspace_.size());
    return MedianSeconds(stream, repeats, [&] { Must(LaunchRecover(batch, stream)); });
  }

  // Of as many frames as go through the workspace together.
  void TimeStages(int repeats, cudaStream_t stream) {
    const auto shape = FitRound(carrier_, case_.shape, parameters_, specs_[0].num_samples,
                                num_frames_, static_cast<int64_t>(workspace_.size()));
    auto pulses = Must(baseband::timing::DevicePulses::Create());
    baseband::timing::TimingTask task;
    task.model = Must(baseband::carrier::ModelOnDevice(*model_));
    task.carrier = carrier_;
    task.parameters = parameters_;
    task.pulse = Must(pulses.Find(*pulse_));
    task.frames = device_frames_.data();
    task.num_frames = static_cast<uint32_t>(shape.num_frames);
    task.samples = samples_.data();
    task.output = output_.data();
    task.results = results_.data();
    task.carrier_results = carrier_results_.data();
    DivideWorkspace(shape, workspace_.data(), &task);
    cudaDeviceProp properties;
    Must(baseband::cuda::ToStatus(cudaGetDeviceProperties(&properties, 0),
                                  "cudaGetDeviceProperties"));
    const auto stage = [&](const char* name, const auto& launch) {
      const double seconds = MedianSeconds(stream, repeats, [&] { Must(launch()); });
      std::printf("    %-18s %9.1f us, %6.2f ps a symbol\n", name, seconds * 1e6,
                  seconds * 1e12 / (static_cast<double>(shape.num_frames) * case_.num_symbols));
    };
    stage("PlanFrames", [&] { return PlanFrames(task, stream); });
    stage("TransformPieces", [&] { return TransformPieces(task, stream); });
    stage("SearchLine", [&] { return SearchLine(task, stream); });
    stage("MatchSymbols", [&] { return MatchSymbols(task, shape.longest_symbols, stream); });
    stage("RefineTiming", [&] {
      return RefineTiming(task, shape.longest_symbols, properties.multiProcessorCount, stream);
    });
  }

  const Case case_;
  int num_frames_;
  bool is_right_ = true;
  ModelPtr model_;
  PulsePtr pulse_;
  baseband::carrier::Parameters carrier_;
  baseband::timing::Parameters parameters_;
  std::vector<baseband::testing::TimingSpec> specs_;
  std::vector<std::vector<uint8_t>> frames_;
  std::vector<TimingFrame> descriptors_;
  std::vector<uint32_t> lengths_;
  DeviceBuffer<uint8_t> samples_;
  DeviceBuffer<TimingFrame> device_frames_;
  DeviceBuffer<baseband::timing::Result> results_;
  DeviceBuffer<baseband::carrier::Result> carrier_results_;
  DeviceBuffer<uint8_t> output_;
  DeviceBuffer<uint8_t> workspace_;
};

}  // namespace

int main(int argc, char** argv) {
  const int num_frames = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 15;
  const auto stream = Must(baseband::cuda::Stream::Create());
  Must(baseband::timing::PrepareTiming());
  const double bytes_per_second = baseband::bench::DeviceCopy(stream.get()).rate();
  std::printf("memory: %.0f GB/s\n", bytes_per_second * 1e-9);
  bool are_right = true;
  constexpr auto kFloat32 = SampleFormat::kFloat32;
  for (const Case& c : {Case{"QPSK", 32400, {0.2, 2, 1}, kFloat32, false},
                        Case{"QPSK", 32400, {0.2, 2, 1}, kFloat32, true},
                        Case{"QPSK", 32400, {0.2, 2, 1}, SampleFormat::kInt16, false},
                        Case{"QPSK", 32400, {0.35, 2, 1}, kFloat32, false},
                        Case{"QPSK", 32400, {0.05, 2, 1}, kFloat32, false},
                        Case{"QPSK", 32400, {0.2, 4, 1}, kFloat32, false},
                        Case{"QPSK", 32400, {0.2, 5, 2}, kFloat32, false},
                        Case{"QPSK", 32400, {0.2, 256, 125}, kFloat32, false},
                        Case{"16APSK 3/4", 16200, {0.2, 2, 1}, kFloat32, false},
                        Case{"64APSK 128/180", 10800, {0.2, 2, 1}, kFloat32, false},
                        Case{"QPSK", 1024, {0.2, 2, 1}, kFloat32, false}}) {
    are_right &= TimingWorkload(c, num_frames).Run(repeats, bytes_per_second, stream.get());
  }
  for (const int num_symbols : {1000, 32400, 1 << 20}) {
    are_right &= TimingWorkload({"QPSK", num_symbols, {0.35, 2, 1}, kFloat32, false}, 1)
                     .Run(repeats, bytes_per_second, stream.get());
  }
  return are_right ? 0 : 1;
}
