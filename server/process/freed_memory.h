// What glibc's malloc keeps of freed memory, and how it goes back to the system.
//
// Large messages come and go. glibc maps each, faults it in page by page and unmaps it again, which
// halves the throughput (DESIGN), unless it is told to keep what is freed: then malloc_trim() gives
// back all but what is free at the end of the arenas that threads have of their own. Each may be
// up to 64 MiB, there are eight for each core, and a server that refuses work for want of memory
// frees nothing that would ever change that. So threads that receive messages look now and then
// whether the ends of theirs are wanted back.
#ifndef BASEBAND_SERVER_PROCESS_FREED_MEMORY_H_
#define BASEBAND_SERVER_PROCESS_FREED_MEMORY_H_

#include <cstdint>

namespace baseband::server {

// First thing in the process.
void KeepFreedMemory();

// What malloc has kept. It goes on counting what it gave back from the midst of its arenas.
int64_t FreedBytes();

// Gives back what is free, but for the ends of threads' arenas: those go as each such thread calls
// GiveBackOwnIfWanted.
void GiveBackFreed();
// Gives back the end of this thread's arena if GiveBackFreed was called since it last did; a few
// nanoseconds if not. Meanwhile what others free at their ends goes back as well.
void GiveBackOwnIfWanted();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_FREED_MEMORY_H_
