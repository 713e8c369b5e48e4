// The host pool's segregated fit against the next fit over a std::map that it was before.
//
//   host_pool_bench [--steps=1000000]
//
// A pool of 512 MiB in units of 64 bytes is brought to so many pieces; then each step returns one,
// the oldest of eight random ones as calls end nearly in order, and takes one of another size.
// Both see the same steps. Nanoseconds of processor time a step; of a thousand steps the slowest by
// the wall's clock, the median of those, with the clock's own cost; runs: into how many
// pieces of adjacent memory sixteen that were taken one after the other by a stream fall, a copy of
// the copy engine each; refused: of a thousand takes. Checked first, on the same steps: nothing
// overlaps, and what all returned is one piece again.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "server/device/segregated_fit.h"
#include "tests/bench/must.h"

namespace baseband::bench {
namespace {

constexpr int64_t kUnit = 64;
constexpr int64_t kCapacity = (int64_t{512} << 20) / kUnit;
constexpr int kStreams = 8;

struct Piece {
  int64_t begin = 0;
  int64_t size = 0;
  uint32_t block = 0;
};

// As HostPool was until 214cfac: first fit from where the stream's last piece ended, then around.
class NextFit {
 public:
  NextFit() {
    free_.emplace(0, kCapacity);
    for (int i = 0; i < kStreams; ++i) rover_[i] = kCapacity / kStreams * i;
  }
  absl::optional<Piece> Take(int64_t size, int stream) {
    auto it = free_.upper_bound(rover_[stream]);
    if (it != free_.begin()) {
      const auto at_rover = std::prev(it);
      if (at_rover->first + at_rover->second >= rover_[stream] + size) {
        return Carve(at_rover, rover_[stream], size, stream);
      }
    }
    for (; it != free_.end(); ++it) {
      if (it->second >= size) return Carve(it, it->first, size, stream);
    }
    for (it = free_.begin(); it != free_.end(); ++it) {
      if (it->second >= size) return Carve(it, it->first, size, stream);
    }
    return absl::nullopt;
  }
  void Return(const Piece& piece) {
    int64_t length = piece.size;
    auto next = free_.lower_bound(piece.begin);
    if (next != free_.end() && next->first == piece.begin + length) {
      length += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == piece.begin) {
        previous->second += length;
        return;
      }
    }
    free_.emplace_hint(next, piece.begin, length);
  }

 private:
  Piece Carve(std::map<int64_t, int64_t>::iterator it, int64_t begin, int64_t size, int stream) {
    const auto [from, length] = *it;
    const int64_t end = from + length;
    free_.erase(it);
    if (begin > from) free_.emplace(from, begin - from);
    if (begin + size < end) free_.emplace(begin + size, end - begin - size);
    rover_[stream] = begin + size;
    return {begin, size, 0};
  }

  std::map<int64_t, int64_t> free_;  // begin -> size
  int64_t rover_[kStreams] = {};
};

class TwoLevel {
 public:
  absl::optional<Piece> Take(int64_t size, int stream) {
    const auto piece = fit_.Take(size, stream);
    if (!piece.has_value()) return absl::nullopt;
    return Piece{piece->begin, size, piece->block};
  }
  void Return(const Piece& piece) { fit_.Return(piece.block); }

 private:
  server::SegregatedFit fit_{kCapacity, kStreams};
};

// Sizes are as likely in each octave between these.
struct Load {
  const char* name;
  size_t pieces;
  double least_bytes;
  double most_bytes;
  int streams;
};

struct Step {
  uint64_t victim;
  int64_t size;
  int stream;
};

std::vector<Step> StepsOf(const Load& load, int num_steps) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<> log_size(std::log2(load.least_bytes),
                                            std::log2(load.most_bytes));
  std::vector<Step> steps;
  for (int i = 0; i < num_steps; ++i) {
    const auto bytes = static_cast<int64_t>(std::exp2(log_size(random)));
    steps.push_back({random(), (bytes + kUnit - 1) / kUnit,
                     static_cast<int>(random() % static_cast<uint64_t>(load.streams))});
  }
  return steps;
}

struct Figures {
  double mean_ns = 0;
  double worst_ns = 0;  // of a thousand steps the slowest: the median
  double runs = 0;      // of sixteen
  double refused = 0;   // of a thousand
};

// What Run tells of each take and return.
struct Checker {
  void Took(const Piece& piece) {
    const auto after = taken.lower_bound(piece.begin);
    const bool is_free = (after == taken.end() || after->first >= piece.begin + piece.size) &&
                         (after == taken.begin() ||
                          std::prev(after)->first + std::prev(after)->second <= piece.begin);
    if (!is_free || piece.begin < 0 || piece.begin + piece.size > kCapacity) {
      Fail("two pieces overlap");
    }
    taken.emplace(piece.begin, piece.size);
  }
  void Returned(const Piece& piece) { taken.erase(piece.begin); }
  std::map<int64_t, int64_t> taken;
};

// What costs a step of Run without a pool.
class NoFit {
 public:
  absl::optional<Piece> Take(int64_t size, int) { return Piece{0, size, 0}; }
  void Return(const Piece&) {}
};

double ThreadNs() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <typename Fit>
Figures Run(const Load& load, const std::vector<Step>& steps, Checker* checker) {
  using Clock = std::chrono::steady_clock;
  Fit fit;
  std::vector<Piece> pieces;  // a ring: `oldest` was taken first
  size_t oldest = 0;
  int64_t refused = 0;
  int64_t breaks = 0;
  int64_t takes = 0;
  int64_t end_of_last[kStreams] = {};
  double worst_ns = 0;
  std::vector<double> worsts_ns;
  double cpu_ns = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const bool is_full = pieces.size() == load.pieces;
    Piece victim;
    if (is_full) {
      std::swap(pieces[oldest], pieces[(oldest + step.victim % 8) % pieces.size()]);
      victim = pieces[oldest];
    }
    const auto begin = Clock::now();
    if (is_full && victim.size > 0) fit.Return(victim);
    const absl::optional<Piece> piece = fit.Take(step.size, step.stream);
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    if (checker != nullptr) {
      if (victim.size > 0) checker->Returned(victim);
      if (piece.has_value()) checker->Took(*piece);
    }
    if (is_full) {
      pieces[oldest] = piece.value_or(Piece());
      oldest = (oldest + 1) % pieces.size();
      if (takes == 0) cpu_ns = -ThreadNs();
      worst_ns = std::max(worst_ns, ns);
      if (i % 1000 == 0) worsts_ns.push_back(std::exchange(worst_ns, 0.0));
      ++takes;
      refused += !piece.has_value();
      breaks += piece.has_value() && piece->begin != end_of_last[step.stream];
    } else {
      pieces.push_back(piece.value_or(Piece()));
    }
    if (piece.has_value()) end_of_last[step.stream] = piece->begin + piece->size;
  }
  cpu_ns += ThreadNs();
  for (const Piece& piece : pieces) {
    if (piece.size > 0) fit.Return(piece);
  }
  if (!fit.Take(kCapacity, 0).has_value()) Fail("what came back is not one piece");
  const auto count = static_cast<double>(takes);
  std::sort(worsts_ns.begin(), worsts_ns.end());
  return {cpu_ns / count, worsts_ns[worsts_ns.size() / 2],
          1 + 15 * static_cast<double>(breaks) / count,
          1000 * static_cast<double>(refused) / count};
}

int Main(int num_steps) {
  const Load loads[] = {
      {"16 in flight, 1 to 32 KiB", 16, 1 << 10, 32 << 10, 1},
      {"1000 in flight, 1 to 32 KiB", 1000, 1 << 10, 32 << 10, 4},
      {"4000 in flight, 64 B to 512 KiB", 4000, 64, 512 << 10, 4},
      {"4500 that nearly fill it, 64 B to 1 MiB", 4500, 64, 1 << 20, 4},
      {"90 that nearly fill it, 1 to 16 MiB", 90, 1 << 20, 16 << 20, 4},
  };
  std::printf("%-42s %-10s %9s %14s %12s %9s\n", "", "", "ns, mean", "ns, worst of", "runs of 16",
              "refused");
  std::printf("%-42s %-10s %9s %14s %12s %9s\n", "", "", "", "1000 steps", "", "per 1000");
  for (const Load& load : loads) {
    const std::vector<Step> steps = StepsOf(load, num_steps);
    Checker old_checker;
    Checker checker;
    Run<NextFit>(load, steps, &old_checker);
    Run<TwoLevel>(load, steps, &checker);
    const double without_ns = Run<NoFit>(load, steps, nullptr).mean_ns;
    const auto print = [&](const char* fit, const Figures& figures) {
      std::printf("%-42s %-10s %9.1f %14.0f %12.2f %9.2f\n", load.name, fit,
                  figures.mean_ns - without_ns, figures.worst_ns, figures.runs, figures.refused);
    };
    print("map", Run<NextFit>(load, steps, nullptr));
    print("two-level", Run<TwoLevel>(load, steps, nullptr));
  }
  return 0;
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  int steps = 1000000;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (!absl::ConsumePrefix(&argument, "--steps=") || !absl::SimpleAtoi(argument, &steps)) {
      baseband::bench::Fail(absl::StrCat("what is ", argv[i], "?"));
    }
  }
  return baseband::bench::Main(steps);
}
