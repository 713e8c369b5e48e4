// Modulation mapping, TS 38.211 clause 5.1: pi/2-BPSK, QPSK, 16QAM, 64QAM, 256QAM and 1024QAM, and
// layer mapping of one code word, clause 7.3.1.3.
#ifndef BASEBAND_KERNELS_NR_MODULATION_H_
#define BASEBAND_KERNELS_NR_MODULATION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/nr/symbols.h"

namespace baseband::nr {

// Maps bits to symbols [first, first + count) of a code word.
//   qm       bits a symbol: 1, 2, 4, 6, 8 or 10
//   bits     packed; those of symbol `first` are bits begin, begin + 1, .., scrambled as they are
//            sent
//   symbols  the buffer of the whole code word, of any alignment: only symbols of the range are
//            written, each where `layout` says. A value is layout.scale times the constellation's,
//            which is correct to one part in 2^23, and rounded (ties to even) to the format; what
//            an integer cannot hold is the nearest that it can.
//
// The same bits on every processor and device. Tables, whose making costs as much as some hundred
// symbols. Allocates nothing. Thread-safe.
void ModulateOnCpu(int qm, absl::Span<const uint8_t> bits, int64_t begin, int64_t first,
                   int64_t count, const SymbolLayout& layout, absl::Span<uint8_t> symbols);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_MODULATION_H_
