// What is lost where HARQ holds soft bits in fewer bits than they are decoded from, as CSV: dB that
// a block needs more after two and four transmissions (rv 0, 2, 3, 1), on the same noise.
//
//   nr_harq_bench [frames]
//
// LLRs are the server's (scale 6), and so is the sum: what is held of it is rounded before the next
// transmission is added. `held6` and `held4` are soft_pack.h. Beside them what else 4 bits could
// be: even steps of 8 up to 56, and even steps of a scale that is chosen from each block, up to
// 2.5 times its mean magnitude. A loss is what the ratio of failures is worth on the slope of the
// error rate of 8 bits, over 0.2 dB around the SNR where a tenth of the blocks fails.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/nr/block_chain.h"
#include "kernels/nr/soft_pack.h"
#include "tests/support/nr_awgn.h"

namespace baseband {
namespace {

constexpr int kZc = 64;
constexpr int kIterations = 12;
constexpr double kLlrScale = 6.0;  // the server's default
constexpr int kVersions[] = {0, 2, 3, 1};

using Soft = std::vector<int8_t>;

enum Form { kHeld8, kHeld6, kHeld4, kEven4, kChosen4, kNumForms };

void RoundToSteps(double step, Soft* soft) {
  for (int8_t& value : *soft) {
    value = static_cast<int8_t>(std::clamp(
        std::nearbyint(std::clamp(std::nearbyint(value / step), -7.0, 7.0) * step), -127.0, 127.0));
  }
}

void Hold(int form, Soft* soft) {
  if (form == kHeld8) return;
  if (form == kEven4) return RoundToSteps(8, soft);
  if (form == kChosen4) {
    double sum = 0;
    int known = 0;
    for (const int8_t value : *soft) {
      sum += std::abs(value);
      known += value != 0;
    }
    return RoundToSteps(std::max(1.0, 2.5 * sum / std::max(known, 1) / 7), soft);
  }
  const int size = form == kHeld6 ? 6 : 4;
  std::vector<uint8_t> held(
      static_cast<size_t>(nr::HeldSoftBytes(size, static_cast<int64_t>(soft->size()))));
  nr::PackSoftOnCpu(size, *soft, held.data());
  nr::UnpackSoftOnCpu(size, held.data(), absl::MakeSpan(*soft));
}

struct Point {
  int base_graph;
  int qm;
  double code_rate;  // of each transmission
  int transmissions;
};

// One code block, without fillers, over a channel of white noise.
class Link {
 public:
  explicit Link(const Point& point) : point_(point), code_(*ldpc::NrCode(point.base_graph, kZc)) {
    block_.base_graph = point.base_graph;
    block_.zc = kZc;
    block_.qm = point.qm;
    block_.e = static_cast<int64_t>(code_->k() / point.code_rate) / point.qm * point.qm;
  }

  using Failures = std::array<int, kNumForms>;
  // After the last transmission; of 8 bits alone, or of all forms.
  Failures Count(double snr_db, int frames, bool all) const {
    Failures failures = {};
    testing::Random random(77);
    for (int frame = 0; frame < frames; ++frame) {
      const std::vector<uint8_t> word = testing::RandomWord(*code_, 0, random);
      std::array<Soft, kNumForms> soft;
      soft.fill(Soft(static_cast<size_t>(code_->num_sent()), 0));
      const int forms = all ? kNumForms : 1;
      for (int t = 0; t < point_.transmissions; ++t) {
        nr::CodeBlock block = block_;
        block.rv = kVersions[t];
        const nr::RateMatch rate_match = *nr::MakeRateMatch(block);
        const Soft llr = Receive(word, rate_match, snr_db, random);
        for (int form = 0; form < forms; ++form) {
          Soft& of_form = soft[static_cast<size_t>(form)];
          if (t > 0) Hold(form, &of_form);
          nr::RateDematchOnCpu(rate_match, llr, t > 0, absl::MakeSpan(of_form));
        }
      }
      for (int form = 0; form < forms; ++form) {
        failures[static_cast<size_t>(form)] += Fails(word, soft[static_cast<size_t>(form)]);
      }
    }
    return failures;
  }

 private:
  Soft Receive(const std::vector<uint8_t>& word, const nr::RateMatch& rate_match, double snr_db,
               testing::Random& random) const {
    const std::vector<uint8_t> buffer = testing::PackBits(testing::SentBits(*code_, word));
    std::vector<uint8_t> sent(static_cast<size_t>(block_.e + 7) / 8, 0);
    nr::RateMatchOnCpu(rate_match, buffer, sent.data(), 0);
    const double n0 = std::pow(10.0, -snr_db / 10);
    const double unit = nr::AxisUnit(point_.qm);
    std::vector<double> llr(static_cast<size_t>(block_.e));
    for (int begin = 0; begin < static_cast<int>(block_.e); begin += point_.qm) {
      uint32_t label = 0;
      for (int i = 0; i < point_.qm; ++i) {
        label = 2 * label + (testing::BitAt(sent, begin + i) ? 1 : 0);
      }
      const nr::PointLevels levels = nr::LevelsOf(point_.qm, label, 0);
      const double real = random.Normal();
      const std::complex<double> noise(real, random.Normal());
      testing::NaturalLlrs(
          point_.qm, unit * std::complex<double>(levels.i, levels.q) + std::sqrt(n0 / 2) * noise,
          n0, &llr[static_cast<size_t>(begin)]);
    }
    return testing::QuantiseLlr(llr, kLlrScale);
  }

  int Fails(const std::vector<uint8_t>& word, const Soft& soft) const {
    const std::vector<uint8_t> info =
        testing::PackBits(absl::MakeConstSpan(word).first(static_cast<size_t>(code_->k())));
    ldpc::DecodeParameters parameters;
    parameters.max_iterations = kIterations;
    std::vector<uint8_t> bits(info.size());
    ldpc::DecodeOnCpu(*code_, parameters, 0, soft, absl::MakeSpan(bits), {});
    return bits != info ? 1 : 0;
  }

  const Point point_;
  const ldpc::CodePtr code_;
  nr::CodeBlock block_;
};

void Print(const Point& point, int frames) {
  const Link link(point);
  double low = -15;
  double high = 30;
  for (int i = 0; i < 10; ++i) {
    const double middle = 0.5 * (low + high);
    (link.Count(middle, 60, false)[kHeld8] > 6 ? low : high) = middle;
  }
  const double snr_db = 0.5 * (low + high);
  const Link::Failures failures = link.Count(snr_db, frames, true);
  const double below = link.Count(snr_db - 0.1, frames, false)[kHeld8];
  const double above = link.Count(snr_db + 0.1, frames, false)[kHeld8];
  const double slope = std::log(below / above) / 0.2;
  std::printf("%d,%.2f,%d,%.2f,%.3f", point.qm, point.code_rate, point.transmissions, snr_db,
              static_cast<double>(failures[kHeld8]) / frames);
  for (int form = kHeld6; form < kNumForms; ++form) {
    std::printf(",%.3f", std::log(static_cast<double>(failures[static_cast<size_t>(form)]) /
                                  failures[kHeld8]) /
                             slope);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace baseband

int main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 1000;
  std::printf("qm,code_rate,transmissions,snr_db,bler,held6,held4,even4,chosen4\n");
  struct Scheme {
    int base_graph;
    int qm;
    double code_rate;
  };
  for (const Scheme& scheme : {Scheme{2, 2, 0.2}, Scheme{1, 2, 0.5}, Scheme{1, 4, 0.6},
                               Scheme{1, 6, 0.75}, Scheme{1, 8, 0.9}}) {
    for (const int transmissions : {2, 4}) {
      baseband::Print({scheme.base_graph, scheme.qm, scheme.code_rate, transmissions}, frames);
    }
  }
  return 0;
}
