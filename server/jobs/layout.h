// How the payloads of a batch lie on a lane. Host code only: no CUDA.
#ifndef BASEBAND_SERVER_JOBS_LAYOUT_H_
#define BASEBAND_SERVER_JOBS_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/jobs/job.h"

namespace baseband::server {

inline constexpr int64_t kLaneAlignment = HostPool::kAlignment;

constexpr int64_t AlignUp(int64_t size, int64_t alignment = kLaneAlignment) {
  return (size + alignment - 1) / alignment * alignment;
}

// One copy between host and device.
struct CopyRun {
  uint8_t* host = nullptr;
  int64_t device_offset = 0;
  int64_t bytes = 0;
};

int64_t CountBlocks(absl::Span<const JobPtr> jobs);

// Joins runs that lie side by side, in the given order, on both sides.
std::vector<CopyRun> JoinAdjacent(std::vector<CopyRun> runs);

// Where each job's payload goes in a lane's input memory, and the fewest copies that bring its
// pieces there: 256 small copies cost 600 us, one copy of the same bytes 12 us (DESIGN). Pieces
// that are neighbours in a region share a copy, with the small gaps between them while `capacity`
// lasts, and while no job has more than one: those of one job follow each other without a gap.
class InputLayout {
 public:
  InputLayout() = default;
  InputLayout(absl::Span<const JobPtr> jobs, int64_t capacity);

  absl::Span<const CopyRun> runs() const { return runs_; }
  // Of the first byte of job `i`'s input; of its resident bytes, if it has some, which the batch
  // puts there.
  int64_t device_offset(size_t i) const { return device_offsets_[i]; }

 private:
  std::vector<CopyRun> runs_;
  std::vector<int64_t> device_offsets_;  // by job
};

// Batches of up to this many payload and result bytes are not copied: the kernels read and write
// page-locked host memory over the bus, which takes less time than to enqueue the copies.
inline constexpr int64_t kMaxInPlaceBytes = 128 << 10;
// Whether a batch is small enough for that, and each payload one aligned piece of a page-locked
// region. A client may change it meanwhile: only for kernels that take no address or size from a
// payload.
bool FitsInPlace(absl::Span<const JobPtr> jobs);

// Results on their way back. A job is direct when the kernels write its reply as it is sent: it is
// copied straight into the reply. The others land in the lane's output staging memory, at the
// offset they have on the device, and are brought into shape from there.
class OutputLayout {
 public:
  // Reserves `bytes` for the next job and returns their offset, a multiple of kLaneAlignment. They
  // are copied to `direct`, a reply, or land if it is null. Of the device's memory no more than the
  // reply gets to where a client sees it.
  int64_t Add(int64_t bytes, const HostLease* direct);
  // The same for what is not copied: scratch, or what kernels write to the staging memory.
  int64_t Reserve(int64_t bytes);
  // Copies for a lane whose output staging memory is at `output_staging`.
  std::vector<CopyRun> Runs(uint8_t* output_staging) const;
  int64_t size() const { return size_; }

 private:
  struct Piece {
    int64_t offset = 0;
    int64_t bytes = 0;
    uint8_t* direct_target = nullptr;  // null: lands
  };
  std::vector<Piece> pieces_;
  int64_t size_ = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_LAYOUT_H_
