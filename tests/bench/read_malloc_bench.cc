// The program's malloc of read buffers against the C library's, set as basebandd sets it.
//
//   read_malloc_bench [--seconds=0.3]
//
// Threads take 64 KiB, or 8 KiB, and a header; each keeps 32 blocks, frees the oldest itself or,
// as a server does, lets its neighbour free it. Nanoseconds of a thread for a malloc with its free:
// of the arena's, of a full arena, of the C library's.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "server/device/read_arena.h"
#include "server/process/freed_memory.h"
#include "server/read_malloc.h"
#include "tests/bench/must.h"

namespace baseband::bench {
namespace {

using server::ReadArena;

constexpr int64_t kArenaBytes = int64_t{512} << 20;

double NsOf(int num_threads, size_t bytes, bool hands_over, double seconds) {
  constexpr size_t kKept = 32;
  std::vector<std::array<std::atomic<void*>, kKept>> kept(static_cast<size_t>(num_threads));
  std::atomic<bool> ended{false};
  std::atomic<int64_t> count{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kept.size(); ++t) {
    threads.emplace_back([&, t] {
      auto& mine = kept[t];
      auto& freed = kept[hands_over ? (t + 1) % kept.size() : t];
      int64_t n = 0;
      for (; !ended.load(std::memory_order_relaxed); ++n) {
        void* const block = std::malloc(bytes);
        *static_cast<volatile uint8_t*>(block) = 1;
        const size_t at = static_cast<size_t>(n) % kKept;
        std::free(freed[at].exchange(nullptr));
        std::free(mine[at].exchange(block));
      }
      count += n;
    });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  ended = true;
  for (std::thread& thread : threads) thread.join();
  for (auto& blocks : kept) {
    for (auto& block : blocks) std::free(block.load());
  }
  return 1e9 * seconds * num_threads / static_cast<double>(count);
}

void Run(double seconds) {
  server::KeepFreedMemory();
  auto* const memory = static_cast<uint8_t*>(std::aligned_alloc(2 << 20, kArenaBytes));
  std::fill_n(memory, kArenaBytes, uint8_t{0});
  ReadArena arena({memory, kArenaBytes, /*is_page_locked=*/false});
  std::printf("%7s %8s %-10s %10s %10s %10s\n", "threads", "bytes", "freed by", "arena", "full",
              "libc");
  for (const int threads : {1, 4, 16}) {
    for (const size_t bytes : {(size_t{64} << 10) + 40, (size_t{8} << 10) + 40}) {
      for (const bool hands_over : {false, true}) {
        ReadArena::SetOfProcess(&arena);
        const double of_arena = NsOf(threads, bytes, hands_over, seconds);
        std::vector<void*> all;
        while (void* const block = arena.Allocate(bytes)) all.push_back(block);
        const double of_full = NsOf(threads, bytes, hands_over, seconds);
        for (void* const block : all) arena.Free(block);
        ReadArena::SetOfProcess(nullptr);
        const double of_libc = NsOf(threads, bytes, hands_over, seconds);
        std::printf("%7d %8zu %-10s %10.0f %10.0f %10.0f\n", threads, bytes,
                    hands_over ? "another" : "itself", of_arena, of_full, of_libc);
      }
    }
  }
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  using baseband::bench::Fail;
  if (!baseband::server::HasReadMalloc()) Fail("a sanitizer has the malloc");
  double seconds = 0.3;
  for (int i = 1; i < argc; ++i) {
    absl::string_view text = argv[i];
    if (!(absl::ConsumePrefix(&text, "--seconds=") && absl::SimpleAtod(text, &seconds))) {
      Fail(std::string("unknown argument ") + argv[i] + "; see the head of read_malloc_bench.cc");
    }
  }
  baseband::bench::Run(seconds);
  return 0;
}
