// Down-conversion on a GPU: checks results against the CPU first, then prints input samples per
// second beside what the device allows, both measured in this run: its memory by a plain copy, its
// arithmetic by a loop of fused multiply-adds, its link by copies from page-locked memory.
//
//   downconvert_gpu_bench [part ..] [only=TEXT]
// Parts are resident, batches, link, stream, nco and host; all of them if none is named. `only`
// takes those rows of `resident` whose names hold TEXT.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/bench/downconvert_nco_bench.h"
#include "tests/bench/downconvert_rig.h"
#include "tests/bench/gpu_limits.h"
#include "tests/bench/rows.h"

namespace {

using namespace baseband;                      // NOLINT: a program
using namespace baseband::downconvert;         // NOLINT
using namespace baseband::downconvert::bench;  // NOLINT

// What the device allows.
struct Ceilings {
  double copy_bytes = 0.0;  // read plus written, per second
  double fmas = 0.0;        // float32, per second
};
Ceilings g_ceilings;

std::string g_only;  // of main's arguments

void MeasureCeilings(cudaStream_t stream) {
  double clock_hz = 0.0;
  g_ceilings.copy_bytes = baseband::bench::DeviceCopy(stream).rate();
  g_ceilings.fmas = baseband::bench::FusedMultiplyAdds(stream, &clock_hz).rate();
  std::printf(
      "the device copies %.0f GB/s (read + written) and makes %.1f T fused multiply-adds/s\n",
      g_ceilings.copy_bytes * 1e-9, g_ceilings.fmas * 1e-12);
}

// The report's row is along the number of samples, or of a table.
void RunResident(const std::string& name, const std::vector<Channel>& channels, const Block& block,
                 bool along_samples = false) {
  if (name.find(g_only) == std::string::npos) return;
  const Rig rig(channels, block);
  rig.CheckResults(name);
  const auto stream = Value(cuda::Stream::Create());
  const auto [best, seconds, spread] = baseband::bench::TimesOf(stream.get(), kRepeats, kLaunches,
                                                                [&] { rig.Launch(stream.get()); });
  // Of the first stages, with turned taps: 4 for complex samples, 2 for real ones.
  double fmas = 0.0;
  for (const Channel& channel : channels) {
    const Stage& stage = channel.filter->stages().front();
    fmas += (testing::IsRealFormat(block.format) ? 2.0 : 4.0) *
            static_cast<double>(stage.taps.size()) / stage.down * block.num_samples;
  }
  const double bytes = static_cast<double>(rig.input_bytes() + rig.output_bytes());
  std::printf("%-52s %9.1f us %8.2f Gsamples/s  %4.0f %% of memory", name.c_str(), seconds * 1e6,
              block.num_samples / seconds * 1e-9, 100 * bytes / seconds / g_ceilings.copy_bytes);
  // What tensor cores do in integers is not held against the arithmetic of float32.
  if (rig.is_exact()) {
    std::printf(" in integers\n");
  } else {
    std::printf(" %4.0f %% of arithmetic\n", 100 * fmas / seconds / g_ceilings.fmas);
  }
  const auto samples = static_cast<double>(block.num_samples);
  baseband::bench::RowParameters parameters = {{"channel", name}};
  if (along_samples) parameters.emplace_back("samples", std::to_string(block.num_samples));
  baseband::bench::Row row = baseband::bench::RateRow("down-conversion", "gpu", parameters, samples,
                                                      "sample", seconds, spread);
  row.bytes = bytes / samples;
  if (!rig.is_exact()) {
    row.operations = fmas / samples;
    row.of = baseband::bench::kFma;
  }
  (along_samples ? TimeRow(row, samples, "samples") : row).Emit();
}

void Resident() {
  const FilterPtr filter = LowPass(64, 1, 8);
  constexpr auto kInt16 = InputFormat::kInt16;
  constexpr auto kFloat = OutputFormat::kFloat32;
  const auto run = [](const std::string& name, int channels, const FilterPtr& f, InputFormat format,
                      int log_samples, OutputFormat output) {
    RunResident(name, Channels(channels, f, output), BlockOf(format, int64_t{1} << log_samples));
  };
  run("1 channel, int16, 64 taps / 8", 1, filter, kInt16, 27, kFloat);
  run("1 channel, int16, 64 taps / 8, int16 out", 1, filter, kInt16, 27, OutputFormat::kInt16);
  run("1 channel, int16, 64 taps / 8, float16 out", 1, filter, kInt16, 27, OutputFormat::kFloat16);
  run("1 channel, int8, 64 taps / 8", 1, filter, InputFormat::kInt8, 27, kFloat);
  run("1 channel, float32, 64 taps / 8", 1, filter, InputFormat::kFloat32, 26, kFloat);
  run("1 channel, real int16, 64 taps / 8", 1, filter, InputFormat::kRealInt16, 27, kFloat);
  run("1 channel, int16, 64 taps / 8, 2^20 samples", 1, filter, kInt16, 20, kFloat);
  run("1 channel, int16, 1 tap / 1", 1, LowPass(1, 1, 1), kInt16, 26, kFloat);
  run("1 channel, int16, 64 taps / 1", 1, LowPass(64, 1, 1), kInt16, 25, kFloat);
  run("1 channel, int16, 512 taps / 64", 1, LowPass(512, 1, 64), kInt16, 26, kFloat);
  run("1 channel, int16, 100 taps / 10", 1, LowPass(100, 1, 10), kInt16, 26, kFloat);
  run("1 channel, int16, 4096 taps / 16", 1, LowPass(4096, 1, 16), kInt16, 24, kFloat);
  run("1 channel, int16, 65536 taps / 4096", 1, LowPass(65536, 1, 4096), kInt16, 24, kFloat);
  run("1 channel, int16, 4704 taps, 147 / 160", 1, LowPass(4704, 147, 160), kInt16, 22, kFloat);
  run("1 channel, int16, 64 taps, 3 / 8", 1, LowPass(192, 3, 8), kInt16, 24, kFloat);
  for (const int channels : {4, 8, 16, 64, 256}) {
    run(std::to_string(channels) + " channels, int16, 64 taps / 8", channels, filter, kInt16, 23,
        kFloat);
  }
  run("1024 channels, int16, 64 taps / 8", 1024, filter, kInt16, 20, kFloat);
  run("64 channels, int16, 64 taps / 8, 2^20 samples", 64, filter, kInt16, 20, kFloat);
  run("64 channels, int8, 64 taps / 8", 64, filter, InputFormat::kInt8, 23, kFloat);
  run("64 channels, real int16, 64 taps / 8", 64, filter, InputFormat::kRealInt16, 23, kFloat);
  run("64 channels, int16, 512 taps / 64", 64, LowPass(512, 1, 64), kInt16, 23, kFloat);
  run("64 channels, int16, 512 taps / 64, int16 out", 64, LowPass(512, 1, 64), kInt16, 23,
      OutputFormat::kInt16);
  Mask mask;
  mask.pass_edge = 0.3 / 64;
  mask.stop_edge = 0.5 / 64;
  const FilterPtr cascade = Value(Filter::FromMask(mask, Design::kEquiripple, 1, 64));
  run("1 channel, int16, cascade of " + std::to_string(cascade->stages().size()) + " / 64", 1,
      cascade, kInt16, 25, kFloat);
  run("64 channels, int16, the same", 64, cascade, kInt16, 23, kFloat);
  std::vector<Channel> channels;
  for (int c = 0; c < 256; ++c) {
    channels.push_back(Channels(1, LowPass(16 + c % 64, 1, 4 + c % 13), kFloat)[0]);
  }
  RunResident("256 channels, 256 filters of 16 .. 79 taps / 4 .. 16", channels,
              BlockOf(kInt16, 1 << 22));
}

void Batches() {
  const FilterPtr filter = LowPass(64, 1, 8);
  for (int log_samples = 12; log_samples <= 26; log_samples += 2) {
    RunResident("int16, 64 taps, /8", Channels(1, filter, OutputFormat::kFloat32),
                BlockOf(InputFormat::kInt16, int64_t{1} << log_samples), /*along_samples=*/true);
  }
}

// Pieces of `rig`'s size over the link: up, converted, and back if `is_back`, on three streams.
double OverLink(const std::vector<Rig>& rigs, bool is_converted, bool is_back) {
  std::vector<cuda::Stream> streams;
  std::vector<cuda::PinnedBuffer<uint8_t>> back;
  for (const Rig& rig : rigs) {
    streams.push_back(Value(cuda::Stream::Create()));
    back.push_back(Value(cuda::CreatePinnedBuffer<uint8_t>(is_back ? rig.output_bytes() : 1)));
  }
  constexpr int kPieces = 60;
  double best = 1e9;
  for (int repeat = 0; repeat < 4; ++repeat) {
    const double begin = Seconds();
    for (int piece = 0; piece < kPieces; ++piece) {
      const size_t lane = static_cast<size_t>(piece) % rigs.size();
      // The plan's memory is written again.
      CheckCuda(cudaStreamSynchronize(streams[lane].get()), "cudaStreamSynchronize");
      rigs[lane].Upload(streams[lane].get());
      if (is_converted) rigs[lane].Launch(streams[lane].get());
      if (is_back) rigs[lane].Download(streams[lane].get(), back[lane].data());
    }
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    best = std::min(best, (Seconds() - begin) / kPieces);
  }
  if (is_back && is_converted) rigs[0].CompareWithCpu("over the link", back[0].data());
  return best;
}

void Link() {
  constexpr int64_t kSamples = int64_t{1} << 23;
  const auto rigs_of = [](int channels, const FilterPtr& filter, OutputFormat output) {
    std::vector<Rig> rigs;
    for (int lane = 0; lane < 3; ++lane) {
      rigs.emplace_back(Channels(channels, filter, output), BlockOf(InputFormat::kInt16, kSamples));
      rigs.back().CheckResults("over the link");
    }
    return rigs;
  };
  double link = 0.0;
  double one = 0.0;  // of one channel
  const auto report = [&](const char* name, double seconds) {
    std::printf("%-64s %6.2f Gsamples/s", name, kSamples / seconds * 1e-9);
    if (link > 0.0) std::printf("  %.3f of the link's", link / seconds);
    if (one > 0.0) std::printf(", %.3f of one channel's", one / seconds);
    std::printf("\n");
    if (link == 0.0) return;  // that is the machine's part
    baseband::bench::Row row =
        baseband::bench::RateRow("down-conversion over the bus", "gpu", {{"channel", name}},
                                 kSamples, "sample", seconds, 0.0);
    row.bytes = BytesPerSample(InputFormat::kInt16);
    row.over = baseband::bench::kLink;
    row.Emit();
  };
  const FilterPtr filter = LowPass(64, 1, 8);
  {
    const auto rigs = rigs_of(1, filter, OutputFormat::kFloat32);
    const double up = OverLink(rigs, false, false);
    report("int16 up, from page-locked memory", up);
    link = up;
    const double converted = OverLink(rigs, true, true);
    report("1 channel, 64 taps / 8, float32 back", converted);
    one = converted;
  }
  report("64 channels, 64 taps / 8, results stay on the device",
         OverLink(rigs_of(64, filter, OutputFormat::kFloat32), true, false));
  {
    const auto rigs = rigs_of(64, LowPass(512, 1, 64), OutputFormat::kInt16);
    report("64 channels, 512 taps / 64, results stay on the device", OverLink(rigs, true, false));
    report("  as many bytes up and back, nothing converted", OverLink(rigs, false, true));
    report("64 channels, 512 taps / 64, int16 back", OverLink(rigs, true, true));
  }
}

// 1024 MSPS in pieces of 10 ms, one after the other, each with the filter's history before it. The
// last one's results are checked too.
void Stream() {
  constexpr int64_t kPiece = 10240000;
  constexpr int kPieces = 100;
  const FilterPtr filter = LowPass(64, 1, 8);
  const auto stream = Value(cuda::Stream::Create());
  for (const int channels : {1, 4}) {
    Block block = BlockOf(InputFormat::kInt16, kPiece + filter->history());
    block.history = filter->history();
    block.first_index = kPiece - block.history;
    Rig rig(Channels(channels, filter, OutputFormat::kInt16), block);
    const auto back = Value(cuda::CreatePinnedBuffer<uint8_t>(rig.output_bytes()));
    rig.CheckResults("stream");
    const double busy = Time(stream.get(), [&] { rig.Launch(stream.get()); });
    std::vector<double> latencies;
    for (int piece = 1; piece <= kPieces; ++piece) {
      rig.MoveTo(piece * kPiece);
      const double begin = Seconds();
      rig.Upload(stream.get());
      rig.Launch(stream.get());
      rig.Download(stream.get(), back.data());
      CheckCuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
      latencies.push_back(Seconds() - begin);
    }
    rig.CompareWithCpu("stream", back.data());
    std::sort(latencies.begin(), latencies.end());
    std::printf(
        "1024 MSPS in pieces of 10 ms, %d channel(s), 64 taps / 8, int16 back: kernels %.1f us"
        " = %.2f %% of the GPU; latency with copies median %.0f us, 99 %% %.0f us\n",
        channels, busy * 1e6, busy / 10e-3 * 100, latencies[kPieces / 2] * 1e6,
        latencies[kPieces - 2] * 1e6);
  }
}

// What planning takes of a thread, and what moving a plan on to a stream's next block does.
void Host() {
  for (const int count : {1, 64, 1024}) {
    const auto channels = Channels(count, LowPass(64, 1, 8), OutputFormat::kFloat32);
    const std::vector<int64_t> offsets(static_cast<size_t>(count));
    Block block = BlockOf(InputFormat::kInt16, 1 << 20);
    block.history = 64;
    block.first_index = 1 << 20;
    gpu::GpuPlan plan;
    plan.Build(channels, block, offsets);
    double begin = Seconds();
    for (int i = 0; i < 100; ++i) plan.Build(channels, block, offsets);
    const double build = (Seconds() - begin) / 100;
    begin = Seconds();
    for (int i = 0; i < 100; ++i) {
      block.first_index += 1 << 20;
      Check(plan.MoveTo(block), "MoveTo");
    }
    std::printf(
        "planning %4d channels: %.1f us, moving on %.2f us, %lld bytes of tables, %lld of "
        "scratch\n",
        count, build * 1e6, (Seconds() - begin) * 1e4, static_cast<long long>(plan.layout().bytes),
        static_cast<long long>(plan.workspace_bytes()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> parts;
  for (const std::string argument : std::vector<std::string>(argv + 1, argv + argc)) {
    if (argument.rfind("only=", 0) == 0) {
      g_only = argument.substr(5);
    } else {
      parts.push_back(argument);
    }
  }
  const auto wants = [&parts](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  Check(PrepareDownconvert().ok(), "PrepareDownconvert");
  const auto stream = Value(cuda::Stream::Create());
  MeasureCeilings(stream.get());
  if (wants("resident")) Resident();
  if (wants("batches")) Batches();
  if (wants("link")) Link();
  if (wants("stream")) Stream();
  if (wants("nco")) Nco();
  if (wants("host")) Host();
  return 0;
}
