// The slow, obvious version of TS 38.211: scrambling bit by bit, constellations as the clauses
// write them, LLRs by sums over all points, in double precision. The oracle of the tests.
#ifndef BASEBAND_KERNELS_NR_SYMBOLS_REFERENCE_H_
#define BASEBAND_KERNELS_NR_SYMBOLS_REFERENCE_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/nr/demap.h"

namespace baseband::nr::reference {

// c(0) .. c(count - 1) of clause 5.2.1, one bit a byte.
std::vector<uint8_t> GoldSequence(uint32_t c_init, int64_t count);

// The symbol of qm bits (one a byte) at place `index` of a code word, clause 5.1.
std::complex<double> SymbolOf(int qm, const uint8_t* bits, int64_t index);

// All symbols of bits.size() / qm of them.
std::vector<std::complex<double>> Modulate(int qm, const std::vector<uint8_t>& bits);

// The natural LLRs of the qm bits of `y`, at place `index`, with noise variance n0.
std::vector<double> NaturalLlrs(int qm, std::complex<double> y, double n0, int64_t index,
                                bool log_sum);

// DemapOnCpu by the functions of demap_math.h that all devices share, symbol by symbol.
int64_t Demap(const DemapParameters& parameters, const uint8_t* symbols, const uint8_t* noise,
              int64_t first, int64_t count, int8_t* llr);

}  // namespace baseband::nr::reference

#endif  // BASEBAND_KERNELS_NR_SYMBOLS_REFERENCE_H_
