#include <algorithm>
#include <cstring>

#include "kernels/base/bits.h"
#include "kernels/base/growing_memory.h"
#include "kernels/nr/interleave_cpu.h"
#include "kernels/nr/rate_match.h"

namespace baseband::nr {
namespace {

constexpr uint32_t kMaxN = 66 * 384;
constexpr uint32_t kChunk = kMaxColumnsOfCall;
constexpr uint32_t kMaxRows = 10;  // of the interleaver

// A run of `count` consecutive places of the buffer, none of them a filler.
struct Run {
  uint32_t place = 0;
  uint32_t count = 0;
};

// The longest run that begins with the place of e_k, of `most` bits at most.
Run RunFrom(const RateMatch& r, uint32_t k, uint32_t most) {
  const uint32_t place = PlaceOfSent(r, k);
  const uint32_t end = place < r.filler_begin ? r.filler_begin : r.n_cb;
  return {place, std::min(most, end - place)};
}

// e_0, e_1, .. as far as they are wanted of one after another: all of them, or once around the
// buffer and `kChunk` bits further, so that any chunk is a run of it.
void Select(const RateMatch& r, const uint8_t* buffer, uint8_t* ring) {
  const uint32_t once = std::min(r.e, r.kept);
  for (uint32_t k = 0; k < once;) {
    const Run run = RunFrom(r, k, once - k);
    CopyBits(ring, k, buffer, run.place, run.count);
    k += run.count;
  }
  if (once == r.e) return;
  const uint32_t end = r.kept + kChunk;
  for (uint32_t have = r.kept; have < end;) {
    const uint32_t more = std::min(have / r.kept * r.kept, end - have);
    CopyBits(ring, have, ring, 0, more);
    have += more;
  }
}

}  // namespace

EdgeBits RateMatchInsideOnCpu(const RateMatch& r, absl::Span<const uint8_t> buffer, uint8_t* out,
                              int64_t out_bit) {
  alignas(64) uint8_t ring[(kMaxN + kChunk) / 8 + kInterleaveSlack];
  alignas(64) uint8_t chunk[kMaxRows * kChunk / 8 + kInterleaveSlack];
  BitRun run(out, out_bit, out_bit + r.e);
  Select(r, buffer.data(), ring);
  if (r.qm == 1) {
    // As often around as the ring holds.
    const uint32_t length = r.e > r.kept ? (r.kept + kChunk) / r.kept * r.kept : r.e;
    for (uint32_t k = 0; k < r.e; k += length) {
      run.Put(out_bit + k, ring, 0, std::min(length, r.e - k));
    }
    return run.edges();
  }
  for (uint32_t column = 0; column < r.columns; column += kChunk) {
    const uint32_t columns = std::min(kChunk, r.columns - column);
    int64_t row_begin[kMaxRows];
    for (uint32_t i = 0; i < r.qm; ++i) row_begin[i] = (i * r.columns + column) % r.kept;
    InterleaveBits(static_cast<int>(r.qm), ring, row_begin, static_cast<int>(columns), chunk);
    run.Put(out_bit + int64_t{column} * r.qm, chunk, 0, int64_t{columns} * r.qm);
  }
  return run.edges();
}

void RateMatchOnCpu(const RateMatch& r, absl::Span<const uint8_t> buffer, uint8_t* out,
                    int64_t out_bit) {
  PutEdges(out, out_bit, out_bit + r.e, RateMatchInsideOnCpu(r, buffer, out, out_bit));
}

namespace {

// Where LLRs e_k, e_{k+1}, .. go: into the soft bits themselves if each place comes once.
class ToSoft {
 public:
  ToSoft(const RateMatch& r, int8_t* soft) : r_(r), soft_(soft) {}
  void Add(uint32_t k, const int8_t* llr, uint32_t count) const {
    while (count > 0) {
      const Run run = RunFrom(r_, k, count);
      AddLlrs(llr, static_cast<int>(run.count), soft_ + run.place);
      k += run.count;
      llr += run.count;
      count -= run.count;
    }
  }

 private:
  const RateMatch& r_;
  int8_t* soft_;
};

// Else into sums by k mod `period`, a multiple of `kept` that makes long runs of a short buffer.
class ToSums {
 public:
  static constexpr uint32_t kLeastPeriod = 1024;
  static constexpr uint32_t kMaxPeriod = std::max(kMaxN, 2 * kLeastPeriod);

  ToSums(const RateMatch& r, int32_t* sums)
      : r_(r), period_((kLeastPeriod + r.kept - 1) / r.kept * r.kept), sums_(sums) {
    std::fill_n(sums_, period_, 0);
  }
  void Add(uint32_t k, const int8_t* llr, uint32_t count) const {
    k %= period_;
    while (count > 0) {
      const uint32_t run = std::min(count, period_ - k);
      AddLlrsToSums(llr, static_cast<int>(run), sums_ + k);
      k = 0;
      llr += run;
      count -= run;
    }
  }
  void Finish(int8_t* soft) const {
    for (uint32_t k = r_.kept; k < period_; ++k) sums_[k % r_.kept] += sums_[k];
    for (uint32_t k = 0; k < r_.kept;) {
      const Run run = RunFrom(r_, k, r_.kept - k);
      AddSums(sums_ + k, static_cast<int>(run.count), soft + run.place);
      k += run.count;
    }
  }

 private:
  const RateMatch& r_;
  const uint32_t period_;
  int32_t* sums_;
};

template <typename Target>
void DeinterleaveInto(const RateMatch& r, const int8_t* llr, const Target& target) {
  if (r.qm == 1) {
    target.Add(0, llr, r.e);
    return;
  }
  alignas(64) int8_t rows[kMaxRows * kLlrRowStride];
  for (uint32_t column = 0; column < r.columns; column += kChunk) {
    const uint32_t columns = std::min(kChunk, r.columns - column);
    DeinterleaveLlrs(static_cast<int>(r.qm), llr + size_t{column} * r.qm, static_cast<int>(columns),
                     rows);
    for (uint32_t i = 0; i < r.qm; ++i) {
      target.Add(i * r.columns + column, rows + i * kLlrRowStride, columns);
    }
  }
}

// What may stand in soft bits that nothing is added to.
void ReadAsItIs(absl::Span<int8_t> soft) {
  for (int8_t& value : soft) value = static_cast<int8_t>(value == -128 ? -127 : value);
}

}  // namespace

void RateDematchOnCpu(const RateMatch& r, absl::Span<const int8_t> llr, bool combine,
                      absl::Span<int8_t> soft) {
  if (combine) {
    ReadAsItIs(soft.first(r.n_cb));
    std::memset(soft.data() + r.filler_begin, 0, r.filler_end - r.filler_begin);
  } else {
    std::memset(soft.data(), 0, r.n_cb);
  }
  if (r.e <= r.kept) {
    DeinterleaveInto(r, llr.data(), ToSoft(r, soft.data()));
    return;
  }
  static thread_local GrowingMemory memory;
  auto* const sums =
      reinterpret_cast<int32_t*>(memory.AtLeast(ToSums::kMaxPeriod * sizeof(int32_t)));
  const ToSums target(r, sums);
  DeinterleaveInto(r, llr.data(), target);
  target.Finish(soft.data());
}

}  // namespace baseband::nr
