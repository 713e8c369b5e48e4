// Settings of the whole process that make large messages fast. Programs choose them, not libraries.
#ifndef BASEBAND_CLIENT_CPP_PROCESS_TUNING_H_
#define BASEBAND_CLIENT_CPP_PROCESS_TUNING_H_

namespace baseband::client {

// Keeps freed memory of up to about 2 GiB in the process and serves blocks below 32 MiB from it, so
// that megabyte messages stop paying for page faults; this doubled their throughput. Costs some
// resident memory. Call it once, first thing in main(). False, with nothing changed or only the
// first limit changed, when this C library has no such settings.
bool ApplyMallocTuning();

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_PROCESS_TUNING_H_
