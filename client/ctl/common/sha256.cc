#include "client/ctl/common/sha256.h"

#include <array>
#include <cstdint>

#include "absl/strings/escaping.h"

namespace baseband::ctl {
namespace {

// FIPS 180-4, 4.2.2.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t Rotate(uint32_t x, int bits) { return (x >> bits) | (x << (32 - bits)); }

// 6.2.2.
void AddBlock(absl::string_view block, std::array<uint32_t, 8>* state) {
  std::array<uint32_t, 64> w = {};
  for (int t = 0; t < 64; ++t) {
    if (t < 16) {
      for (int byte = 0; byte < 4; ++byte) {
        w[t] = w[t] << 8 | static_cast<uint8_t>(block[4 * t + byte]);
      }
    } else {
      const uint32_t s0 = Rotate(w[t - 15], 7) ^ Rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
      const uint32_t s1 = Rotate(w[t - 2], 17) ^ Rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
  }
  auto [a, b, c, d, e, f, g, h] = *state;
  for (int t = 0; t < 64; ++t) {
    const uint32_t t1 = h + (Rotate(e, 6) ^ Rotate(e, 11) ^ Rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                        kRound[t] + w[t];
    const uint32_t t2 =
        (Rotate(a, 2) ^ Rotate(a, 13) ^ Rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) {
    (*state)[i] += added[i];
  }
}

}  // namespace

std::string Sha256Hex(absl::string_view data) {
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  size_t done = 0;
  for (; done + 64 <= data.size(); done += 64) {
    AddBlock(data.substr(done, 64), &state);
  }
  std::string last(data.substr(done));
  last += '\x80';
  last.resize(last.size() <= 56 ? 56 : 120, '\0');
  for (int byte = 7; byte >= 0; --byte) {
    last += static_cast<char>(uint64_t{data.size()} * 8 >> (8 * byte));
  }
  for (size_t begin = 0; begin < last.size(); begin += 64) {
    AddBlock(absl::string_view(last).substr(begin, 64), &state);
  }
  std::string digest;
  for (const uint32_t word : state) {
    for (int byte = 3; byte >= 0; --byte) {
      digest += static_cast<char>(word >> (8 * byte));
    }
  }
  return absl::BytesToHexString(digest);
}

}  // namespace baseband::ctl
