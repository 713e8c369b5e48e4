#include "client/ctl/ldpc/awgn.h"

#include <cmath>
#include <vector>

#include "client/ctl/ldpc/bits.h"

namespace baseband::ctl {
namespace {

constexpr int kMaxLlr = 127;
constexpr double kTwo56 = 72057594037927936.0;

double NormalTail(double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); }

// Probabilities of the LLRs -127 .. 127 for a zero bit.
std::vector<double> LlrProbabilities(double variance, double llr_scale) {
  const double gain = llr_scale * 2 / variance;
  const double deviation = gain * std::sqrt(variance);
  std::vector<double> probabilities;
  // From the left; the tail above the right edge of each step, of a normal with mean `gain`.
  double above = 1;
  for (int llr = -kMaxLlr; llr <= kMaxLlr; ++llr) {
    const double next = llr == kMaxLlr ? 0 : NormalTail((llr + 0.5 - gain) / deviation);
    probabilities.push_back(above - next);
    above = next;
  }
  return probabilities;
}

}  // namespace

double NoiseVariance(double ebn0_db, double rate) {
  return 1 / (2 * rate * std::pow(10, ebn0_db / 10));
}

double UncodedBer(double ebn0_db) { return NormalTail(std::sqrt(2 * std::pow(10, ebn0_db / 10))); }

double ComfortableEbN0(double rate, int k) {
  const double unconstrained = 10 * std::log10((std::pow(2, 2 * rate) - 1) / (2 * rate));
  return unconstrained + 2.5 * std::pow(rate, 4) + 30 / std::sqrt(k) + 2.8;
}

AwgnChannel::AwgnChannel(double variance, double llr_scale) {
  std::vector<double> share = LlrProbabilities(variance, llr_scale);
  share.resize(kColumns, 0);
  std::vector<int> small;
  std::vector<int> large;
  for (int i = 0; i < kColumns; ++i) {
    share[i] *= kColumns;
    (share[i] < 1 ? small : large).push_back(i);
  }
  const auto fill = [this](int column, double threshold, int low, int high) {
    columns_[column].threshold = static_cast<uint64_t>(threshold * kTwo56);
    columns_[column].low = static_cast<int8_t>(low - kMaxLlr);
    columns_[column].high = static_cast<int8_t>(high - kMaxLlr);
  };
  while (!small.empty() && !large.empty()) {
    const int less = small.back();
    const int more = large.back();
    small.pop_back();
    fill(less, share[less], less, more);
    share[more] -= 1 - share[less];
    if (share[more] < 1) {
      large.pop_back();
      small.push_back(more);
    }
  }
  // What is left is full but for rounding.
  for (const int column : large) {
    fill(column, 1, column, column);
  }
  for (const int column : small) {
    const int outcome = column < 2 * kMaxLlr + 1 ? column : kMaxLlr;
    fill(column, 1, outcome, outcome);
  }
}

int64_t AwgnChannel::Transmit(absl::string_view packed, int64_t bits, Random* random,
                              int8_t* llr) const {
  int64_t errors = 0;
  for (int64_t i = 0; i < bits; ++i) {
    const uint64_t word = random->Next();
    const Column& column = columns_[word & 0xff];
    const int8_t value = (word >> 8) < column.threshold ? column.low : column.high;
    const bool bit = GetBit(packed, i);
    llr[i] = static_cast<int8_t>(bit ? -value : value);
    errors += (llr[i] < 0) != bit;
  }
  return errors;
}

}  // namespace baseband::ctl
