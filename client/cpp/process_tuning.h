// Settings of the whole process, which programs choose, not libraries.
#ifndef BASEBAND_CLIENT_CPP_PROCESS_TUNING_H_
#define BASEBAND_CLIENT_CPP_PROCESS_TUNING_H_

#include "client/cpp/visibility.h"

namespace baseband::client {

// Keeps freed memory of up to about 2 GiB in the process and serves blocks below 32 MiB from it, so
// that megabyte messages stop paying for page faults; this doubled their throughput. Costs some
// resident memory. Call it once, first thing in main(). False, with nothing changed or only the
// first limit changed, when this C library has no such settings.
BASEBAND_PUBLIC bool ApplyMallocTuning();

// Abseil as Debian and Ubuntu compile it looks with every lock for a deadlock, under one lock of
// the whole process, in this library and in gRPC too. From now on it does not. Once, first thing in
// main().
BASEBAND_PUBLIC void LockWithoutChecks();

// Keeps gRPC's own lines off standard error, unless the environment variable GRPC_VERBOSITY asks
// for them: what a caller needs to know is in the statuses. Once, before anything of gRPC.
BASEBAND_PUBLIC void QuietGrpcLog();

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_PROCESS_TUNING_H_
