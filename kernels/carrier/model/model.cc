#include "kernels/carrier/model.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/carrier/model/alias_gap.h"
#include "kernels/carrier/model/model_snr.h"
#include "kernels/carrier/model/model_tables.h"

namespace baseband::carrier {
namespace {

// Tables for ever lower SNRs are made as long as a symbol says this much, nats.
constexpr float kLeastFit = 0.002F;
// A line this weak, per symbol, is none: 2^20 symbols of it are lost in noise.
constexpr double kLeastLine = 1e-5;
constexpr double kGoodLine = 0.7;  // of the best one's: fewer aliases are worth the difference

// ModelView::spacing.
float SpacingOf(absl::Span<const Iq> points) {
  float nearest = std::numeric_limits<float>::infinity();
  float furthest = 0.0F;
  for (size_t k = 0; k < points.size(); ++k) {
    furthest = std::max(furthest, std::hypot(points[k].i, points[k].q));
    for (size_t other = 0; other < k; ++other) {
      nearest = std::min(nearest,
                         std::hypot(points[k].i - points[other].i, points[k].q - points[other].q));
    }
  }
  return nearest / furthest;
}

absl::StatusOr<int> ChoosePower(const Constellation& constellation, const Rings& rings,
                                Amplitude amplitude, const ContinueCheck& may_continue) {
  const int symmetry = constellation.symmetry();
  const float noise = NoiseOfSnr(constellation.operating_snr_db());
  std::vector<std::pair<int, double>> lines;
  double best = 0.0;
  for (int power = symmetry; power <= kMaxPower; power += symmetry) {
    BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    lines.emplace_back(power, LineOf(rings, amplitude, power, noise));
    best = std::max(best, lines.back().second);
  }
  if (best < kLeastLine) return 0;
  return std::find_if(lines.begin(), lines.end(),
                      [&](const auto& line) { return line.second >= kGoodLine * best; })
      ->first;
}

absl::Status CheckPower(const Constellation& constellation, const Rings& rings, Amplitude amplitude,
                        int power) {
  const int symmetry = constellation.symmetry();
  if (power < 1 || power > kMaxPower || power % symmetry != 0) {
    return absl::InvalidArgumentError(absl::StrCat("power ", power, " is not a multiple of ",
                                                   constellation.name(), "'s symmetry, ", symmetry,
                                                   ", in [", symmetry, ", ", kMaxPower, "]"));
  }
  const float noise = NoiseOfSnr(constellation.operating_snr_db());
  if (LineOf(rings, amplitude, power, noise) < kLeastLine) {
    return absl::InvalidArgumentError(absl::StrCat(
        "power ", power, " leaves no line of ", constellation.name(), "; 0 chooses one that does"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelPtr> Model::Create(ConstellationPtr constellation, Amplitude amplitude,
                                       int power, const ContinueCheck& may_continue) {
  const Rings rings(constellation->points());
  if (power == 0) {
    BASEBAND_ASSIGN_OR_RETURN(power, ChoosePower(*constellation, rings, amplitude, may_continue));
  } else {
    BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    BASEBAND_RETURN_IF_ERROR(CheckPower(*constellation, rings, amplitude, power));
  }
  std::shared_ptr<Model> model(new Model);
  static std::atomic<uint64_t> last_id{0};
  model->id_ = ++last_id;
  model->constellation_ = std::move(constellation);
  model->amplitude_ = amplitude;
  model->has_line_ = power != 0;
  model->power_ = std::max(power, 1);
  BASEBAND_ASSIGN_OR_RETURN(NearestGrid nearest,
                            NearestGrid::Create(*model->constellation_, may_continue));
  model->nearest_ = std::make_unique<NearestGrid>(std::move(nearest));
  BASEBAND_RETURN_IF_ERROR(model->MakeTables(rings, may_continue));
  return model;
}

absl::Status Model::MakeTables(const Rings& rings, const ContinueCheck& may_continue) {
  SnrTableMaker maker(*constellation_, rings, amplitude_, power_);
  const double operating = constellation_->operating_snr_db();
  std::vector<SnrTables> tables;  // from the highest SNR on
  for (double snr_db = operating + kSnrsAbove; tables.size() < kMaxSnrs; snr_db -= kSnrStepDb) {
    const bool needed = snr_db > operating - kSnrsBelow - 0.5 * kSnrStepDb;
    if (!needed && tables.back().facts.fit < kLeastFit) break;
    BASEBAND_ASSIGN_OR_RETURN(SnrTables made, maker.Make(snr_db, may_continue));
    tables.push_back(std::move(made));
  }
  soft_.reserve(tables.size() * tables.front().soft.size());
  for (auto made = tables.rbegin(); made != tables.rend(); ++made) {
    facts_.push_back(made->facts);
    soft_.insert(soft_.end(), made->soft.begin(), made->soft.end());
    weight_.insert(weight_.end(), made->weight.begin(), made->weight.end());
    amplitudes_.insert(amplitudes_.end(), made->amplitude.begin(), made->amplitude.end());
  }
  double moments[3] = {};
  for (const Iq& point : constellation_->points()) {
    const double energy = double{point.i} * point.i + double{point.q} * point.q;
    for (int k = 0; k < 3; ++k) moments[k] += std::pow(energy, k + 2) / constellation_->size();
  }
  shape_.spacing = SpacingOf(constellation_->points());
  shape_.fourth_moment = static_cast<float>(moments[0]);
  shape_.sixth_moment = static_cast<float>(moments[1]);
  shape_.eighth_moment = static_cast<float>(moments[2]);
  shape_.power = power_;
  shape_.symmetry = constellation_->symmetry();
  shape_.num_snrs = static_cast<int>(facts_.size());
  shape_.folded = constellation_->mirror_symmetric() ? 1 : 0;
  shape_.side = maker.side();
  shape_.weight_nodes_per_unit = maker.weight_nodes_per_unit();
  shape_.rings = EvenRingsOf(constellation_->points());
  for (int k = 0; k < shape_.num_snrs; ++k) {
    BASEBAND_RETURN_IF_ERROR(FindAliasGap(view(), k, constellation_->points(), may_continue,
                                          &facts_[static_cast<size_t>(k)]));
  }
  return absl::OkStatus();
}

int64_t Model::bytes() const {
  const auto bytes_of = [](const auto& table) {
    return static_cast<int64_t>(table.capacity() * sizeof(table[0]));
  };
  return bytes_of(soft_) + bytes_of(weight_) + bytes_of(amplitudes_) + bytes_of(facts_);
}

ModelView Model::view() const {
  ModelView view = shape_;
  view.soft = soft_.data();
  view.weight = weight_.data();
  view.amplitude = amplitudes_.data();
  view.facts = facts_.data();
  view.nearest = nearest_->view();
  return view;
}

}  // namespace baseband::carrier
