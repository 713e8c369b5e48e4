// What LaunchPiece launches. Internal to minimize/, CUDA builds only.
#ifndef BASEBAND_KERNELS_MINIMIZE_GPU_GPU_PROGRAM_H_
#define BASEBAND_KERNELS_MINIMIZE_GPU_GPU_PROGRAM_H_

#include <cuda_runtime_api.h>

namespace baseband::minimize {

// Owns the library that a compiled expression was loaded into; built-in functionals have none. No
// launch may be on its way when it is destroyed.
class GpuProgram {
 public:
  GpuProgram() = default;
  GpuProgram(cudaLibrary_t library, cudaKernel_t kernel) : library_(library), kernel_(kernel) {}
  GpuProgram(const GpuProgram&) = delete;
  GpuProgram& operator=(const GpuProgram&) = delete;
  ~GpuProgram() {
    if (library_ != nullptr) (void)cudaLibraryUnload(library_);
  }
  cudaKernel_t kernel() const { return kernel_; }

 private:
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_GPU_GPU_PROGRAM_H_
