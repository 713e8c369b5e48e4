#include "client/load/histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace baseband::load {
namespace {

// The least power of two that is at least 10^digits.
int HalfBits(int digits) {
  int bits = 0;
  for (int64_t least = std::lround(std::pow(10, digits)); int64_t{1} << bits < least;) ++bits;
  return bits;
}

// Of a positive number: the place of its highest one.
int HighestBit(int64_t value) { return 63 - __builtin_clzll(static_cast<uint64_t>(value)); }

}  // namespace

// The first 2^(half_bits + 1) buckets are one wide; then each doubling of the value has 2^half_bits
// buckets, twice as wide as those before.
Histogram::Histogram(int digits) : half_bits_(HalfBits(digits)) {
  counts_.resize(IndexOf(kMax) + 1);
}

size_t Histogram::IndexOf(int64_t value) const {
  const int shift = std::max(0, HighestBit(value | 1) - half_bits_);
  return static_cast<size_t>((int64_t{shift} << half_bits_) + (value >> shift));
}

int64_t Histogram::MiddleOf(size_t index) const {
  const auto place = static_cast<int64_t>(index);
  const int64_t shift = std::max<int64_t>(0, (place >> half_bits_) - 1);
  const int64_t low = (place - (shift << half_bits_)) << shift;
  return low + (int64_t{1} << shift) / 2;
}

void Histogram::Record(int64_t value, int64_t times) {
  value = std::clamp<int64_t>(value, 0, kMax);
  counts_[IndexOf(value)] += times;
  count_ += times;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value) * static_cast<double>(times);
}

void Histogram::Merge(const Histogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

int64_t Histogram::min() const { return count_ == 0 ? 0 : min_; }

double Histogram::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

int64_t Histogram::Quantile(double quantile) const {
  const double share = std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count_);
  // A share that only rounding has put above a whole number means that number.
  const int64_t wanted = std::max<int64_t>(1, std::llround(std::ceil(share * (1 - 1e-15))));
  int64_t seen = 0;
  for (size_t i = 0; i < counts_.size() && count_ > 0; ++i) {
    seen += counts_[i];
    if (seen >= wanted) {
      return wanted == count_ ? max_ : std::clamp(MiddleOf(i), min_, max_);
    }
  }
  return 0;
}

int64_t Histogram::CountUpTo(int64_t value) const {
  if (value < 0) return 0;
  const auto end = counts_.begin() + static_cast<int64_t>(IndexOf(std::min(value, kMax))) + 1;
  return std::accumulate(counts_.begin(), end, int64_t{0});
}

}  // namespace baseband::load
