// Frequencies and phases of channels, exactly: what a stream that is opened anew has to be told, so
// that its oscillators go on where those before it stopped.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_OSCILLATORS_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_OSCILLATORS_H_

#include <cstdint>
#include <vector>

#include "baseband/v1/baseband.pb.h"

namespace gr::baseband_offload {

// Fractions of 2^63: of the sample rate, of a cycle.
constexpr uint64_t kUnits = uint64_t{1} << 63;

// frequency_hz / sample_rate_hz; both finite, the quotient within +-1.
int64_t ToUnits(double frequency_hz, double sample_rate_hz);
double ToHz(int64_t units, double sample_rate_hz);

struct Retuning {
  uint32_t channel = 0;
  uint64_t sample = 0;    // from which on
  int64_t frequency = 0;  // units
  bool coherent = false;
};

class Oscillators {
 public:
  explicit Oscillators(const std::vector<int64_t>& frequencies);

  // Takes what a stream is about to be told: ascending in `sample` for each channel.
  void Add(const Retuning& retuning) { retunings_.push_back(retuning); }

  // What was added for samples before `begin` is over: `begin` does not go back.
  void Forget(uint64_t begin);
  // Sets frequencies so that each oscillator, from sample Settled(begin) on, is as if it had been
  // told all that is over at that sample; which is then forgotten. Returns what the stream has to
  // be told for that besides known(), before those. Phases are not set: coherent ones stay those of
  // sample 0.
  std::vector<Retuning> SetUp(uint64_t begin, ::baseband::v1::DownconvertSetup* setup);
  // `begin`, or the sample after it.
  static uint64_t Settled(uint64_t begin) { return begin | 1; }
  // That are not over, in the order in which they were added.
  const std::vector<Retuning>& known() const { return retunings_; }

 private:
  struct State {
    int64_t frequency = 0;
    uint64_t phase = 0;  // at sample 0, units modulo 2^63
  };

  std::vector<State> channels_;
  std::vector<Retuning> retunings_;
};

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_OSCILLATORS_H_
