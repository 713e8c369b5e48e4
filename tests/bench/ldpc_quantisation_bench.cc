// Frame error rates of the integer engine beside layered min-sum without quantisation, as CSV.
//
//   ldpc_quantisation_bench [frames] [scale,scale,..]
//
// Both decode the same noise at 10 layered iterations and under the same scaling. With scale
// factors given, each is tried on the integer engine, layered and flooding (20 iterations), and
// float is left out: this is how DefaultScaling was tuned, beside ldpc_scaling_bench for the codes
// that have an offset.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/reference_decode.h"
#include "tests/support/channel.h"
#include "tests/support/ldpc_words.h"

namespace baseband::ldpc {
namespace {

constexpr int kIterations = 10;

struct Case {
  CodePtr code;
  double first_db;  // Eb/N0 where FER is near 5e-2
};

std::vector<Case> Cases(int argc) {
  std::vector<Case> cases = {
      {*NrCode(1, 64, 46), 1.3},   {*NrCode(1, 64, 22), 1.8}, {*NrCode(1, 64, 12), 2.5},
      {*NrCode(1, 64, 4), 4.5},    {*NrCode(2, 64, 42), 1.2}, {*NrCode(2, 64, 20), 1.5},
      {*NrCode(2, 64, 10), 2.1},   {*NrCode(2, 64, 4), 3.7},  {*WimaxCode("1/2", 2304), 1.8},
      {*NrCode(1, 384, 46), 1.15}, {*NrCode(1, 384, 4), 4.4},
  };
  if (argc > 2) {
    for (int rows : {6, 8, 16, 32}) cases.push_back({*NrCode(1, 64, rows), 2.0});
    for (int rows : {6, 14, 30}) cases.push_back({*NrCode(2, 64, rows), 2.0});
    for (const char* rate : {"2/3A", "3/4A", "5/6"}) cases.push_back({*WimaxCode(rate, 2304), 3.0});
    for (const char* rate : {"1/2", "3/4", "5/6"}) cases.push_back({*WifiCode(rate, 1944), 2.5});
  }
  return cases;
}

class Simulation {
 public:
  Simulation(const Code& code, double ebn0_db, uint64_t seed)
      : code_(code),
        variance_(testing::NoiseVariance(ebn0_db, testing::SentRate(code))),
        random_(seed) {}

  // Draws the next word and its LLRs.
  void Next() {
    const std::vector<uint8_t> word = testing::RandomWord(code_, 0, random_);
    llr_ = testing::SendOverAwgn(testing::SentBits(code_, word), variance_, random_);
    quantised_ = testing::QuantiseLlr(llr_);
    info_.assign(word.begin(), word.begin() + code_.k());
  }

  bool IntegerFails(const DecodeParameters& parameters) const {
    std::vector<uint8_t> bits(static_cast<size_t>(DecodedBytes(code_, 0)));
    DecodeOnCpu(code_, parameters, 0, quantised_, absl::MakeSpan(bits), {});
    return bits != testing::PackBits(info_);
  }

  bool FloatFails(const Scaling& scaling) const {
    std::vector<double> channel(static_cast<size_t>(code_.punctured_columns() * code_.zc()), 0.0);
    channel.insert(channel.end(), llr_.begin(), llr_.end());
    std::vector<uint8_t> bits = reference::DecodeFloatMinSum(code_, scaling, testing::kLlrScale,
                                                             kIterations, true, channel);
    bits.resize(info_.size());
    return bits != info_;
  }

 private:
  const Code& code_;
  double variance_;
  testing::Random random_;
  std::vector<double> llr_;
  std::vector<int8_t> quantised_;
  std::vector<uint8_t> info_;
};

void Compare(const Case& test, int frames) {
  DecodeParameters parameters;
  parameters.max_iterations = kIterations;
  const Scaling scaling = DefaultScaling(*test.code, Schedule::kLayered);
  for (int step = -2; step < 10; ++step) {
    const double ebn0_db = test.first_db + 0.1 * step;
    Simulation simulation(*test.code, ebn0_db, 1);
    int integer_failures = 0, float_failures = 0;
    for (int frame = 0; frame < frames; ++frame) {
      simulation.Next();
      integer_failures += simulation.IntegerFails(parameters) ? 1 : 0;
      float_failures += simulation.FloatFails(scaling) ? 1 : 0;
    }
    std::printf("%s,%.2f,%.4f,%d,%d,%.3e,%.3e\n", test.code->name().c_str(), ebn0_db,
                static_cast<double>(scaling.factor), scaling.offset, frames,
                integer_failures / double(frames), float_failures / double(frames));
    std::fflush(stdout);
    if (integer_failures < frames / 300) return;
  }
}

// The Eb/N0 at which the default fails about one frame in 30.
double Waterfall(const Code& code) {
  DecodeParameters parameters;
  parameters.max_iterations = kIterations;
  double ebn0_db = 0.5;
  for (;; ebn0_db += 0.1) {
    Simulation simulation(code, ebn0_db, 2);
    int failures = 0;
    for (int frame = 0; frame < 300; ++frame) {
      simulation.Next();
      failures += simulation.IntegerFails(parameters) ? 1 : 0;
    }
    if (failures <= 10 || ebn0_db > 9.0) return ebn0_db;
  }
}

void Tune(const Code& code, int frames, const std::vector<float>& scales) {
  const double ebn0_db = Waterfall(code);
  std::vector<int> layered(scales.size()), flooding(scales.size());
  Simulation simulation(code, ebn0_db, 3);
  for (int frame = 0; frame < frames; ++frame) {
    simulation.Next();
    for (size_t i = 0; i < scales.size(); ++i) {
      DecodeParameters parameters;
      parameters.scaling.factor = scales[i];
      parameters.max_iterations = kIterations;
      layered[i] += simulation.IntegerFails(parameters) ? 1 : 0;
      parameters.schedule = Schedule::kFlooding;
      parameters.max_iterations = 2 * kIterations;
      flooding[i] += simulation.IntegerFails(parameters) ? 1 : 0;
    }
  }
  for (size_t i = 0; i < scales.size(); ++i) {
    std::printf("%s,%.2f,%.3f,%d,%.3e,%.3e\n", code.name().c_str(), ebn0_db, scales[i], frames,
                layered[i] / double(frames), flooding[i] / double(frames));
  }
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 3000;
  std::vector<float> scales;
  for (const char* at = argc > 2 ? argv[2] : nullptr; at != nullptr;) {
    char* end = nullptr;
    scales.push_back(std::strtof(at, &end));
    at = *end == ',' ? end + 1 : nullptr;
  }
  std::printf(scales.empty() ? "code,ebn0_db,scale,offset,frames,fer_integer,fer_float\n"
                             : "code,ebn0_db,scale,frames,fer_layered_10,fer_flooding_20\n");
  for (const Case& test : Cases(argc)) {
    if (scales.empty()) {
      Compare(test, frames);
    } else {
      Tune(*test.code, frames, scales);
    }
  }
  return 0;
}

}  // namespace
}  // namespace baseband::ldpc

int main(int argc, char** argv) { return baseband::ldpc::Main(argc, argv); }
