#include "kernels/carrier/constellation.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/carrier/constellation/constellation_facts.h"
#include "kernels/carrier/constellation/named_points.h"

namespace baseband::carrier {
namespace {

// How many letters must be put in, taken out or changed to make `b` of `a`.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

absl::Status UnknownName(absl::string_view name) {
  constexpr size_t kMaxEchoed = 40;
  const std::string asked = absl::AsciiStrToUpper(name.substr(0, kMaxEchoed));
  const std::vector<std::string>& names = ConstellationNames();
  const auto nearest =
      std::min_element(names.begin(), names.end(), [&](const auto& a, const auto& b) {
        return EditDistance(asked, absl::AsciiStrToUpper(a)) <
               EditDistance(asked, absl::AsciiStrToUpper(b));
      });
  return absl::InvalidArgumentError(
      absl::StrCat("constellation \"", absl::CHexEscape(name.substr(0, kMaxEchoed)),
                   "\" is unknown; the nearest name is \"", *nearest, "\""));
}

// Unit mean energy; InvalidArgument as FromPoints.
absl::StatusOr<std::vector<Iq>> Normalised(absl::Span<const std::complex<double>> points) {
  double energy = 0.0;
  for (size_t k = 0; k < points.size(); ++k) {
    if (!std::isfinite(points[k].real()) || !std::isfinite(points[k].imag())) {
      return absl::InvalidArgumentError(absl::StrCat("points: point ", k, ", (", points[k].real(),
                                                     ", ", points[k].imag(), "), is not finite"));
    }
    energy += std::norm(points[k]) / static_cast<double>(points.size());
  }
  if (energy == 0.0) {
    return absl::InvalidArgumentError("points are all zero");
  }
  const double scale = 1.0 / std::sqrt(energy);
  std::vector<Iq> scaled;
  for (const std::complex<double>& point : points) {
    scaled.push_back(
        {static_cast<float>(point.real() * scale), static_cast<float>(point.imag() * scale)});
  }
  return scaled;
}

absl::Status CheckDifferent(absl::Span<const Iq> points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto place = [&](size_t k) { return std::make_tuple(points[k].i, points[k].q, k); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  for (size_t k = 1; k < order.size(); ++k) {
    const Iq& a = points[order[k - 1]];
    const Iq& b = points[order[k]];
    if (a.i == b.i && a.q == b.q) {
      return absl::InvalidArgumentError(
          absl::StrCat("points: point ", order[k], " is the same as point ", order[k - 1], ", (",
                       b.i, ", ", b.q, ") at unit mean energy in float32"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ConstellationPtr> Constellation::Create(
    std::string name, absl::Span<const std::complex<double>> points,
    absl::optional<double> operating_snr_db) {
  auto made = std::shared_ptr<Constellation>(new Constellation());
  made->name_ = std::move(name);
  BASEBAND_ASSIGN_OR_RETURN(made->points_, Normalised(points));
  BASEBAND_RETURN_IF_ERROR(CheckDifferent(made->points_));
  made->mirror_symmetric_ = MakeMirrorSymmetric(&made->points_);
  made->symmetry_ = SymmetryOf(made->points_);
  made->qam_side_ = made->mirror_symmetric_ ? QamSideOf(made->points_) : 0;
  made->operating_snr_db_ =
      operating_snr_db.has_value() ? *operating_snr_db : CutoffSnrDb(made->points_);
  return ConstellationPtr(std::move(made));
}

absl::StatusOr<ConstellationPtr> Constellation::FromName(absl::string_view name) {
  const std::vector<std::string>& names = ConstellationNames();
  const auto it = std::find_if(names.begin(), names.end(), [name](const std::string& known) {
    return absl::EqualsIgnoreCase(known, name);
  });
  if (it == names.end()) {
    return UnknownName(name);
  }
  const NamedPoints named = NamedPointsAt(static_cast<int>(it - names.begin()));
  return Create(named.name, named.points, named.operating_snr_db);
}

absl::StatusOr<ConstellationPtr> Constellation::FromPoints(absl::Span<const Iq> points) {
  if (points.size() < 2 || points.size() > static_cast<size_t>(kMaxPoints)) {
    return absl::InvalidArgumentError(
        absl::StrCat("points has ", points.size(), " points, not 2 .. ", kMaxPoints));
  }
  std::vector<std::complex<double>> wide;
  for (const Iq& point : points) {
    wide.emplace_back(point.i, point.q);
  }
  return Create("custom", wide, absl::nullopt);
}

const std::vector<std::string>& ConstellationNames() {
  static const auto* const kNames = [] {
    auto* names = new std::vector<std::string>();
    for (int index = 0; index < NumNamedPoints(); ++index) {
      names->push_back(NameAt(index));
    }
    return names;
  }();
  return *kNames;
}

}  // namespace baseband::carrier
