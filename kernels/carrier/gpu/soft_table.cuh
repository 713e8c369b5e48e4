// The soft table of one SNR as a thread block reads it.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_SOFT_TABLE_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_SOFT_TABLE_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

// Larger tables are read where they are, through the first cache: two thread blocks with a table
// each fit on a multiprocessor.
inline constexpr int64_t kMaxSharedTableBytes = 84 << 10;

inline int64_t SoftTableBytes(const ModelView& model) {
  return int64_t{model.side} * model.side * static_cast<int64_t>(sizeof(SoftNode));
}

// kShared: copied into shared memory, once for all frames that follow each other with the same SNR.
template <bool kShared>
class SoftTable {
 public:
  // `memory` is shared, of SoftTableBytes.
  __device__ SoftTable(const ModelView& model, uint4* memory) : model_(model), memory_(memory) {}

  // Makes `table` the one that view() shows. By all threads of the block.
  __device__ void Load(int table) {
    if (table == loaded_) return;
    loaded_ = table;
    facts_ = model_.facts[table];
    const int num_nodes = model_.side * model_.side;
    const SoftNode* const from = model_.soft + static_cast<int64_t>(table) * num_nodes;
    if constexpr (kShared) {
      __syncthreads();  // others may still read the last table
      const auto* const nodes = reinterpret_cast<const uint4*>(from);
      for (int k = static_cast<int>(threadIdx.x); k < num_nodes; k += kTeamThreads) {
        memory_[k] = __ldg(nodes + k);
      }
      __syncthreads();
    } else {
      global_ = from;
    }
  }

  // The model with this table, as table 0. `this` must outlive it.
  __device__ __forceinline__ ModelView view() const {
    ModelView view = model_;
    view.facts = &facts_;
    view.soft = kShared ? reinterpret_cast<const SoftNode*>(memory_) : global_;
    return view;
  }
  __device__ float two_over_noise() const { return 2.0F / facts_.noise; }
  __device__ const SnrFacts& facts() const { return facts_; }

 private:
  const ModelView& model_;
  uint4* memory_;
  const SoftNode* global_ = nullptr;
  SnrFacts facts_;
  int loaded_ = -1;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_SOFT_TABLE_CUH_
