// What the program sets for the whole process when it starts.
#ifndef BASEBAND_SERVER_PROCESS_PROCESS_TUNING_H_
#define BASEBAND_SERVER_PROCESS_PROCESS_TUNING_H_

namespace baseband::server {

// A connection is a descriptor; the usual 1024 of a shell are few.
void AllowManyDescriptors();

// Abseil as Debian compiles it, without NDEBUG, looks with every absl::Mutex for a deadlock, under
// one lock of the whole process: 0.65 us where two threads take locks of their own, 15 ns without.
// Tests keep it, and learn of locks taken in two orders. Locks are looked at, too, before a thread
// sleeps for one (spinning_lock.h).
void LockWithoutChecks();

// A GPU serves the streams of a process through 8 queues, and kDeviceQueues if it is asked to, but
// as many as the environment says if that does: of two streams in one queue, one waits for the
// other. Before anything of CUDA.
void AskForDeviceQueues();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_PROCESS_TUNING_H_
