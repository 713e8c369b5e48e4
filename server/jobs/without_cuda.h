// What takes the place of a GPU's side in a CPU-only build.
#ifndef BASEBAND_SERVER_JOBS_WITHOUT_CUDA_H_
#define BASEBAND_SERVER_JOBS_WITHOUT_CUDA_H_

#include "absl/status/status.h"

namespace baseband::server {

inline absl::Status NotBuilt() { return absl::UnimplementedError("this build has no CUDA device"); }

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_WITHOUT_CUDA_H_
