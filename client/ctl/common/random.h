// A fast generator with a fixed sequence: the same on every machine and every standard library.
#ifndef BASEBAND_CLIENT_CTL_COMMON_RANDOM_H_
#define BASEBAND_CLIENT_CTL_COMMON_RANDOM_H_

#include <cstdint>
#include <string>

namespace baseband::ctl {

// xoshiro256++ of Blackman and Vigna, seeded by splitmix64 as its authors advise. Different
// (seed, stream) pairs give independent sequences.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) {
    uint64_t state = seed ^ (stream * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du);
    for (uint64_t& word : state_) {
      state += 0x9e3779b97f4a7c15u;
      uint64_t z = state;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }

  uint64_t Next() {
    const uint64_t result = Rotate(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  // `size` random bytes.
  std::string Bytes(int64_t size) {
    std::string bytes(size, '\0');
    for (int64_t i = 0; i < size; i += 8) {
      const uint64_t word = Next();
      for (int64_t j = i; j < size && j < i + 8; ++j) {
        bytes[j] = static_cast<char>(word >> (8 * (j - i)));
      }
    }
    return bytes;
  }

 private:
  static uint64_t Rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

  uint64_t state_[4];
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_RANDOM_H_
