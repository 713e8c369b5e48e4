// A code block of zeros, encoded: its parity is zero, too.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/ldpc/code.h"
#include "kernels/ldpc/encode.h"

int main() {
  const auto code = baseband::ldpc::NrCode(/*base_graph=*/1, /*zc=*/384).value();
  const std::vector<uint8_t> info(static_cast<size_t>(code->k() + 7) / 8);
  std::vector<uint8_t> parity(static_cast<size_t>(code->parity_bits() + 7) / 8, 0xff);
  baseband::ldpc::EncodeOnCpu(*code, absl::MakeConstSpan(info), code->k(), absl::MakeSpan(parity));
  for (const uint8_t byte : parity) {
    if (byte != 0) return 1;
  }
  std::printf("%zu bytes of parity\n", parity.size());
  return 0;
}
