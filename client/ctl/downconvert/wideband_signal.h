// A wideband signal to try `downconvert` with: tones and FM stations in white Gaussian noise.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_WIDEBAND_SIGNAL_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_WIDEBAND_SIGNAL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/ctl/common/random.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {

// exp(j 2 pi frequency t), or with an audio tone
//   exp(j (2 pi frequency t + deviation / audio sin(2 pi audio t))).
struct Station {
  double frequency_hz = 0;
  double level_db = -12;  // of full scale
  double deviation_hz = 0;
  double audio_hz = 0;  // 0: a tone
};

struct WidebandSpec {
  double sample_rate_hz = 64e6;
  std::vector<Station> stations;
  double noise_db = -50;  // power in the whole band, of full scale
  uint64_t seed = 1;
};

// A tone in the middle of an eighth, a stronger neighbour, an FM station, a weak tone: something to
// see at any sample rate.
std::vector<Station> ExampleStations(double sample_rate_hz);

// "9.1M[:DB]" and "-20M[:DB[:DEVIATION[:AUDIO]]]".
absl::StatusOr<Station> ParseTone(absl::string_view text);
absl::StatusOr<Station> ParseFmStation(absl::string_view text);

// The same spec gives the same samples, in whatever pieces they are taken.
class WidebandSignal {
 public:
  explicit WidebandSignal(const WidebandSpec& spec);
  std::vector<Complex> Next(int64_t count);

 private:
  const WidebandSpec spec_;
  Random random_;
  int64_t next_ = 0;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_WIDEBAND_SIGNAL_H_
