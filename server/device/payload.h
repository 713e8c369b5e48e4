// Where the bytes of a request lie: pieces of memory regions, in order, and who keeps them.
//
//   Payload payload({{lease.data(), lease.size(), &pool.region()}}, owner);
//   if (!payload.is_aligned()) payload.CopyTo(target);
//
// A way in (gRPC's slices, a pool, memory shared with a client) says where bytes came to lie;
// operations say what they are; a device reads them there if it can reach their regions.
#ifndef BASEBAND_SERVER_DEVICE_PAYLOAD_H_
#define BASEBAND_SERVER_DEVICE_PAYLOAD_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace baseband::server {

// One block of host memory that devices were told about. Outlives every payload in it.
struct MemoryRegion {
  uint8_t* base = nullptr;
  int64_t bytes = 0;
  // Every GPU of this process may read and write it where it lies, by the same addresses. Without
  // a GPU: false, and nobody asks.
  bool is_page_locked = false;
  // Others may write to it at any time: what is read twice may differ.
  bool is_shared = false;
};

// A part of a region; of no region, null, if it is memory that no device knows.
struct PayloadPiece {
  const uint8_t* data = nullptr;
  int64_t bytes = 0;
  const MemoryRegion* region = nullptr;
};

// memcpy whose target's lines are neither fetched into the caches nor kept there.
void CopyPastCaches(uint8_t* target, const uint8_t* source, int64_t bytes);

// Copyable: copies share the memory. Not thread-safe.
class Payload {
 public:
  // Where one in one piece begins if nothing has to be copied for a kernel to read it there.
  static constexpr int64_t kAlignment = 64;
  // One whose pieces are smaller than that on the average is brought together before: lanes have
  // room to say where so many lie.
  static constexpr int64_t kMinMeanPiece = 4096;
  using Pieces = absl::InlinedVector<PayloadPiece, 2>;

  Payload();
  // `owner`, if there is one, keeps the memory of the pieces. Empty pieces are left out.
  explicit Payload(const Pieces& pieces, std::shared_ptr<const void> owner = nullptr)
      : owner_(std::move(owner)) {
    for (const PayloadPiece& piece : pieces) Add(piece);
  }

  // Out of line: gcc 12 warns of the uninitialized part of an InlinedVector that it sees copied.
  ~Payload();
  Payload(const Payload&);
  Payload(Payload&&) noexcept;
  Payload& operator=(const Payload&);
  Payload& operator=(Payload&&) noexcept;

  // One that continues the last piece in its region becomes a part of that.
  void Add(const PayloadPiece& piece) {
    if (piece.bytes == 0) return;
    bytes_ += piece.bytes;
    if (!pieces_.empty() && pieces_.back().region == piece.region &&
        pieces_.back().data + pieces_.back().bytes == piece.data) {
      pieces_.back().bytes += piece.bytes;
    } else {
      pieces_.push_back(piece);
    }
  }

  int64_t bytes() const { return bytes_; }
  absl::Span<const PayloadPiece> pieces() const { return pieces_; }
  bool is_contiguous() const { return pieces_.size() <= 1; }
  // Whether it is that, and begins on kAlignment.
  bool is_aligned() const {
    return is_contiguous() && reinterpret_cast<uintptr_t>(data()) % kAlignment == 0;
  }
  // Of a contiguous one; null if it is empty.
  const uint8_t* data() const { return pieces_.empty() ? nullptr : pieces_.front().data; }
  absl::Span<const uint8_t> span() const { return {data(), static_cast<size_t>(bytes_)}; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

  // Whether others may change any of it.
  bool is_shared() const {
    for (const PayloadPiece& piece : pieces_) {
      if (piece.region != nullptr && piece.region->is_shared) return true;
    }
    return false;
  }

  // To `target`, bytes() long, past the caches: this processor will not read them again.
  void CopyTo(uint8_t* target) const { CopyPart(0, bytes_, target); }
  // The same with the bytes [offset, offset + bytes).
  void CopyPart(int64_t offset, int64_t bytes, uint8_t* target) const;
  // The same bytes in memory of their own, aligned and contiguous, of no region.
  Payload Copy() const;

 private:
  Pieces pieces_;
  int64_t bytes_ = 0;
  std::shared_ptr<const void> owner_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_PAYLOAD_H_
