// How many streams of a GPU run beside each other. No CUDA.
#ifndef BASEBAND_SERVER_DEVICE_DEVICE_QUEUES_H_
#define BASEBAND_SERVER_DEVICE_DEVICE_QUEUES_H_

namespace baseband::server {

// The queues through which a GPU serves the streams of a process that asks for as many as there
// may be (AskForDeviceQueues): for those of all lanes, and of resident kernels, one each. What
// shares one with a kernel that stays waits until that leaves.
inline constexpr int kDeviceQueues = 32;

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_DEVICE_QUEUES_H_
