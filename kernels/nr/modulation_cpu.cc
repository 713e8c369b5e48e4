// Mapping by table: a look-up of as many symbols as 8 bits make, or of one.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/nr/modulation.h"
#include "kernels/nr/modulation_math.h"

namespace baseband::nr {
namespace {

// An amplitude as a number of a buffer. Floats are scaled, too.
template <SymbolFormat kFormat>
struct Sample;
template <>
struct Sample<SymbolFormat::kFloat32> {
  using Type = float;
  static float Of(float amplitude, float scale) { return MulRn(amplitude, scale); }
};
template <>
struct Sample<SymbolFormat::kFloat16> {
  using Type = uint16_t;
  static uint16_t Of(float amplitude, float scale) { return HalfOfFloat(MulRn(amplitude, scale)); }
};
template <>
struct Sample<SymbolFormat::kInt16> {
  using Type = int16_t;
  static int16_t Of(float amplitude, float scale) { return ToInt16(amplitude, scale); }
};
template <>
struct Sample<SymbolFormat::kInt8> {
  using Type = int8_t;
  static int8_t Of(float amplitude, float scale) { return ToInt8(amplitude, scale); }
};

// Bits from `begin` on, a few at a time. Reads no byte behind `end`.
class BitReader {
 public:
  BitReader(const uint8_t* begin, const uint8_t* end, int64_t bit)
      : next_(begin + bit / 8), end_(end), skip_(static_cast<int>(bit % 8)) {}

  // The next 56 bits, at the top; zeros where there are none. Then goes on by `used` bits.
  uint64_t Take(int used) {
    uint64_t window = 0;
    if (end_ - next_ >= 8) {
      std::memcpy(&window, next_, 8);
      window = __builtin_bswap64(window);
    } else {
      for (int i = 0; i < end_ - next_; ++i) window |= uint64_t{next_[i]} << (56 - 8 * i);
    }
    window <<= skip_;
    skip_ += used;
    next_ += skip_ / 8;
    skip_ %= 8;
    return window;
  }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
  int skip_;
};

template <int kQm, SymbolFormat kFormat>
class Mapper {
 public:
  // Bits and symbols of a look-up, look-ups of 56 bits.
  static constexpr int kBits = kQm < 8 && kQm != 6 ? 8 : kQm;
  static constexpr int kSymbols = kBits / kQm;
  static constexpr int kLookUps = 56 / kBits;
  static constexpr int kStride = kLookUps * kSymbols;  // symbols of 56 bits

  explicit Mapper(float scale) {
    // Levels first, as they are few.
    constexpr int kH = kQm == 1 ? 1 : kQm / 2;
    const auto unit = static_cast<float>(AxisUnit(kQm));
    std::array<Value, 1 << kH> of_bits;
    for (uint32_t bits = 0; bits < of_bits.size(); ++bits) {
      of_bits[bits] = Sample<kFormat>::Of(Amplitude(PamLevel(kH, bits), unit), scale);
    }
    for (uint32_t label = 0; label < entries_.size(); ++label) {
      for (int s = 0; s < kSymbols; ++s) {
        const uint32_t symbol = label >> (kBits - kQm - s * kQm) & ((1u << kQm) - 1);
        Value* const point = entries_[label].data() + 2 * s;
        if constexpr (kQm == 1) {  // symbols of even places start a look-up
          point[0] = of_bits[s % 2 != 0 ? 1 - symbol : symbol];
          point[1] = of_bits[symbol];
        } else {
          point[0] = of_bits[AxisBits(kH, symbol >> 1)];
          point[1] = of_bits[AxisBits(kH, symbol)];
        }
      }
    }
  }

  // `out` receives `count` symbols, the first one at an even place of the code word.
  void Map(BitReader& reader, int64_t count, uint8_t* out) const {
    int64_t done = 0;
    for (; done + kStride <= count; done += kStride) {
      const uint64_t window = reader.Take(kLookUps * kBits);
      for (int i = 0; i < kLookUps; ++i) {
        std::memcpy(out, Find(window, i).data(), sizeof(Entry));
        out += sizeof(Entry);
      }
    }
    if (done == count) return;
    const auto left = static_cast<int>(count - done);
    const uint64_t window = reader.Take(left * kQm);
    for (int i = 0; i * kSymbols < left; ++i) {
      const int here = std::min(kSymbols, left - i * kSymbols);
      std::memcpy(out, Find(window, i).data(), static_cast<size_t>(here) * 2 * sizeof(Value));
      out += sizeof(Entry);
    }
  }

  // One symbol at an odd place, for pi/2-BPSK that begins there.
  void MapOdd(BitReader& reader, uint8_t* out) const {
    static_assert(kQm == 1, "others do not turn");
    const uint64_t bit = reader.Take(1) >> 63;
    std::memcpy(out, entries_[bit << 6].data() + 2, 2 * sizeof(Value));
  }

 private:
  using Value = typename Sample<kFormat>::Type;
  using Entry = std::array<Value, 2 * kSymbols>;

  const Entry& Find(uint64_t window, int i) const {
    return entries_[window << (i * kBits) >> (64 - kBits)];
  }

  alignas(64) std::array<Entry, 1 << kBits> entries_;
};

// Symbols [first, first + count), `from` in the code word's order, to their layers.
template <int kBytes>
void ToLayers(const SymbolLayout& layout, int64_t first, int64_t count, const uint8_t* from,
              uint8_t* symbols) {
  const int64_t layers = layout.num_layers;
  for (int64_t start = 0; start < std::min(layers, count); ++start) {
    uint8_t* to = symbols + kBytes * PlaceOfSymbol(layout, static_cast<uint64_t>(first + start));
    for (int64_t i = start; i < count; i += layers, to += kBytes) {
      std::memcpy(to, from + kBytes * i, kBytes);
    }
  }
}

template <int kQm, SymbolFormat kFormat>
void Modulate(BitReader reader, int64_t first, int64_t count, const SymbolLayout& layout,
              uint8_t* symbols) {
  constexpr int kBytes = BytesPerSymbol(kFormat);
  const Mapper<kQm, kFormat> mapper(layout.scale);
  const bool by_layer = layout.by_layer && layout.num_layers > 1;
  const auto place = [&](int64_t index) {
    return symbols + kBytes * PlaceOfSymbol(layout, static_cast<uint64_t>(index));
  };
  if constexpr (kQm == 1) {
    if (first % 2 != 0 && count > 0) {
      mapper.MapOdd(reader, place(first));
      ++first;
      --count;
    }
  }
  if (!by_layer) {
    mapper.Map(reader, count, place(first));
    return;
  }
  constexpr int64_t kChunk = 1008;  // even, and a multiple of all strides but that of 1024QAM
  uint8_t chunk[kChunk * kBytes];
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t here = std::min(kChunk, count - done);
    mapper.Map(reader, here, chunk);
    ToLayers<kBytes>(layout, first + done, here, chunk, symbols);
  }
}

template <SymbolFormat kFormat>
void ModulateTo(int qm, const BitReader& reader, int64_t first, int64_t count,
                const SymbolLayout& layout, uint8_t* symbols) {
  switch (qm) {
    case 1:
      return Modulate<1, kFormat>(reader, first, count, layout, symbols);
    case 2:
      return Modulate<2, kFormat>(reader, first, count, layout, symbols);
    case 4:
      return Modulate<4, kFormat>(reader, first, count, layout, symbols);
    case 6:
      return Modulate<6, kFormat>(reader, first, count, layout, symbols);
    case 8:
      return Modulate<8, kFormat>(reader, first, count, layout, symbols);
    default:
      return Modulate<10, kFormat>(reader, first, count, layout, symbols);
  }
}

}  // namespace

void ModulateOnCpu(int qm, absl::Span<const uint8_t> bits, int64_t begin, int64_t first,
                   int64_t count, const SymbolLayout& layout, absl::Span<uint8_t> symbols) {
  const BitReader reader(bits.data(), bits.data() + bits.size(), begin);
  switch (layout.format) {
    case SymbolFormat::kFloat32:
      return ModulateTo<SymbolFormat::kFloat32>(qm, reader, first, count, layout, symbols.data());
    case SymbolFormat::kFloat16:
      return ModulateTo<SymbolFormat::kFloat16>(qm, reader, first, count, layout, symbols.data());
    case SymbolFormat::kInt16:
      return ModulateTo<SymbolFormat::kInt16>(qm, reader, first, count, layout, symbols.data());
    case SymbolFormat::kInt8:
      return ModulateTo<SymbolFormat::kInt8>(qm, reader, first, count, layout, symbols.data());
  }
}

}  // namespace baseband::nr
