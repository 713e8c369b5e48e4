// Expressions on a GPU: their code by NVRTC, and its launch.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"
#include "kernels/minimize/expression/compile_cache.h"
#include "kernels/minimize/expression/cuda_source.h"
#include "kernels/minimize/expression/cuda_texts.h"
#include "kernels/minimize/expression/nvrtc_library.h"
#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/gpu/gpu_launch.h"
#include "kernels/minimize/gpu/gpu_program.h"
#include "kernels/minimize/gpu/search_kernel.cuh"

namespace baseband::minimize {
namespace {

// The kernel's second argument; kArguments is the same for NVRTC.
struct ExpressionArguments {
  const void* scalars;
  const void* arrays[kMaxArrays];
};
constexpr char kArguments[] =
    "struct ExpressionArguments { const Real* scalars; const Real* arrays[16]; };\n";
static_assert(kMaxArrays == 16, "kArguments says so");

constexpr char kFunctor[] = R"cuda(
namespace baseband {
namespace minimize {
struct ExpressionFunctor {
  using Real = ::Real;
  static constexpr int kAxes = BASEBAND_AXES;
  static constexpr int kPoints = BASEBAND_IS_CHEAP ? kSearchCheapPoints / kAxes : 1;
  const ExpressionArguments& arguments;
  __device__ __forceinline__ void operator()(const SearchPoint<kAxes>* points, Real* values) const {
#pragma unroll
    for (int u = 0; u < kPoints; ++u) {
      Real x[kAxes];
      for (int k = 0; k < kAxes; ++k) x[k] = static_cast<Real>(points[u].x[k]);
      values[u] = Evaluate(x, arguments.scalars, arguments.arrays);
    }
  }
};
}  // namespace minimize
}  // namespace baseband

extern "C" __global__ void __launch_bounds__(128)
MinimizeExpression(const __grid_constant__ baseband::minimize::SearchTask task,
                   const __grid_constant__ ExpressionArguments arguments) {
  baseband::minimize::SearchBlock(task, baseband::minimize::ExpressionFunctor{arguments});
}
)cuda";

// Several points at a time of what costs no more: NVRTC's time grows with them.
constexpr double kMaxCheapOperations = 200.0;

constexpr size_t kMaxPrograms = 256;
CompileCache<GpuProgram>& Cache() {
  static auto* const cache = new CompileCache<GpuProgram>(kMaxPrograms);
  return *cache;
}

const ExpressionFunctional& Of(const Problem& problem) {
  return static_cast<const ExpressionFunctional&>(problem.functional());
}

absl::StatusOr<CompileKey> KeyOf(const Problem& problem) {
  CompileKey key;
  key.expression = Of(problem).shared_expression();
  key.precision = problem.settings().precision;
  int device = 0;
  int major = 0;
  int minor = 0;
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetDevice(&device), "cudaGetDevice"));
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                     "cudaDeviceGetAttribute"));
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
                     "cudaDeviceGetAttribute"));
  key.architecture = 10 * major + minor;
  return key;
}

absl::StatusOr<GpuProgramPtr> Compile(const CompileKey& key) {
  BASEBAND_ASSIGN_OR_RETURN(
      const std::string code,
      CompileCuda(ExpressionSource(*key.expression, key.precision), key.architecture));
  cudaLibrary_t library = nullptr;
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
      cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "cudaLibraryLoadData"));
  cudaKernel_t kernel = nullptr;
  const cudaError_t error = cudaLibraryGetKernel(&kernel, library, kExpressionKernel);
  auto program = std::make_shared<const GpuProgram>(library, kernel);
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(error, "cudaLibraryGetKernel"));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(kernel));
  return program;
}

int64_t Aligned(int64_t bytes) { return (bytes + 15) / 16 * 16; }

// The image: scalars, then arrays, each on a boundary of 16 bytes. Calls visit(offset, values).
template <typename T, typename Visit>
int64_t VisitImage(const ExpressionFunctional& functional, Visit visit) {
  int64_t offset = 0;
  const auto take = [&](const std::vector<T>& values) {
    visit(offset, values);
    offset += Aligned(static_cast<int64_t>(values.size() * sizeof(T)));
  };
  take(functional.Scalars<T>());
  for (const std::vector<T>& array : functional.Arrays<T>()) take(array);
  return offset;
}

template <typename T>
int64_t BytesAs(const Problem& problem) {
  return VisitImage<T>(Of(problem), [](int64_t, const std::vector<T>&) {});
}

template <typename T>
void WriteAs(const Problem& problem, uint8_t* image) {
  VisitImage<T>(Of(problem), [image](int64_t offset, const std::vector<T>& values) {
    std::copy(values.begin(), values.end(), reinterpret_cast<T*>(image + offset));
  });
}

template <typename T>
ExpressionArguments ArgumentsAs(const Problem& problem, const uint8_t* image) {
  ExpressionArguments arguments{};
  int next = -1;
  VisitImage<T>(Of(problem), [&](int64_t offset, const std::vector<T>&) {
    (next < 0 ? arguments.scalars : arguments.arrays[next]) = image + offset;
    ++next;
  });
  return arguments;
}

bool IsFloat(const Problem& problem) { return problem.settings().precision == Precision::kFloat32; }

}  // namespace

std::string ExpressionSource(const Expression& expression, Precision precision) {
  return absl::StrCat(
      "typedef ", precision == Precision::kFloat32 ? "float" : "double",
      " Real;\n#define BASEBAND_AXES ", expression.num_variables(), "\n#define BASEBAND_IS_CHEAP ",
      expression.cost() <= kMaxCheapOperations ? "true" : "false", "\n", kFunctionsText,
      kSearchKernelText, CudaFunction(expression, precision), kArguments, kFunctor);
}

absl::StatusOr<GpuProgramPtr> CompiledExpression(const Problem& problem, bool* compiled) {
  BASEBAND_ASSIGN_OR_RETURN(const CompileKey key, KeyOf(problem));
  return Cache().Get(
      key, [&key] { return Compile(key); }, compiled);
}

GpuProgramPtr FindExpression(const Problem& problem) {
  const absl::StatusOr<CompileKey> key = KeyOf(problem);
  return key.ok() ? Cache().Find(*key) : nullptr;
}

int64_t ExpressionImageBytes(const Problem& problem) {
  return IsFloat(problem) ? BytesAs<float>(problem) : BytesAs<double>(problem);
}

void WriteExpressionImage(const Problem& problem, uint8_t* image) {
  IsFloat(problem) ? WriteAs<float>(problem, image) : WriteAs<double>(problem, image);
}

absl::Status LaunchExpression(const PieceLaunch& launch, const SearchTask& task, int64_t num_blocks,
                              cudaStream_t stream) {
  SearchTask search = task;
  ExpressionArguments arguments = IsFloat(*launch.problem)
                                      ? ArgumentsAs<float>(*launch.problem, launch.image)
                                      : ArgumentsAs<double>(*launch.problem, launch.image);
  void* parameters[] = {&search, &arguments};
  return cuda::ToStatus(cudaLaunchKernel(reinterpret_cast<const void*>(launch.program->kernel()),
                                         dim3(static_cast<unsigned>(num_blocks)),
                                         dim3(kSearchThreads), parameters, 0, stream),
                        "cudaLaunchKernel");
}

}  // namespace baseband::minimize
