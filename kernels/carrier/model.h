// What is computed once for a constellation, a power and an amplitude handling, and then used for
// every frame: which function of a symbol's amplitude takes the modulation off best, and what a
// symbol says of what was sent and of its phase, at each of a row of SNRs.
//
// For SNR gamma, s2 = 1 / gamma, a symbol z = s + noise of a constellation of unit mean energy:
//   p(z)   = mean over the points s of exp(-|z - s|^2 / s2) / (pi s2)
//   soft   = E[s | z], energy = E[|s|^2 | z]
//   fit    = ln p(z) - ln of the mean of p over a full turn of z    (ln I0 sums over the radii)
// A turn of z by a small angle raises ln p by (2 / s2) Im(z conj(soft)) times minus that angle; the
// mean square of that slope is the Fisher information J of a blind estimator, and the Cramer-Rao
// bounds without known symbols are
//   var(phase at the centre) >= 1 / (N J), var(f) >= 12 / ((2 pi)^2 J N (N^2 - 1)).
// The mean of exp(fit) over a full turn of z is 1 whatever |z| is: a frame of random phases reaches
// a fit of t with a probability of exp(-t) at most.
//   weight(rho) = conj(E[exp(j p arg z) | |z| = rho]): the weight with which exp(j p arg z) must be
// added up for the line's power over the noise's to be the greatest,
//     = conj( sum_k exp(j p arg s_k - |s_k|^2 / s2) I_p(2 rho |s_k| / s2) )
//             / sum_k exp(-|s_k|^2 / s2) I_0(2 rho |s_k| / s2).
// So weight * exp(j p arg z) has a real positive mean at phase 0. Amplitude::kPlain has rho^p and
// kUnit 1 in its place, times the one phase that makes that mean real and positive. All are scaled
// to a mean |weight|^2 of 1.
//   amplitude(u) = ln of the density of r / rms(r) at |r| / rms(r) = u, per unit of area: what the
// amplitudes alone say of the SNR, before anything is known of the phase.
#ifndef BASEBAND_KERNELS_CARRIER_MODEL_H_
#define BASEBAND_KERNELS_CARRIER_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/base/continue_check.h"
#include "kernels/carrier/constellation.h"
#include "kernels/carrier/constellation/even_rings.h"
#include "kernels/carrier/constellation/nearest.h"

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

// The tables stand for SNRs 2 dB apart, up to 12 dB above the constellation's operating SNR, and
// down to 4 dB below it, or further, as long as a blind frame can be told from noise: QAM has its
// corners, down to a few dB.
inline constexpr float kSnrStepDb = 2.0F;
inline constexpr float kSnrsAbove = 12.0F;
inline constexpr float kSnrsBelow = 4.0F;
inline constexpr int kMaxSnrs = 24;
inline constexpr int kWeightNodes = 256;
inline constexpr int kAmplitudeBins = 256;  // of u, in [0, kAmplitudeExtent)
inline constexpr float kAmplitudeExtent = 3.0F;

// Plain numbers of one SNR.
struct SnrFacts {
  float snr_db = 0.0F;
  float noise = 0.0F;          // s2
  float information = 0.0F;    // J: Fisher information of a symbol about the phase, rad^-2
  float line = 0.0F;           // |E[w x]|^2 / E[|w x|^2], the line's part of the power
  float fit = 0.0F;            // E[fit] of a rightly corrected symbol, nats
  float hard_distance = 0.0F;  // E of the squared distance to the nearest point
  // Soft decisions made with this table see a little of an error in its noise only: how many times
  // the error of ln s2 is what is seen of it, in (0, 1] (see NoiseOf in recover_math.h).
  float noise_response = 1.0F;
  // By so much they take ln A for greater, times the same error.
  float gain_response = 0.0F;
  // By how many nats a symbol makes the carrier likelier than the likeliest other one that its
  // line leaves open (hypothesis_math.h), on the average, and the mean square of that. 0: its line
  // leaves none open.
  float alias_gap = 0.0F;
  float alias_square = 0.0F;
  // Its soft table reaches as far as symbols do at this SNR.
  float origin = 0.0F;  // coordinate of the first node: 0 if folded
  float nodes_per_unit = 0.0F;
};

// The tables as the devices read them; plain arrays. Soft table of an SNR: nodes at
// origin + k / nodes_per_unit (see its facts) along each axis, row = q, bilinear between them, the
// coordinates clamped at the edge. Folded: first quadrant, with |i|, |q| looked up and the signs
// given back to soft.
struct ModelView {
  int power = 0;
  int symmetry = 1;
  int num_snrs = 0;  // facts[k].snr_db = facts[0].snr_db + k * kSnrStepDb
  int folded = 0;
  int side = 0;                        // nodes along each axis
  float weight_nodes_per_unit = 0.0F;  // over |z|
  float fourth_moment = 1.0F;          // E|s|^4, each point equally likely
  float sixth_moment = 1.0F;
  float eighth_moment = 1.0F;
  float spacing = 1.0F;  // least distance of two points over the greatest magnitude: about an angle
  const SoftNode* soft = nullptr;    // [num_snrs][side][side]
  const Iq* weight = nullptr;        // [num_snrs][kWeightNodes], linear between them, clamped
  const float* amplitude = nullptr;  // [num_snrs][kAmplitudeBins], at the bins' centres
  const SnrFacts* facts = nullptr;   // [num_snrs]
  NearestView nearest;
  EvenRings rings;
};

struct Rings;
class Model;
using ModelPtr = std::shared_ptr<const Model>;

// Immutable: shared by all threads.
class Model {
 public:
  // `power` 0: the least p, a multiple of symmetry(), among those whose line at the operating SNR
  // is at least 0.7 of the best one's. Without any such line the model serves known symbols only,
  // see has_line. InvalidArgument: power not in [1, kMaxPower], no multiple of the symmetry, or
  // without a line. Takes some milliseconds, up to a second for 1024 points of no
  // symmetry; what `may_continue`, asked every few milliseconds, says other than OK ends it.
  static absl::StatusOr<ModelPtr> Create(ConstellationPtr constellation, Amplitude amplitude,
                                         int power, const ContinueCheck& may_continue = nullptr);

  const Constellation& constellation() const { return *constellation_; }
  Amplitude amplitude() const { return amplitude_; }
  int power() const { return power_; }
  // Whether symbols raised to power() have a line. Without one power() is 1 and Coarse::kPower is
  // refused.
  bool has_line() const { return has_line_; }
  // 1 / (2 symmetry): a larger |f| cannot be told from its alias without known symbols. (The line
  // itself has the same frequency for every f + k / power; the symbols tell these apart.)
  double max_frequency() const { return 0.5 / constellation_->symmetry(); }
  // Differs from that of every other model of this process.
  uint64_t id() const { return id_; }
  ModelView view() const;
  // Of the tables, which are nearly all of it: up to 25 MB.
  int64_t bytes() const;

 private:
  Model() = default;
  absl::Status MakeTables(const Rings& rings, const ContinueCheck& may_continue);

  ConstellationPtr constellation_;
  Amplitude amplitude_ = Amplitude::kWeighted;
  int power_ = 0;
  bool has_line_ = false;
  uint64_t id_ = 0;
  ModelView shape_;
  std::vector<SoftNode> soft_;
  std::vector<Iq> weight_;
  std::vector<float> amplitudes_;
  std::vector<SnrFacts> facts_;
  std::unique_ptr<NearestGrid> nearest_;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MODEL_H_
