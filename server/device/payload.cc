#include "server/device/payload.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace baseband::server {

void CopyPastCaches(uint8_t* target, const uint8_t* source, int64_t bytes) {
#if defined(__SSE2__)
  constexpr int64_t kVector = sizeof(__m128i);
  const int64_t head =
      std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(target) & (kVector - 1));
  std::memcpy(target, source, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + 4 * kVector <= bytes; i += 4 * kVector) {
    for (int64_t j = i; j < i + 4 * kVector; j += kVector) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + j),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + j)));
    }
  }
  std::memcpy(target + i, source + i, static_cast<size_t>(bytes - i));
  _mm_sfence();
#else
  std::memcpy(target, source, static_cast<size_t>(bytes));
#endif
}

Payload::Payload() = default;
Payload::~Payload() = default;
Payload::Payload(const Payload&) = default;
Payload::Payload(Payload&&) noexcept = default;
Payload& Payload::operator=(const Payload&) = default;
Payload& Payload::operator=(Payload&&) noexcept = default;

void Payload::CopyPart(int64_t offset, int64_t bytes, uint8_t* target) const {
  for (const PayloadPiece& piece : pieces_) {
    const int64_t skipped = std::min(offset, piece.bytes);
    const int64_t part = std::min(piece.bytes - skipped, bytes);
    // Where there is nothing to copy there may be no target either.
    if (part > 0) CopyPastCaches(target, piece.data + skipped, part);
    target += part;
    offset -= skipped;
    bytes -= part;
  }
}

Payload Payload::Copy() const {
  constexpr int64_t kReadAhead = 64;  // kernels may read a little past the end
  const std::shared_ptr<uint8_t> copy(
      static_cast<uint8_t*>(std::aligned_alloc(
          kAlignment, static_cast<size_t>((bytes_ + kReadAhead) / kAlignment + 1) * kAlignment)),
      [](uint8_t* memory) { std::free(memory); });
  CopyTo(copy.get());
  return Payload({{copy.get(), bytes_, nullptr}}, copy);
}

}  // namespace baseband::server
