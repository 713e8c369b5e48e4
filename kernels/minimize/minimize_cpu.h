// Pieces on the CPU device.
#ifndef BASEBAND_KERNELS_MINIMIZE_MINIMIZE_CPU_H_
#define BASEBAND_KERNELS_MINIMIZE_MINIMIZE_CPU_H_

#include <cstdint>

#include "kernels/minimize/cpu/workspace_cpu.h"
#include "kernels/minimize/piece.h"

namespace baseband::minimize {

// Evaluates `piece`; `output` receives OutputBytes() and is 8-byte aligned. Allocates nothing once
// `workspace` has seen the functional. Thread-safe for calls with workspaces of their own.
void EvaluatePieceOnCpu(const Problem& problem, const Piece& piece, CpuWorkspace* workspace,
                        uint8_t* output);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_MINIMIZE_CPU_H_
