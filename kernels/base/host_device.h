// Functions that host compilers and nvcc both compile.
#ifndef BASEBAND_KERNELS_BASE_HOST_DEVICE_H_
#define BASEBAND_KERNELS_BASE_HOST_DEVICE_H_

#ifdef __CUDACC__
#define BASEBAND_HOST_DEVICE __host__ __device__
#define BASEBAND_HOST_DEVICE_INLINE __host__ __device__ __forceinline__
#else
#define BASEBAND_HOST_DEVICE
#define BASEBAND_HOST_DEVICE_INLINE inline
#endif

#endif  // BASEBAND_KERNELS_BASE_HOST_DEVICE_H_
