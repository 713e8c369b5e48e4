#include "kernels/timing/gpu/device_pulses.h"

#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"

namespace baseband::timing {
namespace {

// The taps in the order of the device, and all of `to` but where they are.
std::vector<float2> TapsFor(const Pulse& pulse, PulseOnDevice* to) {
  const PulseView view = pulse.view();
  to->facts = pulse.facts();
  to->samples = pulse.shape().samples;
  to->symbols = pulse.shape().symbols;
  to->rate = pulse.shape().samples_per_symbol();
  to->rows = view.rows;
  to->taps = view.taps;
  to->before = view.before;
  const bool by_phase = to->samples <= kMaxPhases;
  to->columns = by_phase ? ((view.taps + to->samples - 1) / to->samples + 1) / 2 * 2 : 0;
  const int row_size = by_phase ? to->samples * to->columns : view.taps;
  std::vector<float2> taps(static_cast<size_t>(view.rows) * static_cast<size_t>(row_size));
  for (int row = 0; row < view.rows; ++row) {
    const Tap* const from = view.taps_of + static_cast<int64_t>(row) * view.row_taps;
    for (int j = 0; j < view.taps; ++j) {
      const int64_t at =
          by_phase ? int64_t{row} * row_size + j % to->samples * to->columns + j / to->samples
                   : int64_t{j} * view.rows + row;
      taps[static_cast<size_t>(at)] = {from[j].value, from[j].slope};
    }
  }
  return taps;
}

}  // namespace

absl::StatusOr<DevicePulses> DevicePulses::Create() {
  DevicePulses pulses;
  BASEBAND_ASSIGN_OR_RETURN(pulses.stream_, cuda::Stream::Create());
  return pulses;
}

absl::StatusOr<PulseOnDevice> DevicePulses::Find(const Pulse& pulse) {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->id == pulse.id()) {
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->pulse;
    }
  }
  Entry entry;
  entry.id = pulse.id();
  const std::vector<float2> taps = TapsFor(pulse, &entry.pulse);
  BASEBAND_ASSIGN_OR_RETURN(entry.memory, cuda::CreateDeviceBuffer<float2>(taps.size()));
  (entry.pulse.columns > 0 ? entry.pulse.by_phase : entry.pulse.by_tap) = entry.memory.data();
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaMemcpyAsync(entry.memory.data(), taps.data(), taps.size() * sizeof(float2),
                                     cudaMemcpyHostToDevice, stream_.get()),
                     "cudaMemcpyAsync"));
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"));
  entries_.push_front(std::move(entry));
  if (entries_.size() > kMaxDevicePulses) entries_.pop_back();
  return entries_.front().pulse;
}

}  // namespace baseband::timing
