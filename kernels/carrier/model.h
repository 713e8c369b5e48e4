// What is computed once for a constellation, a power and an amplitude handling, and then used for
// every frame: which function of a symbol's amplitude takes the modulation off best, and what a
// symbol says of what was sent and of its phase, at each of a row of SNRs.
//
// For SNR gamma, s2 = 1 / gamma, a symbol z = s + noise of a constellation of unit energy:
//   p(z)   = mean over the points s of exp(-|z - s|^2 / s2) / (pi s2)
//   soft   = E[s | z], energy = E[|s|^2 | z]
//   fit    = ln p(z) - ln of the mean of p over a full turn of z    (ln I0 sums over the radii)
// The derivative of ln p to a phase error is (2 / s2) Im(z conj(soft)) (its sign: see score in
// recover_math.h), and its mean square the Fisher information of a blind estimator: the Cramer-Rao
// bounds without known symbols are var(phase at the centre) >= 1 / (N J),
// var(f) >= 12 / ((2 pi)^2 J N (N^2 - 1)).
//   weight_p(rho) = E[exp(j p arg z) | |z| = rho], conjugated: the weight with which the unit vector
//     exp(j p arg z) adds to the line so that its power over the noise's is the greatest
//     = conj( sum_k exp(j p arg s_k - |s_k|^2/s2) I_p(2 rho |s_k| / s2) )
//             / sum_k exp(-|s_k|^2/s2) I_0(2 rho |s_k| / s2).
// exp(-j p x) of the line's phase is thus free of the constellation's own: weight x symbol^p has a
// real positive mean when phi = 0.
#ifndef BASEBAND_KERNELS_CARRIER_MODEL_H_
#define BASEBAND_KERNELS_CARRIER_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/carrier/constellation.h"
#include "kernels/carrier/nearest.h"

namespace baseband::carrier {

inline constexpr int kMaxPower = 64;

enum class Amplitude : uint8_t { kWeighted, kPlain, kUnit };

// One node of the soft table.
struct alignas(16) SoftNode {
  float i = 0.0F;  // soft
  float q = 0.0F;
  float fit = 0.0F;
  float energy = 0.0F;
};

inline constexpr int kNumSnrs = 9;          // operating SNR - 4, -2, .. +12 dB
inline constexpr float kSnrStepDb = 2.0F;
inline constexpr float kFirstSnrDb = -4.0F;  // relative to the operating SNR
inline constexpr int kWeightNodes = 256;     // over |z| in [0, weight_extent]

// Plain numbers of one SNR.
struct SnrFacts {
  float snr_db = 0.0F;
  float information = 0.0F;     // J: Fisher information of a symbol about the phase, rad^-2
  float line = 0.0F;            // E of the line per symbol, |E[w x]|^2 / E[|w x|^2]
  float fit = 0.0F;             // E[fit] of a rightly corrected symbol, nats
  float hard_distance = 0.0F;   // E of the squared distance to the nearest point
};

// The tables as the devices read them; plain arrays. Soft table: nodes at origin + k / nodes_per_unit
// along each axis, row = q, bilinear between them, clamped at the edge. Folded: first quadrant, with
// |i|, |q| looked up and the signs given back to soft.
struct ModelView {
  int power = 0;
  int symmetry = 1;
  int folded = 0;
  int side = 0;  // nodes along each axis
  float origin = 0.0F;
  float nodes_per_unit = 0.0F;
  float weight_nodes_per_unit = 0.0F;
  const SoftNode* soft = nullptr;   // [kNumSnrs][side][side]
  const Iq* weight = nullptr;       // [kNumSnrs][kWeightNodes], linear between them, clamped
  const SnrFacts* facts = nullptr;  // [kNumSnrs]
  NearestView nearest;
};

class Model;
using ModelPtr = std::shared_ptr<const Model>;

// Immutable: shared by all threads.
class Model {
 public:
  // `power` 0: the least p, a multiple of symmetry(), among those whose line at the operating SNR is
  // at least 0.7 of the best one's and whose range 1 / (2 p) holds `max_frequency`. InvalidArgument:
  // power not in [1, kMaxPower], no multiple of the symmetry, or without any line; a max_frequency
  // beyond 1 / (2 p), saying that limit. Takes some milliseconds.
  static absl::StatusOr<ModelPtr> Create(ConstellationPtr constellation, Amplitude amplitude,
                                         int power, double max_frequency);

  const Constellation& constellation() const { return *constellation_; }
  Amplitude amplitude() const { return amplitude_; }
  int power() const { return power_; }
  // 1 / (2 power): larger |f| cannot be told from its alias without known symbols.
  double max_frequency() const { return 0.5 / power_; }
  // Differs from that of every other model of this process.
  uint64_t id() const { return id_; }
  ModelView view() const;

 private:
  Model() = default;

  ConstellationPtr constellation_;
  Amplitude amplitude_ = Amplitude::kWeighted;
  int power_ = 0;
  uint64_t id_ = 0;
  ModelView shape_;
  std::vector<SoftNode> soft_;
  std::vector<Iq> weight_;
  std::vector<SnrFacts> facts_;
  std::unique_ptr<NearestGrid> nearest_;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MODEL_H_
