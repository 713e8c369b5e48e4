// Systematic encoding of quasi-cyclic LDPC codes, many code blocks of different codes at a time.
//
// Bit order everywhere: bit 0 of a block is the most significant bit of its first byte; a block
// fills whole bytes and its last byte is filled up with zero bits.
//
// Method: the NR encoder on a GPU of the patent in papers/nr-ldpc-encoder, for any code: bits are
// packed 32 to a word, every zc-bit group is extended cyclically so that a circulant is two word
// reads and a funnel shift, the core parity comes in closed form (an EncodePlan), the extension
// rows follow.
#ifndef BASEBAND_KERNELS_LDPC_ENCODE_H_
#define BASEBAND_KERNELS_LDPC_ENCODE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/base/continue_check.h"
#include "kernels/ldpc/code.h"

namespace baseband::ldpc {

struct EncodeProgram;

// How the parity of a code follows from its information, found once per code. With
//   lambda_r = the sum over the systematic blocks of row r of the rotated information groups,
// every parity group is a sum of rotated lambdas and earlier parity groups:
//   parity[step.column] = sum over step.terms of rotate(source, shift),
//   rotate(x, s)[i] = x[(i + s) mod zc].
// For the dual-diagonal matrices of the standards this is the closed form of each shape of the core
// matrix; for a matrix of a client's own the terms are those of the inverse of its parity part.
class EncodePlan {
 public:
  struct Term {
    bool is_parity = false;  // source: parity group `index` (0-based), else lambda of row `index`
    uint16_t index = 0;
    uint16_t shift = 0;
  };
  struct Step {
    uint16_t column = 0;  // parity group, 0 .. rows - 1
    uint16_t level = 0;   // steps of a level need only groups of lower levels
    std::vector<Term> terms;
  };

  // FailedPrecondition if the parity part of `code` is singular over GF(2), or if its inverse needs
  // more than kMaxTerms terms (the message says which).
  static constexpr int kMaxTerms = 65536;
  // What `may_continue` says other than OK ends it, within milliseconds.
  static absl::StatusOr<std::shared_ptr<const EncodePlan>> Create(
      const Code& code, const ContinueCheck& may_continue = nullptr);

  // Ordered by level.
  absl::Span<const Step> steps() const { return steps_; }
  int num_levels() const { return num_levels_; }

  // The same as one sequence of sums, as the CPU runs it (encode_program.h).
  const EncodeProgram& program() const { return *program_; }

  // The same in fewer levels, as the kernels read it: one relocatable blob of 32-bit words, made
  // once (layout in encode_math.h). Copied to the device beside the blocks that use it.
  absl::Span<const uint32_t> table() const { return table_; }

  // Of memory, about.
  int64_t bytes() const;

 private:
  std::vector<Step> steps_;
  int num_levels_ = 0;
  std::shared_ptr<const EncodeProgram> program_;
  std::vector<uint32_t> table_;
};

// One code block of a launch. Offsets are in bytes.
struct alignas(16) EncodeBlock {
  // Its information as the device addresses it: the device's own memory, or page-locked memory of
  // the host. Any alignment; readable from the multiple of 4 before it on (it is read in whole
  // words) and up to 16 bytes past its end.
  const uint8_t* info = nullptr;
  uint32_t table_offset = 0;   // of its code's table in `tables`; a multiple of 16
  uint32_t parity_offset = 0;  // of its parity in `parity`; a multiple of 4
  uint32_t info_bits = 0;      // 1 .. k; bits info_bits .. k - 1 are fillers and count as zero
};

// Encodes one block on the calling thread. `info` holds ceil(info_bits / 8) bytes or more (bits
// past info_bits are ignored), `parity` receives ceil(parity_bits / 8) bytes. SIMD, chosen for this
// processor at run time. Allocates nothing after a thread's first call. Thread-safe.
// The code must have a plan.
void EncodeOnCpu(const Code& code, absl::Span<const uint8_t> info, int info_bits,
                 absl::Span<uint8_t> parity);

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_ENCODE_H_
