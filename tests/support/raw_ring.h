// A client's side of a ring that writes there what it likes.
#ifndef BASEBAND_TESTS_SUPPORT_RAW_RING_H_
#define BASEBAND_TESTS_SUPPORT_RAW_RING_H_

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/shm/ring.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "tests/support/raw_regions.h"

namespace baseband::testing {

// gRPC's status codes, as they are in a completion.
inline constexpr uint32_t kOk = 0;
inline constexpr uint32_t kCancelled = 1;
inline constexpr uint32_t kInvalidArgument = 3;
inline constexpr uint32_t kDeadlineExceeded = 4;
inline constexpr uint32_t kNotFound = 5;
inline constexpr uint32_t kResourceExhausted = 8;
inline constexpr uint32_t kOutOfRange = 11;
inline constexpr uint32_t kUnavailable = 14;

// A region with a ring at its beginning. What is not tested is right: EXPECT says if it is not.
class RawRing {
 public:
  explicit RawRing(const std::string& path, uint32_t entries = 16, uint64_t bytes = 8 << 20)
      : regions_(path) {
    const RawRegions::Answer granted = regions_.Grant(bytes);
    EXPECT_EQ(granted.code, 0U) << granted.message;
    if (granted.code != 0 || granted.is_over) return;
    region_ = granted.name;
    bytes_ = granted.bytes;
    memory_ = static_cast<uint8_t*>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, granted.fd, 0));
    close(granted.fd);
    ring_ = baseband_ring_at(memory_, entries);
    ring_.header->version = BASEBAND_RING_VERSION;
    ring_.header->entries = entries;
  }
  ~RawRing() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
    if (bell_ >= 0) close(bell_);
  }
  RawRing(const RawRing&) = delete;
  RawRing& operator=(const RawRing&) = delete;

  // Asks for the ring at `offset`, which may be none.
  RawRegions::Answer Ask(uint64_t offset = 0, absl::optional<std::string> region = {}) {
    shm::RegionRequest request;
    request.kind = shm::RegionKind::kRing;
    request.bytes = offset;
    const std::string& name = region.has_value() ? *region : region_;
    std::copy_n(name.begin(), sizeof(request.name), request.name);
    RawRegions::Answer answer = regions_.Ask(request);
    if (answer.fd >= 0) {
      if (bell_ >= 0) close(bell_);
      bell_ = answer.fd;
    }
    return answer;
  }
  void Open() {
    const RawRegions::Answer answer = Ask();
    EXPECT_EQ(answer.code, 0U) << answer.message;
    EXPECT_GE(answer.fd, 0);
  }

  // Past the ring: the first byte that is free, and all from there on.
  uint64_t free_offset() const { return (baseband_ring_bytes(ring_.entries) + 63) / 64 * 64; }
  uint8_t* memory() const { return memory_; }
  uint64_t bytes() const { return bytes_; }
  const std::string& region() const { return region_; }
  RawRegions& regions() { return regions_; }
  const BasebandRing& ring() const { return ring_; }
  int bell() const { return bell_; }
  void Put(uint64_t offset, absl::string_view bytes) {
    std::copy(bytes.begin(), bytes.end(), memory_ + offset);
  }
  std::string Get(uint64_t offset, uint64_t bytes) const {
    EXPECT_LE(offset, bytes_);
    EXPECT_LE(bytes, bytes_ - offset);
    return {reinterpret_cast<const char*>(memory_) + offset, static_cast<size_t>(bytes)};
  }

  void Submit(const BasebandSubmission& submission) {
    if (baseband_ring_submit(&ring_, submitted_++, &submission) != 0) RingTheBell();
  }
  // All of them are there before the server is woken.
  void Submit(absl::Span<const BasebandSubmission> submissions) {
    bool wakes = false;
    for (const BasebandSubmission& submission : submissions) {
      wakes |= baseband_ring_submit(&ring_, submitted_++, &submission) != 0;
    }
    if (wakes) RingTheBell();
  }
  void RingTheBell() const {
    const uint64_t one = 1;
    EXPECT_EQ(write(bell_, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  }

  // The next completion; sleeps until it comes. Nothing: it does not.
  absl::optional<BasebandCompletion> Next(absl::Duration patience = absl::Seconds(60)) {
    const absl::Time give_up = SteadyNow() + patience;
    BasebandCompletion completion;
    while (baseband_ring_next(&ring_, completed_, &completion) == 0) {
      if (SteadyNow() > give_up) return absl::nullopt;
      constexpr timespec kSlice = {0, 100000000};
      if (baseband_ring_client_may_sleep(&ring_, completed_) != 0) {
        syscall(SYS_futex, &ring_.header->client_waits, FUTEX_WAIT, 1, &kSlice, nullptr, 0);
      }
    }
    ++completed_;
    return completion;
  }
  // One request alone, to its end.
  BasebandCompletion Do(const BasebandSubmission& submission) {
    Submit(submission);
    const absl::optional<BasebandCompletion> completion = Next();
    EXPECT_TRUE(completion.has_value());
    return completion.value_or(BasebandCompletion());
  }
  // What a refusal says.
  std::string Text(const BasebandCompletion& completion) const {
    return Get(completion.header_offset, completion.header_bytes);
  }

 private:
  RawRegions regions_;
  std::string region_;
  uint64_t bytes_ = 0;
  uint8_t* memory_ = nullptr;
  BasebandRing ring_{};
  int bell_ = -1;
  uint64_t submitted_ = 0;
  uint64_t completed_ = 0;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_RAW_RING_H_
