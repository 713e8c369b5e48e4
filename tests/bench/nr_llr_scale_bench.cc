// What the scale of int8 LLRs costs the decoder, by modulation and code rate, as CSV: how many dB
// more a block needs than at the best of the scales tried, on the same noise.
//
//   nr_llr_scale_bench [frames] [means]
//
// Natural LLRs times 3 .. 16, and LLRs of an unknown scale taken times what ChosenScale chooses. A
// loss is what the ratio of failures is worth on the slope of the error rate, measured over 0.1 dB.
// With `means`, the table of MeanLlrFor instead, from where a fifth of the blocks fail.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/nr/llr_format.h"
#include "tests/support/nr_awgn.h"

namespace baseband {
namespace {

constexpr int kZc = 96;
constexpr std::array<double, 7> kScales = {3, 4, 5, 6, 8, 10, 16};

struct Point {
  int qm;
  double code_rate;
};

testing::NrAwgnBlock BlockOf(const Point& point) {
  return testing::NrAwgnBlock(point.code_rate < 0.3 ? 2 : 1, kZc, point.qm, point.code_rate);
}

double MeanMagnitude(const std::vector<double>& llr) {
  double sum = 0.0;
  for (const double value : llr) sum += std::abs(value);
  return sum / static_cast<double>(llr.size());
}

int Failures(testing::NrAwgnBlock& block, double snr_db, int frames) {
  testing::Random random(77);
  int failures = 0;
  for (int i = 0; i < frames; ++i) {
    const std::vector<double>& llr = block.Send(snr_db, random);
    failures += block.Fails(testing::QuantiseLlr(llr, 10.0)) ? 1 : 0;
  }
  return failures;
}

// Where about that part of the blocks fails.
double SnrOf(testing::NrAwgnBlock& block, double failing) {
  double low = -8.0;
  double high = 45.0;
  for (int i = 0; i < 10; ++i) {
    const double middle = 0.5 * (low + high);
    (Failures(block, middle, 50) > 50 * failing ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// LLRs whose scale nobody knows, as int16, and back with the scale that is chosen.
std::vector<int8_t> Rescaled(const std::vector<double>& llr, const Point& point) {
  const double any = 1500.0 / MeanMagnitude(llr);
  uint64_t sum = 0;
  std::vector<double> received;
  for (const double value : llr) {
    received.push_back(std::clamp(std::round(value * any), -32768.0, 32767.0));
    sum += static_cast<uint64_t>(std::abs(received.back()));
  }
  const float scale = nr::ChosenScale(sum, llr.size(), nr::MeanLlrFor(point.qm, point.code_rate));
  return testing::QuantiseLlr(received, scale);
}

void PrintLosses(const Point& point, int frames) {
  testing::NrAwgnBlock block = BlockOf(point);
  const double snr_db = SnrOf(block, 0.25);
  std::array<int, kScales.size() + 1> failures = {};  // the last: of the chosen scale
  testing::Random random(77);
  for (int i = 0; i < frames; ++i) {
    const std::vector<double>& llr = block.Send(snr_db, random);
    for (size_t s = 0; s < kScales.size(); ++s) {
      failures[s] += block.Fails(testing::QuantiseLlr(llr, kScales[s])) ? 1 : 0;
    }
    failures.back() += block.Fails(Rescaled(llr, point)) ? 1 : 0;
  }
  const double slope = std::log(static_cast<double>(Failures(block, snr_db - 0.1, frames)) /
                                Failures(block, snr_db, frames)) /
                       0.1;
  const int best = *std::min_element(failures.begin(), failures.end());
  std::printf("%d,%.3f,%.2f,%.3f", point.qm, point.code_rate, snr_db,
              static_cast<double>(best) / frames);
  for (const int count : failures) {
    std::printf(",%.3f", std::log(static_cast<double>(count) / best) / slope);
  }
  std::printf("\n");
}

void PrintMeans() {
  for (const int qm : {2, 4, 6, 8, 10}) {
    std::printf("qm %d:", qm);
    for (const double code_rate : {0.2, 0.35, 0.5, 0.65, 0.8, 0.95}) {
      testing::NrAwgnBlock block = BlockOf({qm, code_rate});
      const double snr_db = SnrOf(block, 0.2);
      testing::Random random(4);
      double mean = 0.0;
      for (int i = 0; i < 10; ++i) mean += MeanMagnitude(block.Send(snr_db, random)) / 10.0;
      std::printf(" %.1f", (qm == 2 ? 5.0 : qm == 4 ? 7.5 : 10.0) * mean);
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace baseband

int main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 500;
  if (argc > 2) {
    baseband::PrintMeans();
    return 0;
  }
  std::printf("qm,code_rate,snr_db,least_bler");
  for (const double scale : baseband::kScales) std::printf(",loss_db_times_%g", scale);
  std::printf(",loss_db_chosen\n");
  for (const baseband::Point& point : std::vector<baseband::Point>{
           {2, 0.2},  {2, 0.35}, {2, 0.44},  {2, 0.66},  {4, 0.33},  {4, 0.48},  {4, 0.66},
           {6, 0.43}, {6, 0.58}, {6, 0.75},  {6, 0.88},  {6, 0.925}, {8, 0.5},   {8, 0.67},
           {8, 0.75}, {8, 0.88}, {8, 0.925}, {10, 0.65}, {10, 0.79}, {10, 0.86}, {10, 0.926}}) {
    baseband::PrintLosses(point, frames);
  }
  return 0;
}
