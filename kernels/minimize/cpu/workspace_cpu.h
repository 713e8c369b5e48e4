// What a thread of the CPU device keeps between pieces.
#ifndef BASEBAND_KERNELS_MINIMIZE_CPU_WORKSPACE_CPU_H_
#define BASEBAND_KERNELS_MINIMIZE_CPU_WORKSPACE_CPU_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "kernels/minimize/functional.h"

namespace baseband::minimize {

// Not thread-safe: one a thread.
class CpuWorkspace {
 public:
  static CpuWorkspace& OfThisThread();

  // Before the first run of a piece: what functionals kept between runs is forgotten.
  void BeginPiece() { row_ = cell_ = kNone; }

  // [kMaxRun + kVectorPadding], aligned for vectors: values, and the coordinates of an axis.
  template <typename T>
  T* Values() {
    return Array<T>(0);
  }
  template <typename T>
  T* Coordinates(int axis) {
    return Array<T>(1 + static_cast<size_t>(axis));
  }
  // Memory of the functional at work, aligned; its contents stay until more is asked for, or
  // another functional works here.
  double* Scratch(size_t count);

  // What functionals keep from one piece to the next, by a number of their own; null if it is not
  // there any more. The last kMaxKept are kept.
  void* Kept(uint64_t number) const;
  void Keep(uint64_t number, std::shared_ptr<void> what);

  // Which row's signals and which cell's polynomials are in the scratch memory.
  static constexpr int64_t kNone = -1;
  int64_t row() const { return row_; }
  void set_row(int64_t row) { row_ = row; }
  int64_t cell() const { return cell_; }
  void set_cell(int64_t cell) { cell_ = cell; }

 private:
  static constexpr size_t kAlignment = 128;
  static constexpr size_t kArrayBytes = (kMaxRun + kVectorPadding) * sizeof(double);
  struct Free {
    void operator()(uint8_t* memory) const {
      ::operator delete (memory, std::align_val_t{kAlignment});
    }
  };
  using Memory = std::unique_ptr<uint8_t, Free>;
  static Memory Allocate(size_t bytes);

  template <typename T>
  T* Array(size_t i) {
    if (arrays_ == nullptr) arrays_ = Allocate((1 + kMaxAxes) * kArrayBytes);
    return reinterpret_cast<T*>(arrays_.get() + i * kArrayBytes);
  }

  struct KeptThing {
    uint64_t number = 0;  // 0: none
    std::shared_ptr<void> what;
  };
  static constexpr size_t kMaxKept = 8;

  std::array<KeptThing, kMaxKept> kept_;
  size_t next_kept_ = 0;
  Memory arrays_;
  Memory scratch_;
  size_t scratch_doubles_ = 0;
  int64_t row_ = kNone;
  int64_t cell_ = kNone;
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_CPU_WORKSPACE_CPU_H_
