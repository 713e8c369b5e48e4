// The program's own malloc and free: what gRPC reads into comes of a ReadArena, all else of the C
// library. Of the program, not of its libraries: whoever links those has the malloc of his choice.
//
// Neither gRPC nor its public headers let anybody say where slices come from. The allocators that
// do (jemalloc's extent hooks) would serve everything else, too, and KeepFreedMemory and
// GiveBackFreed would have to be had from them.
#ifndef BASEBAND_SERVER_READ_MALLOC_H_
#define BASEBAND_SERVER_READ_MALLOC_H_

namespace baseband::server {

// Whether that is so: not where a sanitizer has a malloc of its own, nor without glibc. Blocks come
// of ReadArena::OfProcess; until there is one, and where it has none to give, of the C library.
bool HasReadMalloc();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_READ_MALLOC_H_
