// Signal constellations: those of the standards by name, or a client's own points.
//
// Sources: PSK and QAM of 3GPP TS 38.211 clause 5.1 (BPSK, QPSK, 16/64/256/1024QAM); 8PSK and the
// APSK layouts of ETSI EN 302 307-1 clause 5.4 (DVB-S2) and EN 302 307-2 clause 5.4 (DVB-S2X), with
// the ring radii of each code rate. 32QAM, 128QAM and 512QAM are the usual crosses.
#ifndef BASEBAND_KERNELS_CARRIER_CONSTELLATION_H_
#define BASEBAND_KERNELS_CARRIER_CONSTELLATION_H_

#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace baseband::carrier {

// One complex sample or point: in-phase and quadrature.
struct Iq {
  float i = 0.0F;
  float q = 0.0F;
};
static_assert(sizeof(Iq) == 8, "as two float32 on the wire and on the device");

inline constexpr int kMaxPoints = 1024;

class Constellation;
using ConstellationPtr = std::shared_ptr<const Constellation>;

// Immutable: shared by all threads.
class Constellation {
 public:
  // By its name, one of ConstellationNames(), letter case ignored: "QPSK", "64QAM",
  // "32APSK 3/4", "64APSK 132/180". InvalidArgument names what was asked for and the nearest name.
  static absl::StatusOr<ConstellationPtr> FromName(absl::string_view name);
  // 2 .. kMaxPoints finite, different points, not all zero; scaled to unit mean energy.
  // InvalidArgument names the point.
  static absl::StatusOr<ConstellationPtr> FromPoints(absl::Span<const Iq> points);

  const std::string& name() const { return name_; }  // "custom" for FromPoints
  // Unit mean energy. The index is the label, first transmitted bit most significant; for
  // FromPoints the order given.
  absl::Span<const Iq> points() const { return points_; }
  int size() const { return static_cast<int>(points_.size()); }
  // sqrt(size) when the points are a full square grid of odd multiples of one spacing, in any
  // order; else 0.
  int qam_side() const { return qam_side_; }
  // Largest order n such that turning by 2 pi / n maps the points onto themselves, to within 0.002
  // of the unit radius (128APSK is 8-fold symmetric only to 0.0016: the standard rounds its
  // angles). The phase can be told modulo 2 pi / n, no better.
  int symmetry() const { return symmetry_; }
  // For every point its mirror images in I and in Q are points too: to the bit, for points within
  // 1e-6 of that have been made so.
  bool mirror_symmetric() const { return mirror_symmetric_; }
  // Es/N0 in dB at which the constellation is used: the ideal threshold of its DVB-S2/S2X code rate
  // (QPSK: 1/2, 8PSK: 2/3); without one, where uncoded symbols are wrong about one time in ten.
  // Custom points: where the cutoff rate is 0.88 log2(size), which for QAM is within 1.5 dB of
  // that.
  double operating_snr_db() const { return operating_snr_db_; }

 private:
  Constellation() = default;
  static absl::StatusOr<ConstellationPtr> Create(std::string name,
                                                 absl::Span<const std::complex<double>> points,
                                                 absl::optional<double> operating_snr_db);

  std::string name_;
  std::vector<Iq> points_;
  int qam_side_ = 0;
  int symmetry_ = 1;
  bool mirror_symmetric_ = false;
  double operating_snr_db_ = 0.0;
};

// All names, PSK and QAM first, then APSK by size and code rate. An APSK of the short frame whose
// radii differ from the normal frame's at the same code rate has " short" at its end.
const std::vector<std::string>& ConstellationNames();

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_CONSTELLATION_H_
