// What a load has counted so far, over all calls and over time.
#ifndef BASEBAND_CLIENT_LOAD_TOTALS_H_
#define BASEBAND_CLIENT_LOAD_TOTALS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/load/histogram.h"

namespace baseband::load {

// What became of a call that was due. Every one has exactly one outcome.
enum class Outcome {
  kGood,     // the right answer, by its deadline
  kLate,     // the right answer, after its deadline
  kExpired,  // no answer by its deadline (or by the timeout of calls without one), or by when a
             // load that had fallen behind was broken off
  kRefused,  // any other error, by cause in Totals.refusals
  kWrong,    // an answer that is not what it must be
  kSkipped,  // not sent: no room below the cap of calls in flight before it was late, or before the
             // end
};
inline constexpr int kOutcomes = 6;
inline constexpr const char* kOutcomeNames[kOutcomes] = {"good",    "late",  "expired",
                                                         "refused", "wrong", "skipped"};

// Where the time of an answered call went, from when it was due: behind that time when it was sent,
// in the stages of the server's Timing, in order, and all else between sending and answer. That is
// network and gRPC, both ways: the clocks of two hosts do not tell one from the other.
inline constexpr int kStages = 8;
inline constexpr const char* kStageNames[kStages] = {"send_lag", "receive", "queue", "copy_in",
                                                     "h2d",      "kernel",  "d2h",   "transport"};

struct Outcomes {
  std::array<int64_t, kOutcomes> counts{};

  int64_t& operator[](Outcome outcome) { return counts[static_cast<size_t>(outcome)]; }
  int64_t operator[](Outcome outcome) const { return counts[static_cast<size_t>(outcome)]; }
  int64_t due() const;
  // Calls that were answered rightly, on time or not.
  int64_t right() const { return (*this)[Outcome::kGood] + (*this)[Outcome::kLate]; }
  int64_t missed() const { return due() - (*this)[Outcome::kGood]; }
  // Part of the calls that were due; 0 if none was.
  double Share(Outcome outcome) const;
  // Calls that came to nothing by their deadline, for whatever reason.
  double MissShare() const;
  void Merge(const Outcomes& other);
};

// Code blocks of answers that were right, on time or not.
struct Blocks {
  int64_t count = 0;
  int64_t failed = 0;  // their parity checks do not hold: they did not decode

  // Block error rate; 0 without any.
  double Bler() const {
    return count == 0 ? 0 : static_cast<double>(failed) / static_cast<double>(count);
  }
  void Merge(const Blocks& other) {
    count += other.count;
    failed += other.failed;
  }
};

// Iterations that the decoder ran on code blocks of right answers.
class Iterations {
 public:
  void Add(uint32_t iterations);  // of one code block
  // Adds what `other` has counted; with `times` -1 takes it away again.
  void Merge(const Iterations& other, int64_t times = 1);

  int64_t count() const { return count_; }  // code blocks
  double mean() const;                      // 0 if nothing was recorded, as those below
  // The least number that a share `quantile` in (0, 1] of all does not exceed; 1: the highest.
  int Quantile(double quantile) const;

 private:
  std::vector<int64_t> blocks_;  // [iterations]
  int64_t count_ = 0;
};

// Calls that ended in one interval of the measurement.
struct Interval {
  int64_t due = 0;  // intended in it, whenever they end
  Outcomes outcomes;
  double info_bits = 0;  // of blocks that decoded, in good calls
  Blocks blocks;
  double message_bytes = 0;  // of calls with an answer, both ways
  Histogram latency{2};      // nanoseconds

  void Merge(const Interval& other);
};

// Of one workload: all calls intended in the measurement. Latency, in nanoseconds, counts from the
// intended time; it has all answers, and calls that expired with the time they were waited for.
struct Tally {
  Outcomes outcomes;
  Blocks blocks;
  Iterations iterations;
  int64_t by_shared_memory = 0;  // calls whose payloads went through it, whatever came of them
  Histogram latency{3};
  // Nanoseconds, of answers with a Timing.
  std::array<Histogram, kStages> stages{Histogram(2), Histogram(2), Histogram(2), Histogram(2),
                                        Histogram(2), Histogram(2), Histogram(2), Histogram(2)};

  bool has_stages() const { return stages[0].count() > 0; }
  // Calls due that the stages know nothing of: expired, refused, skipped, or without a Timing.
  int64_t untimed() const { return outcomes.due() - stages[0].count(); }
  void Merge(const Tally& other);
};

struct Totals {
  // `workloads` tallies, `intervals` intervals.
  Totals(size_t workloads, size_t intervals) : tallies(workloads), series(intervals) {}

  std::vector<Tally> tallies;
  std::vector<Interval> series;
  std::map<std::string, int64_t> refusals;  // by code and message, digits as #
  std::string wrong_example;                // what the first wrong answer was
  int64_t wrong_in_warm_up = 0;             // calls that were due before the measurement
  Histogram send_lag{2};   // of open loops: behind the intended time, while there was room
  int64_t late_sends = 0;  // those over kLateSendNs
  int64_t cap_hits = 0;    // calls sent late for want of room, their own or that of one before

  static constexpr int64_t kLateSendNs = 1000000;

  // All workloads together, and all intervals.
  Tally All() const;
  Interval Window() const;
  void Merge(const Totals& other);
};

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_TOTALS_H_
