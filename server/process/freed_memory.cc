#include "server/process/freed_memory.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>

#include "absl/base/const_init.h"
#include "absl/synchronization/mutex.h"

namespace baseband::server {
namespace {

constexpr int kMapped = 32 << 20;  // blocks so large are not of arenas; glibc takes no more
constexpr int kKeep = 2047 << 20;

std::atomic<uint32_t> wanted{0};
thread_local uint32_t given = 0;

}  // namespace

void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, kMapped);
  mallopt(M_TRIM_THRESHOLD, kKeep);
}

int64_t FreedBytes() { return static_cast<int64_t>(mallinfo2().fordblks); }

void GiveBackFreed() {
  wanted.fetch_add(1, std::memory_order_relaxed);
  malloc_trim(0);
}

void GiveBackOwnIfWanted() {
  const uint32_t now = wanted.load(std::memory_order_relaxed);
  if (now == given) return;
  given = now;
  // As the arena's end is freed, and only then, glibc gives back what is beyond the limit. Blocks
  // of half of a heap are had from the end, whose pages nobody touches; one at most lies elsewhere.
  static absl::Mutex mutex(absl::kConstInit);  // the limit is everybody's
  absl::MutexLock lock(&mutex);
  mallopt(M_TRIM_THRESHOLD, 0);
  void* volatile first = std::malloc(kMapped - (1 << 20));
  void* volatile second = std::malloc(kMapped - (1 << 20));
  std::free(second);
  std::free(first);
  mallopt(M_TRIM_THRESHOLD, kKeep);
}

}  // namespace baseband::server
