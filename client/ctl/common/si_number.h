// Numbers as people write them: 9.1M, 64k; and frequencies as people read them.
#ifndef BASEBAND_CLIENT_CTL_COMMON_SI_NUMBER_H_
#define BASEBAND_CLIENT_CTL_COMMON_SI_NUMBER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::ctl {

// The double next to what the text says: "9.1M" is 9100000 exactly. k, M, G and T may follow the
// number (K too; a lower-case m is refused: it could mean a thousandth), and Hz after that.
// InvalidArgument "'9.1X' is not a number, ..".
absl::StatusOr<double> ParseSiNumber(absl::string_view text);

// "9.1M", or "9123457/64000000": a fraction of the sample rate.
absl::StatusOr<v1::OscillatorFrequency> ParseFrequency(absl::string_view text);

// "9.123457 MHz", with no more digits than it needs, at most twelve.
std::string Hertz(double hz);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_SI_NUMBER_H_
