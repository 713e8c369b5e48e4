// Iterative decoding of quasi-cyclic LDPC codes: what is computed, to the bit, whatever the device.
//
// Input: channel LLRs, int8, llr = ln(P(bit = 0) / P(bit = 1)) * llr_scale, so positive means 0 and
// zero means unknown; -128 is read as -127. The recommended scale is 4.
//
// One engine of integer arithmetic serves normalised min-sum and bit flipping. Channel values ch,
// messages r (check to bit) and a-posteriori values app are integers; app = ch + the sum of the
// messages to the bit. For check row e's bits, with q_i = app_i - r_i:
//   m_e   = min( min over i != e of |q_i|, magnitude_limit )
//   r_e'  = product over i != e of sign(q_i) * max( 0, round( m_e * factor / 2048 ) - offset )
// with sign(0) = +1, factor odd (so that no ties arise), offset 0 or 1. A heavy check, one of
// kHeavyDegree bits or more, may have a factor of its own; only heavy checks have an offset.
//   message_limit   = min(127, (1919 - 127) / max column degree)        (integer division)
//   magnitude_limit = min(127, floor((message_limit + offset) * 2048 / factor)), the least
// so that |app| <= 1919 always, which is exact in int16 and in half precision.
//   Normalised min-sum: ch = llr, factors and offset from the scaling (MakeEngine). A minimum
//     overestimates the more, the more bits it is taken over and the weaker they are: the offset
//     takes that off.
//   Bit flipping: Gallager's hard-decision decoding (algorithm E: one-bit messages with erasures):
//     ch = sign of llr in {-1, 0, +1}, factor 2047, offset 0, magnitude_limit 1. LLR magnitudes
//     play no part.
// Layered schedule: rows in order, app updated after each row. Flooding: all rows from the same
// app, then all app. A bit is 1 iff app < 0. After each iteration the parity checks of all rows are
// evaluated on the bits if `early_termination`, and the block stops when all hold; otherwise only
// after the last. Each filler has a check too, that it is 0: messages may overrule its channel
// value, and what holds with a 1 there is the word of other information than is returned.
//
// With `stop_crc` such a block stops also when its information bits, fillers left out, end in the
// right CRC of those before, although a parity check does not hold: LLRs that are too large hold up
// the checks of columns that no other check corrects, while the information bits are long right.
// Zeros alone end in a right CRC, and are what is decided where nothing is known: they do not stop.
// A CRC of b bits that is looked at n times lets a wrong word pass with probability n 2^-b at most.
//
// Sum-product: the same schedules in float32 natural LLRs, ch = llr / llr_scale,
//   r_e' = 2 atanh( product over i != e of tanh(q_i / 2) ),
// |q| and |r| limited to kSumProductLimit.
// Devices agree within rounding: the bound is stated and tested in tests/.
//
// Punctured columns and bits past llr_count have ch = 0. Fillers have ch = +127 whatever was sent.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_H_
#define BASEBAND_KERNELS_LDPC_DECODE_H_

#include <cstdint>
#include <memory>
#include <tuple>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "kernels/crc/crc_math.h"
#include "kernels/ldpc/code.h"

namespace baseband::ldpc {

enum class Algorithm : uint8_t { kNormalizedMinSum, kSumProduct, kBitFlipping };
enum class Schedule : uint8_t { kLayered, kFlooding };

inline constexpr int kMaxIterations = 100;
inline constexpr int kLlrMax = 127;
inline constexpr int kAppMax = 1919;
inline constexpr float kSumProductLimit = 30.0f;

// What the minima of normalised min-sum are multiplied by, and what is then taken off.
struct Scaling {
  float factor = 0.0f;  // (0, 1]; 0: DefaultScaling(code)
  // Of heavy checks, for NR codes of more than 4 rows:
  float heavy_factor = 0.0f;  // (0, 1]; 0: the same
  int offset = 0;             // 0 or 1; a heavy_factor up to 1/2 takes 0

  friend bool operator==(const Scaling& a, const Scaling& b) { return a.Tie() == b.Tie(); }
  friend bool operator<(const Scaling& a, const Scaling& b) { return a.Tie() < b.Tie(); }

 private:
  std::tuple<float, float, int> Tie() const { return {factor, heavy_factor, offset}; }
};

struct DecodeParameters {
  Algorithm algorithm = Algorithm::kNormalizedMinSum;
  Schedule schedule = Schedule::kLayered;
  int max_iterations = 10;        // 1 .. kMaxIterations
  bool early_termination = true;  // false: exactly max_iterations
  absl::optional<Crc> stop_crc;   // looked at with early_termination only
  Scaling scaling;                // normalised min-sum only
  float llr_scale = 4.0f;         // sum-product only; > 0

  friend bool operator==(const DecodeParameters& a, const DecodeParameters& b) {
    return a.Tie() == b.Tie();
  }
  friend bool operator<(const DecodeParameters& a, const DecodeParameters& b) {
    return a.Tie() < b.Tie();
  }

 private:
  std::tuple<Algorithm, Schedule, int, bool, absl::optional<Crc>, Scaling, float> Tie() const {
    return {algorithm, schedule, max_iterations, early_termination, stop_crc, scaling, llr_scale};
  }
};

// The integers of the engine above.
struct Engine {
  int factor = 2047;          // odd, 1 .. 2047
  int heavy_factor = 2047;    // likewise
  int offset = 0;             // of heavy checks: 0; 1 only beside a heavy_factor above 1024
  int magnitude_limit = 127;  // 1 .. 127
  bool hard_input = false;    // ch = sign(llr)
};

// The factors nearest to the wanted ones that are odd multiples of 1 / 2048, the offset, and the
// limit that belongs to them. Not for sum-product.
Engine MakeEngine(const Code& code, const DecodeParameters& parameters);

// A good one for `code` under `schedule`, tuned by simulation (tests/bench).
Scaling DefaultScaling(const Code& code, Schedule schedule);

// What became of one code block.
struct DecodeResult {
  uint16_t iterations = 0;  // run, 1 .. max_iterations
  uint8_t parity_ok = 0;    // 1 if the decided bits, with zeros for fillers, are a code word
  uint8_t reserved = 0;
};
static_assert(sizeof(DecodeResult) == 4, "copied from the device as it is");

// How many bytes a block of `code` takes.
inline int DecodedBytes(const Code& code, int num_filler) {
  return (code.k() - num_filler + 7) / 8;
}

// Decodes one block on the calling thread.
//   llr   [llr_count], llr_count in 1 .. code.num_sent(): the LLRs of as many bits as are sent
//         first, that is, of code bits punctured_columns * zc, ...
//   bits  [ceil((k - num_filler) / 8)]: the decided information bits, most significant bit first,
//         the last byte filled up with zero bits. num_filler in 0 .. k - 1: code bits
//         k - num_filler .. k - 1 are known zeros.
//   soft  [n()] or empty: a-posteriori LLRs of all code bits, punctured ones included, clipped to
//         +-127 (for sum-product: rounded to nearest, times llr_scale, then clipped)
// SIMD, chosen for this processor at run time. Allocates nothing once a thread has decoded a block
// of this size. Thread-safe. A block's result depends on its own LLRs alone.
DecodeResult DecodeOnCpu(const Code& code, const DecodeParameters& parameters, int num_filler,
                         absl::Span<const int8_t> llr, absl::Span<uint8_t> bits,
                         absl::Span<int8_t> soft);

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_H_
