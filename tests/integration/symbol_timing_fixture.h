// Frames of samples for RecoverCarrier of the real server.
#ifndef BASEBAND_TESTS_INTEGRATION_SYMBOL_TIMING_FIXTURE_H_
#define BASEBAND_TESTS_INTEGRATION_SYMBOL_TIMING_FIXTURE_H_

#include <cstdint>

#include "tests/integration/carrier_refusals.h"
#include "tests/support/carrier_traffic.h"

namespace baseband::testing {

class SymbolTimingTest : public CarrierRefusalsTest {
 protected:
  static v1::CarrierGroup Qpsk() {
    v1::CarrierGroup group;
    group.mutable_constellation()->set_name("QPSK");
    group.set_count(1);
    group.set_frame_samples(1000);
    group.mutable_timing()->set_samples_per_symbol_numerator(4);
    group.mutable_timing()->set_roll_off(0.35);
    return group;
  }
};

// QPSK at P/Q samples each, 6 dB above its operating point.
inline TimingSpec SpecOf(int samples, int symbols, double rolloff, uint64_t seed) {
  TimingSpec spec;
  spec.constellation = *carrier::Constellation::FromName("QPSK");
  spec.snr_db = spec.constellation->operating_snr_db() + 6;
  spec.seed = seed;
  spec = WithRandomTiming(spec, 0.0, 0.05);
  spec.shape.samples = samples;
  spec.shape.symbols = symbols;
  spec.shape.rolloff = rolloff;
  spec.offset = 0.37;
  spec.clock_error = -42e-6;
  return spec;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_INTEGRATION_SYMBOL_TIMING_FIXTURE_H_
