#include "client/ctl/ldpc/nr_code_blocks.h"

#include <cstdint>
#include <utility>

#include "client/cpp/code_shape.h"
#include "client/ctl/ldpc/bits.h"
#include "kernels/crc/crc.h"

namespace baseband::ctl {
namespace {

void AppendCrc(Crc crc, int crc_bits, int64_t bits, std::string* packed) {
  const uint32_t value = CrcOfBits(crc, reinterpret_cast<const uint8_t*>(packed->data()), 0, bits);
  const auto shifted = static_cast<uint32_t>(value << (32 - crc_bits));
  const char bytes[4] = {static_cast<char>(shifted >> 24), static_cast<char>(shifted >> 16),
                         static_cast<char>(shifted >> 8), static_cast<char>(shifted)};
  packed->resize(static_cast<size_t>(client::PackedBytes(bits + crc_bits)), '\0');
  CopyBits({bytes, sizeof(bytes)}, 0, packed, bits, crc_bits);
}

}  // namespace

std::vector<std::string> CodeBlocksOf(const nr::TransportBlockPlan& plan, std::string tb) {
  AppendCrc(plan.tb_crc_bits == 24 ? Crc::kCrc24A : Crc::kCrc16, plan.tb_crc_bits, plan.tb_bits,
            &tb);
  std::vector<std::string> blocks;
  for (int r = 0; r < plan.num_blocks; ++r) {
    std::string block(static_cast<size_t>(client::PackedBytes(plan.info_bits())), '\0');
    CopyBits(tb, plan.info_begin(r), &block, 0, plan.info_bits());
    if (plan.block_crc_bits > 0) {
      AppendCrc(Crc::kCrc24B, plan.block_crc_bits, plan.info_bits(), &block);
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace baseband::ctl
