// What a thread of the CPU device keeps between code blocks: memory and the plans of recent codes.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_WORKSPACE_CPU_H_
#define BASEBAND_KERNELS_LDPC_DECODE_WORKSPACE_CPU_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "kernels/base/growing_memory.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/decode_plan_cpu.h"

namespace baseband::ldpc {

// Not thread-safe: one a thread.
class DecodeWorkspace {
 public:
  static DecodeWorkspace& OfThisThread();

  // The plan of `code`, valid until the next call. Made anew only if other codes have pushed it
  // out.
  DecodePlan& PlanOf(const Code& code);
  // As GrowingMemory::AtLeast.
  uint8_t* Memory(size_t bytes) { return memory_.AtLeast(bytes); }

 private:
  static constexpr size_t kPlans = 32;

  std::array<DecodePlan, kPlans> plans_;
  GrowingMemory memory_;
};

// The arrays of a workspace, each on a line of the cache of its own.
using MemoryCutter = baseband::MemoryCutter<64>;

// One code block, as the engines see it.
struct DecodeTask {
  DecodePlan* plan = nullptr;
  const DecodeParameters* parameters = nullptr;
  Engine engine;                // not for sum-product
  const int8_t* llr = nullptr;  // [n], of all code bits; readable kLlrPadding bytes further
  int first_filler = 0;         // code bits first_filler .. end_filler - 1 are known zeros
  int end_filler = 0;
  int num_bits = 0;          // information bits wanted
  absl::Span<uint8_t> bits;  // [ceil(num_bits / 8)]
  absl::Span<int8_t> soft;   // [n] or empty
};
inline constexpr size_t kLlrPadding = 128;

// Whether a block stops without its parity checks: by the CRC of task.bits, which are decided.
bool StopsByCrc(const DecodeTask& task);
// Whether they are worth being decided for that after an iteration that is not the last.
inline bool LooksAtCrc(const DecodeTask& task) {
  return task.parameters->early_termination && task.parameters->stop_crc.has_value();
}

// The engines, each compiled for several instruction sets; the best one is chosen at run time.
DecodeResult DecodeMinSum(const DecodeTask& task);
DecodeResult DecodeSumProduct(const DecodeTask& task);

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_WORKSPACE_CPU_H_
