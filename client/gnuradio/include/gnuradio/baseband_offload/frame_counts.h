// What became of a block's frames.
#ifndef INCLUDED_BASEBAND_OFFLOAD_FRAME_COUNTS_H
#define INCLUDED_BASEBAND_OFFLOAD_FRAME_COUNTS_H

#include <cstdint>

namespace gr {
namespace baseband_offload {

// Since the block was made.
struct frame_counts {
  uint64_t taken = 0;     // from the input
  uint64_t answered = 0;  // put out
  uint64_t dropped = 0;   // given up, failure_policy::drop, refused, or on its way at a stop
  uint64_t requests = 0;  // that carried what was answered
};

}  // namespace baseband_offload
}  // namespace gr

#endif  // INCLUDED_BASEBAND_OFFLOAD_FRAME_COUNTS_H
