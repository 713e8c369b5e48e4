// What a thread of the CPU device keeps between code blocks: memory and the plans of recent codes.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_WORKSPACE_CPU_H_
#define BASEBAND_KERNELS_LDPC_DECODE_WORKSPACE_CPU_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"
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
  const DecodePlan& PlanOf(const Code& code);
  // `bytes` of memory aligned for any vector, whose contents are whatever was left there.
  uint8_t* Memory(size_t bytes);

 private:
  static constexpr size_t kAlignment = 128;
  static constexpr size_t kPlans = 32;

  struct Free {
    void operator()(uint8_t* memory) const;
  };

  std::array<DecodePlan, kPlans> plans_;
  std::unique_ptr<uint8_t, Free> memory_;
  size_t memory_bytes_ = 0;
};

// Hands out consecutive arrays of the workspace's memory, each aligned for vectors. With a null
// base it only counts.
class MemoryCutter {
 public:
  explicit MemoryCutter(uint8_t* base) : base_(base) {}
  template <typename T>
  T* Take(size_t count) {
    T* const taken = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + 63) / 64 * 64;
    return taken;
  }
  size_t used() const { return used_; }

 private:
  uint8_t* base_;
  size_t used_ = 0;
};

// One code block, as the engines see it.
struct DecodeTask {
  const DecodePlan* plan = nullptr;
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

// The engines, each compiled for several instruction sets; the best one is chosen at run time.
DecodeResult DecodeMinSum(const DecodeTask& task);
DecodeResult DecodeSumProduct(const DecodeTask& task);

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_WORKSPACE_CPU_H_
