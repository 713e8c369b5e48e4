// Encoding on one CPU core: checks its results first, then prints information bits per second.
//
//   ldpc_encode_bench [repetitions [table|sizes|batches|all]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "kernels/ldpc/encode.h"
#include "kernels/ldpc/reference.h"
#include "tests/bench/ldpc_rows.h"
#include "tests/bench/rows.h"

namespace {

using baseband::ldpc::Bits;
using baseband::ldpc::Code;
using baseband::ldpc::CodePtr;

constexpr int kBlocksPerRepeat = 2000;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds of encoding `blocks` blocks, one after the other. A wrong result ends the program.
baseband::bench::Times Measure(const CodePtr& code, int blocks, int repetitions) {
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

  const int turns = std::max(1, kBlocksPerRepeat / blocks);
  std::vector<double> seconds;
  for (int repeat = 0; repeat < repetitions; ++repeat) {
    const double begin = Seconds();
    for (int i = 0; i < turns * blocks; ++i) {
      encode();
    }
    seconds.push_back((Seconds() - begin) / turns);
  }
  return baseband::bench::Times::Of(seconds);
}

void PrintTable(int repetitions) {
  using baseband::ldpc::NrCode;
  using baseband::ldpc::WifiCode;
  using baseband::ldpc::WimaxCode;
  for (const auto& of : {NrCode(1, 384), NrCode(1, 384, 4), NrCode(2, 384), NrCode(2, 384, 4),
                         NrCode(1, 352), NrCode(1, 208), NrCode(1, 120), NrCode(1, 60),
                         NrCode(1, 30), NrCode(1, 7), WimaxCode("1/2", 2304), WimaxCode("5/6", 576),
                         WifiCode("1/2", 1944), WifiCode("5/6", 648)}) {
    const Code& code = **of;
    const auto [best, median, spread] = Measure(*of, 1, repetitions);
    std::printf("%-28s best %7.3f us %7.2f Gb/s   median %7.3f us %7.2f Gb/s information\n",
                code.name().c_str(), best * 1e6, code.k() / best * 1e-9, median * 1e6,
                code.k() / median * 1e-9);
    EncodeRow("cpu", {{"code", code.name()}}, code, 1, best, spread).Emit();
  }
}

void MeasureSizes(int repetitions) {
  for (const auto& [name, code] : baseband::ldpc::CodesOfEverySize()) {
    const auto [best, median, spread] = Measure(code, 1, repetitions);
    const std::string zc = std::to_string(code->zc());
    std::printf("%-20s zc %3s %7.2f Gb/s\n", name.c_str(), zc.c_str(), code->k() / best * 1e-9);
    EncodeRow("cpu", {{"code", name}, {"zc", zc}}, *code, 1, best, spread).Emit();
  }
}

void MeasureBatches(int repetitions) {
  for (const CodePtr& code : baseband::ldpc::CodesOfBatches()) {
    for (int blocks = 1; blocks <= 64; blocks *= 2) {
      const auto [best, median, spread] = Measure(code, blocks, repetitions);
      std::printf("%-28s %5d blocks %9.1f us\n", code->name().c_str(), blocks, 1e6 * best);
      TimeRow(EncodeRow("cpu", {{"code", code->name()}, {"blocks", std::to_string(blocks)}}, *code,
                        blocks, best, spread),
              static_cast<double>(code->k()) * blocks, "blocks")
          .Emit();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 25;
  const baseband::ldpc::Parts parts(argc > 2 ? argv[2] : "table");
  if (parts.Has("table")) PrintTable(repetitions);
  if (parts.Has("sizes")) MeasureSizes(repetitions);
  if (parts.Has("batches")) MeasureBatches(repetitions);
  return 0;
}
