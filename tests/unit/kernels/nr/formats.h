// Every modulation order and format of symbols.
#ifndef BASEBAND_TESTS_UNIT_KERNELS_NR_FORMATS_H_
#define BASEBAND_TESTS_UNIT_KERNELS_NR_FORMATS_H_

#include "kernels/nr/modulation.h"

namespace baseband::nr {

inline constexpr int kQms[] = {1, 2, 4, 6, 8, 10};
inline constexpr SymbolFormat kFormats[] = {SymbolFormat::kFloat32, SymbolFormat::kFloat16,
                                            SymbolFormat::kInt16, SymbolFormat::kInt8};

}  // namespace baseband::nr

#endif  // BASEBAND_TESTS_UNIT_KERNELS_NR_FORMATS_H_
