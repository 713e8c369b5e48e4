// The tables of one SNR; model.h puts a row of them together.
#ifndef BASEBAND_KERNELS_CARRIER_MODEL_MODEL_SNR_H_
#define BASEBAND_KERNELS_CARRIER_MODEL_MODEL_SNR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/continue_check.h"
#include "kernels/carrier/constellation.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/model/model_tables.h"

namespace baseband::carrier {

float NoiseOfSnr(double snr_db);

// The line's part of the power per symbol, at `noise`, when `power` takes the modulation off.
double LineOf(const Rings& rings, Amplitude amplitude, int power, float noise);

struct SnrTables {
  SnrFacts facts;
  std::vector<SoftNode> soft;
  std::vector<Iq> weight;
  std::vector<float> amplitude;
};

// Makes them for one SNR after another, all of the same size.
class SnrTableMaker {
 public:
  // Borrows both.
  SnrTableMaker(const Constellation& constellation, const Rings& rings, Amplitude amplitude,
                int power);
  int side() const { return side_; }
  float weight_nodes_per_unit() const { return 1.0F / weight_places_.step; }
  // What `may_continue` says other than OK ends it, within milliseconds.
  absl::StatusOr<SnrTables> Make(double snr_db, const ContinueCheck& may_continue);

 private:
  absl::Status MakeSoft(SnrTables* tables, const ContinueCheck& may_continue);
  absl::Status MakeFactsAroundPoints(SnrFacts* facts, const ContinueCheck& may_continue);
  // ln of the mean of p over a full turn there, from ln_turn_.
  float LnTurn(float i, float q) const;
  void MakeAmplitudes(SnrTables* tables) const;

  const Constellation& constellation_;
  const Rings& rings_;
  Amplitude amplitude_;
  int power_;
  float outermost_ = 0.0F;  // greatest |coordinate|
  int side_ = 0;
  Places weight_places_;
  std::vector<Iq> harmonics_;
  std::vector<float> hard_;  // scratch of MakeSoft
  Places turns_;             // of ln_turn_, of the SNR that MakeSoft is at
  std::vector<float> ln_turn_;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MODEL_MODEL_SNR_H_
