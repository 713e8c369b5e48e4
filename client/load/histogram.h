// A histogram of times whose buckets grow with the value, after Gil Tene's HdrHistogram: any value
// is known to a fixed number of significant digits, and recording costs a few instructions.
#ifndef BASEBAND_CLIENT_LOAD_HISTOGRAM_H_
#define BASEBAND_CLIENT_LOAD_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace baseband::load {

// Counts values 0 .. kMax; larger ones count as kMax, negative ones as 0. What comes back as a
// value v stood for any of a range of at most v / 10^digits around it; values below 10^digits are
// exact. Not thread-safe.
class Histogram {
 public:
  static constexpr int64_t kMax = (int64_t{1} << 42) - 1;  // 73 minutes in nanoseconds

  // 1 .. 4 significant digits; three take 270 KB, two 38 KB.
  explicit Histogram(int digits = 3);

  void Record(int64_t value, int64_t times = 1);
  // Adds what `other`, of as many digits, has counted.
  void Merge(const Histogram& other);

  int64_t count() const { return count_; }
  int64_t min() const;  // exact; 0 if nothing was recorded, as those below
  int64_t max() const { return max_; }
  double mean() const;
  // The least recorded value, to the digits, that a share `quantile` in [0, 1] of all does not
  // exceed; 0 gives the minimum, 1 the maximum.
  int64_t Quantile(double quantile) const;
  // How many values are at most `value`, to the digits.
  int64_t CountUpTo(int64_t value) const;

 private:
  size_t IndexOf(int64_t value) const;
  int64_t MiddleOf(size_t index) const;

  int half_bits_;  // a doubling of the value has 2^half_bits_ buckets
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  int64_t min_ = kMax;
  int64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_HISTOGRAM_H_
