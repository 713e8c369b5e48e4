// Counts what a process allocates and copies, by LD_PRELOAD, in a file that another process maps.
// A module of its own: it takes the place of the C library's functions. What the compiler copies by
// instructions of its own and what the kernel copies at a socket is not seen.
#include "tests/bench/call_counter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

extern "C" {
void* __libc_malloc(size_t bytes);                      // NOLINT
void* __libc_calloc(size_t count, size_t bytes);        // NOLINT
void* __libc_realloc(void* memory, size_t bytes);       // NOLINT
void* __libc_memalign(size_t alignment, size_t bytes);  // NOLINT
}

namespace {

using baseband::bench::CallCounts;

CallCounts* counts = nullptr;

__attribute__((constructor)) void MapCounts() {
  const char* const path = std::getenv(baseband::bench::kCallCounterFile);
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const memory =
      mmap(nullptr, sizeof(CallCounts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) counts = static_cast<CallCounts*>(memory);
}

void CountAllocation(size_t bytes) {
  if (counts == nullptr) return;
  counts->allocations.fetch_add(1, std::memory_order_relaxed);
  counts->allocated_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void CountCopy(size_t bytes) {
  if (counts == nullptr || bytes < baseband::bench::kLeastCopyBytes) return;
  counts->copies.fetch_add(1, std::memory_order_relaxed);
  counts->copied_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

// Instructions, for what is written in C++ here the compiler might make a call of memcpy again.
void CopyUp(void* to, const void* from, size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
void CopyDown(char* to, const char* from, size_t bytes) {
  void* last_to = to + bytes - 1;
  const void* last_from = from + bytes - 1;
  asm volatile("std; rep movsb; cld" : "+D"(last_to), "+S"(last_from), "+c"(bytes) : : "memory");
}
void Move(void* to, const void* from, size_t bytes) {
  CountCopy(bytes);
  auto* const out = static_cast<char*>(to);
  const auto* const in = static_cast<const char*>(from);
  out > in&& out < in + bytes ? CopyDown(out, in, bytes) : CopyUp(to, from, bytes);
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) {
  CountAllocation(bytes);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  CountAllocation(count * bytes);
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  CountAllocation(bytes);
  return __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  CountAllocation(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  CountAllocation(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  CountAllocation(bytes);
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

void* memcpy(void* to, const void* from, size_t bytes) {
  CountCopy(bytes);
  CopyUp(to, from, bytes);
  return to;
}
void* memmove(void* to, const void* from, size_t bytes) {
  Move(to, from, bytes);
  return to;
}
void* __memcpy_chk(void* to, const void* from, size_t bytes, size_t room) {  // NOLINT
  if (bytes > room) std::abort();
  return memcpy(to, from, bytes);
}
void* __memmove_chk(void* to, const void* from, size_t bytes, size_t room) {  // NOLINT
  if (bytes > room) std::abort();
  return memmove(to, from, bytes);
}

}  // extern "C"
