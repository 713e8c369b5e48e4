// Encoding on one CPU core: checks its results first, then prints information bits per second.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "kernels/ldpc/encode.h"
#include "kernels/ldpc/reference.h"

namespace {

using baseband::ldpc::Bits;
using baseband::ldpc::Code;
using baseband::ldpc::CodePtr;

constexpr int kBlocksPerRepeat = 2000;
constexpr int kRepeats = 25;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Run(const CodePtr& code) {
  std::mt19937 random(1);
  std::vector<uint8_t> info(static_cast<size_t>(code->k() + 7) / 8);
  for (uint8_t& byte : info) {
    byte = static_cast<uint8_t>(random());
  }
  std::vector<uint8_t> parity(static_cast<size_t>(code->parity_bits() + 7) / 8);
  const auto encode = [&] {
    baseband::ldpc::EncodeOnCpu(*code, info, code->k(), absl::MakeSpan(parity));
  };

  encode();
  Bits word = baseband::ldpc::UnpackBits(info, code->k());
  const Bits tail = baseband::ldpc::UnpackBits(parity, code->parity_bits());
  word.insert(word.end(), tail.begin(), tail.end());
  if (!baseband::ldpc::CheckParity(*code, word)) {
    std::fprintf(stderr, "%s: WRONG RESULT\n", code->name().c_str());
    std::exit(1);
  }

  std::vector<double> seconds;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const double begin = Seconds();
    for (int i = 0; i < kBlocksPerRepeat; ++i) {
      encode();
    }
    seconds.push_back((Seconds() - begin) / kBlocksPerRepeat);
  }
  std::sort(seconds.begin(), seconds.end());
  const double best = seconds.front();
  const double median = seconds[seconds.size() / 2];
  std::printf("%-28s best %7.3f us %7.2f Gb/s   median %7.3f us %7.2f Gb/s information\n",
              code->name().c_str(), best * 1e6, code->k() / best * 1e-9, median * 1e6,
              code->k() / median * 1e-9);
}

}  // namespace

int main() {
  using baseband::ldpc::NrCode;
  using baseband::ldpc::WifiCode;
  using baseband::ldpc::WimaxCode;
  for (const auto& code : {NrCode(1, 384), NrCode(1, 384, 4), NrCode(2, 384), NrCode(2, 384, 4),
                           NrCode(1, 352), NrCode(1, 208), NrCode(1, 120), NrCode(1, 60),
                           NrCode(1, 30), NrCode(1, 7), WimaxCode("1/2", 2304),
                           WimaxCode("5/6", 576), WifiCode("1/2", 1944), WifiCode("5/6", 648)}) {
    Run(*code);
  }
  return 0;
}
