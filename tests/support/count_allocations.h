// Replaces the global operator new by one that counts. For one source file of a program.
#ifndef BASEBAND_TESTS_SUPPORT_COUNT_ALLOCATIONS_H_
#define BASEBAND_TESTS_SUPPORT_COUNT_ALLOCATIONS_H_

#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 inlines these deletes alone with -O1, and misses the new that belongs to the free.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace {
int num_allocations = 0;
}  // namespace

void* operator new(size_t bytes) {
  ++num_allocations;
  return std::malloc(bytes);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  ++num_allocations;
  const auto unit = static_cast<size_t>(alignment);
  return std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

#endif  // BASEBAND_TESTS_SUPPORT_COUNT_ALLOCATIONS_H_
