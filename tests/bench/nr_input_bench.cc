// What each form of input loses in decoding against LLRs in floating point, by modulation and code
// rate, as CSV: dB that a block needs more, on the same noise.
//
//   nr_input_bench [frames]
//
// The first of all is layered min-sum in double from natural LLRs that were never rounded. Then the
// server's integer decoder from what a client may send: float16 LLRs (times 6), int16 LLRs (times
// 64, and with the scale that is chosen from each block), 6 and 4 bits (natural LLRs times 2 and
// times the best of a few, which is told), symbols of float32, int16 (times 8192) and int8 (as
// large as noise lets them be). A loss is what the ratio of failures is worth on the slope of the
// error rate of floating point, measured over 0.2 dB around the SNR where a tenth of the blocks
// fails.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/ldpc/reference_decode.h"
#include "kernels/nr/demap.h"
#include "kernels/nr/llr_format.h"
#include "tests/support/nr_awgn.h"

namespace baseband {
namespace {

constexpr int kZc = 96;
constexpr int kIterations = 12;
constexpr double kLlrScale = 6.0;    // the server's default
constexpr double kInt16Step = 64.0;  // natural LLRs up to 512, of which 1024QAM has some hundred
constexpr std::array<double, 5> kSteps4 = {0.5, 0.7, 1.0, 1.4, 2.0};  // 4 bits: LLRs times these

struct Point {
  int qm;
  double code_rate;
};

// What is decoded: the forms, floating point first.
enum Form {
  kDouble,
  kFloat16,
  kInt16,
  kInt16Chosen,
  kPacked6,
  kPacked4,  // one for each of kSteps4
  kSymbolsFloat32 = kPacked4 + static_cast<int>(kSteps4.size()),
  kSymbolsInt16,
  kSymbolsInt8,
  kNumForms
};

double Held(double value, double most) {
  return std::clamp(std::nearbyint(value), -most - 1, most);
}

// LLRs of `bits` bits and `step` steps for a natural LLR of 1, as the decoder's.
std::vector<int8_t> FromIntegers(const std::vector<double>& llr, double step, int bits) {
  const double most = std::exp2(bits - 1) - 1;
  std::vector<double> sent;
  for (const double value : llr) sent.push_back(Held(value * step, most));
  return testing::QuantiseLlr(sent, kLlrScale / step);
}

std::vector<int8_t> FromChosenScale(const std::vector<double>& llr, const Point& point) {
  uint64_t sum = 0;
  std::vector<double> sent;
  for (const double value : llr) {
    sent.push_back(Held(value * kInt16Step, 32767));
    sum += static_cast<uint64_t>(std::abs(sent.back()));
  }
  return testing::QuantiseLlr(
      sent, nr::ChosenScale(sum, llr.size(), nr::MeanLlrFor(point.qm, point.code_rate)));
}

// Symbols as they are sent, demapped as on the server, in the order of the circular buffer.
std::vector<int8_t> FromSymbols(const testing::NrAwgnBlock& block, nr::SymbolFormat format,
                                float scale, double n0) {
  std::vector<uint8_t> sent;
  const auto append = [&sent](const auto& value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    sent.insert(sent.end(), bytes, bytes + sizeof value);
  };
  for (const std::complex<double>& symbol : block.symbols()) {
    for (const double part : {symbol.real(), symbol.imag()}) {
      const double scaled = part * static_cast<double>(scale);
      if (format == nr::SymbolFormat::kFloat32) append(static_cast<float>(scaled));
      if (format == nr::SymbolFormat::kInt16) append(static_cast<int16_t>(Held(scaled, 32767)));
      if (format == nr::SymbolFormat::kInt8) append(static_cast<int8_t>(Held(scaled, 127)));
    }
  }
  nr::DemapParameters parameters;
  parameters.qm = block.qm();
  parameters.layout = {format, scale};
  parameters.noise_variance = static_cast<float>(n0);
  parameters.llr_scale = static_cast<float>(kLlrScale);
  const auto columns = static_cast<int64_t>(block.symbols().size());
  std::vector<int8_t> in_order(static_cast<size_t>(columns * block.qm()));
  nr::DemapOnCpu(parameters, sent, {}, 0, columns, absl::MakeSpan(in_order));
  std::vector<int8_t> llr(in_order.size());
  for (int64_t j = 0; j < columns; ++j) {
    for (int i = 0; i < block.qm(); ++i) {
      llr[static_cast<size_t>(i * columns + j)] = in_order[static_cast<size_t>(j * block.qm() + i)];
    }
  }
  return llr;
}

// Points and 3.5 standard deviations of noise beyond them fit.
float Int8Scale(double n0) { return static_cast<float>(127 / (1.25 + 3.5 * std::sqrt(n0 / 2))); }

bool FailsInDouble(const testing::NrAwgnBlock& block, const std::vector<double>& sent) {
  const ldpc::Code& code = block.code();
  const int punctured = code.punctured_columns() * code.zc();
  std::vector<double> llr(static_cast<size_t>(code.n()), 0.0);
  std::copy(sent.begin(), sent.end(), llr.begin() + punctured);
  const ldpc::Scaling scaling = ldpc::DefaultScaling(code, ldpc::Schedule::kLayered);
  std::vector<uint8_t> bits = ldpc::reference::DecodeFloatMinSum(
      code, scaling, kLlrScale, kIterations, /*early_termination=*/true, llr);
  bits.resize(static_cast<size_t>(code.k()));
  return testing::PackBits(absl::MakeSpan(bits)) != block.info();
}

using Failures = std::array<int, kNumForms>;

Failures Count(testing::NrAwgnBlock& block, const Point& point, double snr_db, int frames,
               bool only_double) {
  Failures failures = {};
  testing::Random random(4321);
  const double n0 = std::pow(10.0, -snr_db / 10.0);
  for (int frame = 0; frame < frames; ++frame) {
    const std::vector<double>& llr = block.Send(snr_db, random);
    failures[kDouble] += FailsInDouble(block, llr) ? 1 : 0;
    if (only_double) continue;
    const auto count = [&](int form, const std::vector<int8_t>& received) {
      failures[static_cast<size_t>(form)] += block.Fails(received) ? 1 : 0;
    };
    count(kFloat16, testing::QuantiseLlr(llr, kLlrScale));  // half precision is finer than that
    count(kInt16, FromIntegers(llr, kInt16Step, 16));
    count(kInt16Chosen, FromChosenScale(llr, point));
    count(kPacked6, FromIntegers(llr, 2, 6));
    for (size_t i = 0; i < kSteps4.size(); ++i) {
      count(kPacked4 + static_cast<int>(i), FromIntegers(llr, kSteps4[i], 4));
    }
    count(kSymbolsFloat32, FromSymbols(block, nr::SymbolFormat::kFloat32, 1.0F, n0));
    count(kSymbolsInt16, FromSymbols(block, nr::SymbolFormat::kInt16, 8192.0F, n0));
    count(kSymbolsInt8, FromSymbols(block, nr::SymbolFormat::kInt8, Int8Scale(n0), n0));
  }
  return failures;
}

double SnrOf(testing::NrAwgnBlock& block, const Point& point) {
  double low = -8.0;
  double high = 45.0;
  for (int i = 0; i < 11; ++i) {
    const double middle = 0.5 * (low + high);
    (Count(block, point, middle, 60, true)[kDouble] > 6 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

void Print(const Point& point, int frames) {
  testing::NrAwgnBlock block(point.code_rate < 0.3 ? 2 : 1, kZc, point.qm, point.code_rate);
  const double snr_db = SnrOf(block, point);
  const Failures failures = Count(block, point, snr_db, frames, false);
  const double below = Count(block, point, snr_db - 0.1, frames, true)[kDouble];
  const double above = Count(block, point, snr_db + 0.1, frames, true)[kDouble];
  const double slope = std::log(below / above) / 0.2;
  const auto loss = [&](int form) {
    return std::log(static_cast<double>(failures[static_cast<size_t>(form)]) / failures[kDouble]) /
           slope;
  };
  std::printf("%d,%.3f,%.2f,%.4f", point.qm, point.code_rate, snr_db,
              static_cast<double>(failures[kDouble]) / frames);
  for (const int form : {kFloat16, kInt16, kInt16Chosen, kPacked6}) {
    std::printf(",%.3f", loss(form));
  }
  int best = kPacked4;
  for (size_t i = 0; i < kSteps4.size(); ++i) {
    if (loss(kPacked4 + static_cast<int>(i)) < loss(best)) best = kPacked4 + static_cast<int>(i);
  }
  std::printf(",%.3f,%.2f", loss(best), kSteps4[static_cast<size_t>(best - kPacked4)]);
  for (const int form : {kSymbolsFloat32, kSymbolsInt16, kSymbolsInt8}) {
    std::printf(",%.3f", loss(form));
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace baseband

int main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 2000;
  std::printf(
      "qm,code_rate,snr_db,bler,float16,int16,int16_chosen,packed6,packed4,packed4_step,"
      "symbols_float32,symbols_int16,symbols_int8\n");
  for (const baseband::Point& point : std::vector<baseband::Point>{{2, 0.2},
                                                                   {2, 0.35},
                                                                   {2, 0.66},
                                                                   {4, 0.48},
                                                                   {6, 0.65},
                                                                   {6, 0.88},
                                                                   {8, 0.75},
                                                                   {8, 0.925},
                                                                   {10, 0.79},
                                                                   {10, 0.926}}) {
    baseband::Print(point, frames);
  }
  return 0;
}
