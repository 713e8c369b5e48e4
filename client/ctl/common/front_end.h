// What a receiver's analogue half does to its samples, told from the samples alone: an offset, and
// an image of every signal at the other side of zero, where I and Q differ in gain or are not at a
// right angle. And the correction of both.
//
//   FrontEndMeter meter;
//   meter.Add(samples);  // some 10^5 and more
//   const FrontEnd found = meter.Result();
//   const auto correction = ToCorrection(found, {/*dc=*/true, /*iq=*/true});
//   if (correction.ok()) correction->Apply(&samples);
//
// A signal whose image is K2 / K1 of it, y = K1 x + K2 conj(x) + dc, is told where x is circular,
// E[x^2] = 0, as what is modulated in I and Q alike is, and everything that is not near zero. Then
// E[z^2] = 2 K1 K2 E[|x|^2] of z = y - dc, and z + w conj(z) with
//   w = -E[z^2] / (E[|z|^2] + sqrt(E[|z|^2]^2 - |E[z^2]|^2)) = -K2 / conj(K1)
// is circular again (Anttila, Valkama, Renfors: Circularity-based I/Q imbalance compensation, IEEE
// Trans. Vehicular Technology 57, 2008). It cannot be told from a real signal or BPSK at zero.
#ifndef BASEBAND_CLIENT_CTL_COMMON_FRONT_END_H_
#define BASEBAND_CLIENT_CTL_COMMON_FRONT_END_H_

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/ctl/common/symbols.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// Samples that tell something, and those beyond which more tell nothing new.
inline constexpr int64_t kLeastFrontEndSamples = 1024;
inline constexpr int64_t kMostFrontEndSamples = int64_t{1} << 22;

// Full scale is 1.
struct FrontEnd {
  int64_t samples = 0;  // that were looked at
  bool is_complex = true;
  double power = 0;  // E[|y - dc|^2]
  std::complex<double> dc;
  double dc_deviation = 0;
  std::complex<double> circularity;  // E[z^2] / E[|z|^2], of magnitude 0 .. 1
  double circularity_deviation = 0;

  // Deviations are those of 16 to 32 parts of the samples: what wanders through them, as a signal
  // does that is near zero, is not told as the receiver's. Four of them are needed.
  bool tells_dc() const;
  enum class Image {
    kNone,  // below what these samples can tell
    kTold,
    kTooFew,    // samples
    kReal,      // they are
    kOfSignal,  // no receiver is so bad: the signal itself is not circular
  };
  Image image() const;

  std::complex<double> image_weight() const;  // w above
  double image_db() const;                    // 20 log10 |K2 / K1|
  double gain_db() const;                     // of I over Q
  double phase_degrees() const;               // beyond 90, by which Q is from I
};

class FrontEndMeter {
 public:
  explicit FrontEndMeter(bool is_complex = true) : is_complex_(is_complex) {}
  // Samples behind kMostFrontEndSamples are not looked at.
  void Add(absl::Span<const Complex> samples);
  FrontEnd Result() const;

 private:
  struct Sums {
    std::complex<double> first;   // of y
    std::complex<double> second;  // of y^2
    double power = 0;             // of |y|^2
  };

  const bool is_complex_;
  int64_t size_ = kLeastFrontEndSamples / 16;  // of a part
  int64_t samples_ = 0;
  std::vector<Sums> parts_;  // the last may be unfinished
};

struct WantedCorrection {
  bool dc = false;
  bool iq = false;
};

struct IqCorrection {
  Complex dc;
  Complex weight;
  float scale = 1;  // keeps the wanted signal what it is

  // (z + weight conj(z)) scale, z = sample - dc.
  void Apply(std::vector<Complex>* samples) const;
};

// What is below the noise is not corrected. InvalidArgument, naming the flag, where there is
// nothing to go by: too few samples, real ones, a signal that is not circular, nothing but DC.
absl::StatusOr<IqCorrection> ToCorrection(const FrontEnd& found, const WantedCorrection& wanted);

// "DC -34.1 dB, removed; image -31.2 dB (I/Q gain +0.21 dB, phase +1.30 degrees), removed": of the
// signal's power. Empty if there is nothing worth a line, which `wanted` makes worth it.
std::string ToText(const FrontEnd& found, const WantedCorrection& wanted);
nlohmann::ordered_json ToJson(const FrontEnd& found, const WantedCorrection& wanted);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_FRONT_END_H_
