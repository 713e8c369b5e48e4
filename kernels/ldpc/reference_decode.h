// The decoders of decode.h as its text says them: one bit, one check and one message at a time.
// Slow; only tests and benches link it. Shares nothing with the fast versions but Code.
#ifndef BASEBAND_KERNELS_LDPC_REFERENCE_DECODE_H_
#define BASEBAND_KERNELS_LDPC_REFERENCE_DECODE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"

namespace baseband::ldpc::reference {

struct Decoded {
  std::vector<uint8_t> bits;  // as DecodeOnCpu's `bits`
  std::vector<int8_t> soft;   // as DecodeOnCpu's `soft`, always
  std::vector<double> app;    // [n] a-posteriori values, unclipped, in the decoder's own unit
  DecodeResult result;
};

// Same arguments and meaning as DecodeOnCpu. The integer engine computes in int, sum-product in
// double.
Decoded Decode(const Code& code, const DecodeParameters& parameters, int num_filler,
               absl::Span<const int8_t> llr);

// Layered min-sum in double, without quantisation or limits: what the integer engine is measured
// against. Messages have the magnitude max(0, factor * minimum - offset) of their check's weight,
// the offset in units of 1 / llr_scale. `llr` [n] are natural LLRs of all code bits, in double.
// Stops when the checks hold if `early_termination`. Returns hard decisions, [n], one byte a bit.
std::vector<uint8_t> DecodeFloatMinSum(const Code& code, const Scaling& scaling, double llr_scale,
                                       int max_iterations, bool early_termination,
                                       absl::Span<const double> llr);

}  // namespace baseband::ldpc::reference

#endif  // BASEBAND_KERNELS_LDPC_REFERENCE_DECODE_H_
