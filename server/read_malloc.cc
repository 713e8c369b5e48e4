#include "server/read_malloc.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/base/config.h"
#include "server/device/read_arena.h"

#if defined(__GLIBC__) && !defined(ABSL_HAVE_ADDRESS_SANITIZER) && \
    !defined(ABSL_HAVE_THREAD_SANITIZER) && !defined(ABSL_HAVE_MEMORY_SANITIZER)

namespace baseband::server {

bool HasReadMalloc() { return true; }

}  // namespace baseband::server

using baseband::server::ReadArena;

extern "C" {

// What the C library's are called, and each of its others ends up in: blocks of calloc,
// aligned_alloc and their like are its own, and are freed and grown by these.
void* __libc_malloc(size_t bytes);
void __libc_free(void* block);
void* __libc_realloc(void* block, size_t bytes);

// The dynamic linker finds these before the C library's.
void* malloc(size_t bytes) noexcept {
  if (ReadArena::IsLarge(bytes) || ReadArena::IsSmall(bytes)) {
    if (ReadArena* const arena = ReadArena::OfProcess(); arena != nullptr) {
      if (void* const block = arena->Allocate(bytes); block != nullptr) return block;
    }
  }
  return __libc_malloc(bytes);
}

void free(void* block) noexcept {
  ReadArena* const arena = ReadArena::Of(block);
  return arena != nullptr ? arena->Free(block) : __libc_free(block);
}

void* realloc(void* block, size_t bytes) noexcept {
  ReadArena* const arena = ReadArena::Of(block);
  if (arena == nullptr) return __libc_realloc(block, bytes);
  void* const other = bytes > 0 ? __libc_malloc(bytes) : nullptr;
  if (other != nullptr) std::memcpy(other, block, std::min(bytes, arena->SizeOf(block)));
  if (other != nullptr || bytes == 0) arena->Free(block);
  return other;
}

size_t malloc_usable_size(void* block) noexcept {
  static const auto next =
      reinterpret_cast<size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  const ReadArena* const arena = ReadArena::Of(block);
  return arena != nullptr ? arena->SizeOf(block) : next(block);
}

}  // extern "C"

#else

namespace baseband::server {

bool HasReadMalloc() { return false; }

}  // namespace baseband::server

#endif
