// Settings of the whole process, which programs choose, not blocks.
#ifndef INCLUDED_BASEBAND_OFFLOAD_PROCESS_H
#define INCLUDED_BASEBAND_OFFLOAD_PROCESS_H

#include <gnuradio/baseband_offload/api.h>

namespace gr {
namespace baseband_offload {

// For speed; once, first thing, before any block is made. Freed memory, up to about 2 GiB, stays in
// the process, so that large requests stop paying for page faults; and Abseil, as it is packaged,
// does not look for deadlocks with every lock.
BASEBAND_OFFLOAD_API void tune_process();

}  // namespace baseband_offload
}  // namespace gr

#endif  // INCLUDED_BASEBAND_OFFLOAD_PROCESS_H
