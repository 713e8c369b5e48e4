// The code blocks of a transport block, made here.
#ifndef BASEBAND_CLIENT_CTL_LDPC_NR_CODE_BLOCKS_H_
#define BASEBAND_CLIENT_CTL_LDPC_NR_CODE_BLOCKS_H_

#include <string>
#include <vector>

#include "kernels/nr/transport_block.h"

namespace baseband::ctl {

// Of each the plan.k_prime bits that are no fillers, its CRC included, packed. `tb` holds
// plan.tb_bits bits.
std::vector<std::string> CodeBlocksOf(const nr::TransportBlockPlan& plan, std::string tb);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_NR_CODE_BLOCKS_H_
