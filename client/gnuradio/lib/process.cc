#include <gnuradio/baseband_offload/process.h>

#include "client/cpp/process_tuning.h"

namespace gr::baseband_offload {

void tune_process() {
  ::baseband::client::ApplyMallocTuning();
  ::baseband::client::LockWithoutChecks();
}

}  // namespace gr::baseband_offload
