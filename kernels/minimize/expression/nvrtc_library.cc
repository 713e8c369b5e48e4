#include "kernels/minimize/expression/nvrtc_library.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/dynamic_library.h"
#include "kernels/base/status_macros.h"

namespace baseband::minimize {
namespace {

constexpr char kNoun[] = "NVRTC";

// Names by which NVRTC of CUDA 13, 12 and 11 is found, the first being the one that links name.
constexpr const char* kLibraryNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                         "/usr/local/cuda/lib64/libnvrtc.so"};

// What is used of NVRTC, as its documentation has it (0 is success). It has been so since
// CUDA 11.1.
using NvrtcProgram = void*;
struct NvrtcFunctions {
  int (*create)(NvrtcProgram*, const char* source, const char* name, int num_headers,
                const char* const* headers, const char* const* header_names) = nullptr;
  int (*destroy)(NvrtcProgram*) = nullptr;
  int (*compile)(NvrtcProgram, int num_options, const char* const* options) = nullptr;
  int (*get_log_size)(NvrtcProgram, size_t*) = nullptr;
  int (*get_log)(NvrtcProgram, char*) = nullptr;
  int (*get_cubin_size)(NvrtcProgram, size_t*) = nullptr;
  int (*get_cubin)(NvrtcProgram, char*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
};

// NVRTC opens libnvrtc-builtins by its bare name when it first compiles. Where the toolkit is not
// on the loader's path, which is what the last of kLibraryNames is for, it would not find it;
// loaded from the folder of NVRTC before, it does. If it is not there either, NVRTC will say so.
void LoadBuiltins(void* library) {
  void* const symbol = dlsym(library, "nvrtcVersion");
  Dl_info info;
  if (symbol == nullptr || dladdr(symbol, &info) == 0) return;
  int major = 0;
  int minor = 0;
  if (reinterpret_cast<int (*)(int*, int*)>(symbol)(&major, &minor) != 0) return;
  const std::string path = info.dli_fname;
  const size_t folder = path.rfind('/');
  if (folder == std::string::npos) return;
  const std::string builtins =
      absl::StrCat(path.substr(0, folder), "/libnvrtc-builtins.so.", major, ".", minor);
  (void)dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
}

absl::StatusOr<NvrtcFunctions> Load() {
  BASEBAND_ASSIGN_OR_RETURN(void* const library, LoadLibrary(kNoun, kLibraryNames));
  LoadBuiltins(library);
  NvrtcFunctions found;
  BASEBAND_RETURN_IF_ERROR(
      baseband::FindFunction(library, kNoun, "nvrtcCreateProgram", &found.create));
  BASEBAND_RETURN_IF_ERROR(
      baseband::FindFunction(library, kNoun, "nvrtcDestroyProgram", &found.destroy));
  BASEBAND_RETURN_IF_ERROR(
      baseband::FindFunction(library, kNoun, "nvrtcCompileProgram", &found.compile));
  BASEBAND_RETURN_IF_ERROR(
      baseband::FindFunction(library, kNoun, "nvrtcGetProgramLogSize", &found.get_log_size));
  BASEBAND_RETURN_IF_ERROR(
      baseband::FindFunction(library, kNoun, "nvrtcGetProgramLog", &found.get_log));
  BASEBAND_RETURN_IF_ERROR(
      baseband::FindFunction(library, kNoun, "nvrtcGetCUBINSize", &found.get_cubin_size));
  BASEBAND_RETURN_IF_ERROR(
      baseband::FindFunction(library, kNoun, "nvrtcGetCUBIN", &found.get_cubin));
  BASEBAND_RETURN_IF_ERROR(
      baseband::FindFunction(library, kNoun, "nvrtcGetErrorString", &found.get_error_string));
  return found;
}

// Loaded once a process and never unloaded.
const absl::StatusOr<NvrtcFunctions>& Nvrtc() {
  static const auto* const functions = new absl::StatusOr<NvrtcFunctions>(Load());
  return *functions;
}

std::string LogOf(const NvrtcFunctions& nvrtc, NvrtcProgram program) {
  size_t size = 0;
  if (nvrtc.get_log_size(program, &size) != 0 || size == 0) return "";
  std::string log(size, '\0');
  if (nvrtc.get_log(program, log.data()) != 0) return "";
  log.pop_back();  // its terminating zero
  return log;
}

}  // namespace

absl::Status NvrtcStatus() { return Nvrtc().status(); }

absl::StatusOr<std::string> CompileCuda(const std::string& source, int compute_capability) {
  BASEBAND_ASSIGN_OR_RETURN(const NvrtcFunctions nvrtc, Nvrtc());
  const auto to_status = [&nvrtc](int error, const char* call) {
    if (error == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(call, ": ", nvrtc.get_error_string(error)));
  };
  NvrtcProgram program = nullptr;
  BASEBAND_RETURN_IF_ERROR(
      to_status(nvrtc.create(&program, source.c_str(), "expression.cu", 0, nullptr, nullptr),
                "nvrtcCreateProgram"));
  const absl::Cleanup destroy = [&] { nvrtc.destroy(&program); };
  const std::string architecture = absl::StrCat("--gpu-architecture=sm_", compute_capability);
  const std::array<const char*, 6> options = {architecture.c_str(), "--std=c++17",
                                              "--fmad=false",       "--ftz=false",
                                              "--prec-div=true",    "--prec-sqrt=true"};
  const absl::Status compiled =
      to_status(nvrtc.compile(program, static_cast<int>(options.size()), options.data()),
                "nvrtcCompileProgram");
  if (!compiled.ok()) {
    return absl::InternalError(absl::StrCat(compiled.message(), "\n", LogOf(nvrtc, program)));
  }
  size_t size = 0;
  BASEBAND_RETURN_IF_ERROR(to_status(nvrtc.get_cubin_size(program, &size), "nvrtcGetCUBINSize"));
  std::string cubin(size, '\0');
  BASEBAND_RETURN_IF_ERROR(to_status(nvrtc.get_cubin(program, cubin.data()), "nvrtcGetCUBIN"));
  return cubin;
}

}  // namespace baseband::minimize
