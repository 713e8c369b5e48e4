#include "client/gnuradio/lib/carrier_operation.h"

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/gnuradio/lib/samples.h"
#include "client/gnuradio/lib/symbol_timing.h"

namespace gr::baseband_offload {
namespace {

namespace v1 = ::baseband::v1;

v1::FineMethod ToProto(fine_method method) {
  switch (method) {
    case fine_method::sweep:
      return v1::FINE_METHOD_SWEEP;
    case fine_method::interpolate:
      return v1::FINE_METHOD_INTERPOLATE;
    case fine_method::pll:
      return v1::FINE_METHOD_PLL;
    case fine_method::none:
      return v1::FINE_METHOD_NONE;
    default:
      return v1::FINE_METHOD_REMODULATE;
  }
}

v1::CoarseMethod ToProto(coarse_method method) {
  switch (method) {
    case coarse_method::power:
      return v1::COARSE_METHOD_POWER;
    case coarse_method::known_symbols:
      return v1::COARSE_METHOD_KNOWN_SYMBOLS;
    case coarse_method::none:
      return v1::COARSE_METHOD_NONE;
    default:
      return v1::COARSE_METHOD_UNSPECIFIED;
  }
}

const char* StateOf(v1::TimingLock lock) {
  switch (lock) {
    case v1::TIMING_LOCK_LOCKED:
      return "locked";
    case v1::TIMING_LOCK_NO_SIGNAL:
      return "no_signal";
    case v1::TIMING_LOCK_TOO_SHORT:
      return "too_short";
    default:
      return "no_line";
  }
}

const char* StateOf(v1::CarrierLock lock) {
  switch (lock) {
    case v1::CARRIER_LOCK_LOCKED:
      return "locked";
    case v1::CARRIER_LOCK_NO_SIGNAL:
      return "no_signal";
    case v1::CARRIER_LOCK_NO_PEAK:
      return "no_peak";
    case v1::CARRIER_LOCK_AMBIGUOUS:
      return "ambiguous";
    default:
      return "bad_fit";
  }
}

void SetKnown(const carrier_options& options, int symbols, v1::KnownSymbols* known) {
  if (!options.known_positions.empty() && options.known_positions.size() != options.known.size()) {
    throw std::invalid_argument(absl::StrCat("known_positions has ", options.known_positions.size(),
                                             " entries, known ", options.known.size()));
  }
  CheckRange("known's size", static_cast<double>(options.known.size()), 0, symbols);
  int before = -1;
  for (const int position : options.known_positions) {
    CheckRange("known_positions' entry", position, before + 1, symbols - 1);
    known->add_positions(static_cast<uint32_t>(position));
    before = position;
  }
  for (const gr_complex& value : options.known) {
    CheckRange("magnitude in known", std::abs(value), 0.001, 1000);
    known->add_values(value.real());
    known->add_values(value.imag());
  }
}

}  // namespace

CarrierOperation::CarrierOperation(const carrier_options& options)
    : symbols_(SymbolsOf(options)),
      samples_(options.samples_per_symbol == 0 ? symbols_ : options.frame_samples),
      has_rate_(options.symbol_rate_hz > 0),
      has_timing_(options.samples_per_symbol != 0),
      unit_gain_(options.unit_gain) {
  CheckRange("max_frequency", options.max_frequency, 0, 0.5);
  CheckRange("symbol_rate_hz", options.symbol_rate_hz, 0, 1e15);
  v1::CarrierGroup* group = empty_.add_groups();
  if (options.points.empty()) {
    group->mutable_constellation()->set_name(options.constellation);
  } else {
    CheckRange("points' size", static_cast<double>(options.points.size()), 2, 1024);
    for (const gr_complex& point : options.points) {
      group->mutable_constellation()->add_points(point.real());
      group->mutable_constellation()->add_points(point.imag());
    }
  }
  if (has_timing_) {
    *group->mutable_timing() = TimingOf(options);
    group->set_frame_samples(static_cast<uint32_t>(samples_));
  } else {
    group->set_frame_symbols(static_cast<uint32_t>(symbols_));
  }
  group->set_format(v1::SAMPLE_FORMAT_FLOAT32);
  group->set_symbol_rate_hz(options.symbol_rate_hz);
  group->set_max_frequency(options.max_frequency);
  group->set_coarse(ToProto(options.coarse));
  group->set_fine(ToProto(options.fine));
  group->set_corrected(true);
  if (!options.known.empty()) SetKnown(options, symbols_, group->mutable_known());
}

void CarrierOperation::Append(const void* in, int frames, Request* request) const {
  AppendSamples(static_cast<const gr_complex*>(in), int64_t{frames} * samples_,
                request->mutable_payload());
}

absl::Status CarrierOperation::Check(int frames, const Response& response) const {
  const int64_t bytes = int64_t{frames} * symbols_ * int64_t{sizeof(gr_complex)};
  if (response.frames_size() == frames && response.timings_size() == (has_timing_ ? frames : 0) &&
      static_cast<int64_t>(response.payload().size()) == bytes) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "the answer to ", frames, " frames has results of ", response.frames_size(), ", timings of ",
      response.timings_size(), " and ", response.payload().size(), " bytes, not ", bytes));
}

void CarrierOperation::Write(const Response& response, int first, int frames, void* out) const {
  const int64_t bytes = symbols_ * int64_t{sizeof(gr_complex)};
  std::memcpy(out, response.payload().data() + first * bytes, static_cast<size_t>(frames * bytes));
  if (!unit_gain_) return;
  auto* symbols = static_cast<gr_complex*>(out);
  for (int i = 0; i < frames; ++i, symbols += symbols_) {
    const float gain = response.frames(first + i).gain();
    if (!(gain > 0)) continue;  // of a frame without a signal
    for (int k = 0; k < symbols_; ++k) symbols[k] /= gain;
  }
}

FrameResults CarrierOperation::Results(const Response& response, int frame) const {
  const v1::CarrierResult& result = response.frames(frame);
  FrameResults results = {
      {pmt::mp("lock"), pmt::from_bool(result.lock() == v1::CARRIER_LOCK_LOCKED)},
      {pmt::mp("lock_state"), pmt::mp(StateOf(result.lock()))},
      {pmt::mp("frequency"), pmt::from_double(result.frequency())},
      {pmt::mp("frequency_stddev"), pmt::from_double(result.frequency_stddev())},
      {pmt::mp("phase"), pmt::from_double(result.phase())},
      {pmt::mp("ambiguity"), pmt::from_long(static_cast<long>(result.ambiguity()))},
      {pmt::mp("evm"), pmt::from_double(static_cast<double>(result.evm()))},
      {pmt::mp("snr_db"), pmt::from_double(static_cast<double>(result.snr_db()))},
      {pmt::mp("gain"), pmt::from_double(static_cast<double>(result.gain()))}};
  if (has_rate_) {
    results.emplace_back(pmt::mp("frequency_hz"), pmt::from_double(result.frequency_hz()));
  }
  if (has_timing_) {
    const v1::TimingEstimate& timing = response.timings(frame);
    results.insert(
        results.end(),
        {{pmt::mp("timing_lock"), pmt::from_bool(timing.lock() == v1::TIMING_LOCK_LOCKED)},
         {pmt::mp("timing_lock_state"), pmt::mp(StateOf(timing.lock()))},
         {pmt::mp("offset"), pmt::from_double(timing.offset())},
         {pmt::mp("offset_stddev"), pmt::from_double(timing.offset_stddev())},
         {pmt::mp("clock_error"), pmt::from_double(timing.clock_error())},
         {pmt::mp("clock_error_stddev"), pmt::from_double(timing.clock_error_stddev())}});
  }
  return results;
}

carrier_recovery::sptr carrier_recovery::make(const carrier_options& options,
                                              const connection& server) {
  return gnuradio::make_block_sptr<FrameBlock<carrier_recovery, CarrierOperation>>(
      "carrier_recovery", CarrierOperation(options), server, options.frame_tag);
}

}  // namespace gr::baseband_offload
