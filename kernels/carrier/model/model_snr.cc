#include "kernels/carrier/model/model_snr.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/base/status_macros.h"
#include "kernels/carrier/math/line_math.h"

namespace baseband::carrier {
namespace {

// Noise standard deviations (of one axis) that tables reach beyond the outermost points.
constexpr float kReach = 4.0F;
// Nodes between two neighbouring points at the operating SNR, and along an axis of a quadrant.
constexpr float kNodesPerDistance = 5.0F;
constexpr int kMinNodes = 48;
constexpr int kMaxNodes = 128;
constexpr int kRadialNodes = 1024;

float ReachOfNoise(float noise) { return kReach * std::sqrt(0.5F * noise); }

float LeastDistance(absl::Span<const Iq> points) {
  float least = 1e9F;
  for (size_t k = 0; k < points.size(); ++k) {
    for (size_t j = 0; j < k; ++j) {
      least = std::min(least, std::hypot(points[k].i - points[j].i, points[k].q - points[j].q));
    }
  }
  return least;
}

Places WeightPlaces(const Rings& rings, float noise) {
  Places places;
  places.count = kWeightNodes;
  places.step = (rings.radii.back() + ReachOfNoise(noise)) / (kWeightNodes - 1);
  return places;
}

// Of |z| = rho at one SNR, on `places`: the density of rho and E[exp(j p arg z)].
struct Radial {
  Places places;
  std::vector<float> density;
  std::vector<Iq> moments;
};
Radial RadialOf(const Rings& rings, absl::Span<const Iq> harmonics, int power, float noise,
                const Places& places) {
  Radial radial;
  radial.places = places;
  const auto count = static_cast<size_t>(places.count);
  std::vector<float> ln_turn(count);
  radial.density.resize(count);
  radial.moments.resize(count);
  SumRings(rings, noise, places, ln_turn.data());
  SumHarmonics(rings, harmonics, power, noise, places, radial.moments.data());
  double sum = 0.0;
  for (size_t k = 0; k < count; ++k) {
    radial.density[k] = std::exp(ln_turn[k]) * places.at(static_cast<int>(k));
    sum += double{radial.density[k]};
  }
  for (float& density : radial.density) density = static_cast<float>(density / sum);
  return radial;
}

// The weights of model.h, scaled, to `weights`. Returns the line's part of the power; without a
// line the weights are 0.
double MakeWeights(const Radial& radial, Amplitude amplitude, int power, Iq* weights) {
  double line_i = 0.0;
  double line_q = 0.0;
  double energy = 0.0;
  const float last = radial.places.at(radial.places.count - 1);  // rho^p could be beyond float32
  const auto float_power = static_cast<float>(power);
  for (size_t k = 0; k < radial.density.size(); ++k) {
    const float rho = radial.places.at(static_cast<int>(k));
    const Iq moment = radial.moments[k];
    Iq weight = {moment.i, -moment.q};
    if (amplitude != Amplitude::kWeighted) {
      weight = {amplitude == Amplitude::kUnit ? 1.0F : std::pow(rho / last, float_power), 0.0F};
    }
    weights[k] = weight;
    const Iq product = Multiply(weight, moment);
    line_i += double{radial.density[k]} * product.i;
    line_q += double{radial.density[k]} * product.q;
    energy +=
        double{radial.density[k]} * (double{weight.i} * weight.i + double{weight.q} * weight.q);
  }
  const double magnitude = std::hypot(line_i, line_q);
  const double line = energy > 0.0 ? magnitude * magnitude / energy : 0.0;
  Iq scale;
  if (line > 0.0) {
    const double factor = 1.0 / (magnitude * std::sqrt(energy));
    scale = {static_cast<float>(line_i * factor), static_cast<float>(-line_q * factor)};
  }
  for (size_t k = 0; k < radial.density.size(); ++k) weights[k] = Multiply(weights[k], scale);
  return line;
}

// Sums over the plane of what a table's nodes say, each weighted by its probability.
struct PlaneSums {
  double probability = 0.0;
  double information = 0.0;
  double fit = 0.0;
  double hard = 0.0;
  double projection_response = 0.0;  // d E[Re(z conj(soft))] / d ln s2
  double energy_response = 0.0;      // d E[energy] / d ln s2
};

}  // namespace

float NoiseOfSnr(double snr_db) { return static_cast<float>(std::pow(10.0, -0.1 * snr_db)); }

double LineOf(const Rings& rings, Amplitude amplitude, int power, float noise) {
  std::vector<Iq> harmonics;
  rings.Harmonics(power, &harmonics);
  std::vector<Iq> weights(kWeightNodes);
  const Places places = WeightPlaces(rings, noise);
  return MakeWeights(RadialOf(rings, harmonics, power, noise, places), amplitude, power,
                     weights.data());
}

SnrTableMaker::SnrTableMaker(const Constellation& constellation, const Rings& rings,
                             Amplitude amplitude, int power)
    : constellation_(constellation), rings_(rings), amplitude_(amplitude), power_(power) {
  for (const Iq& point : constellation.points()) {
    outermost_ = std::max({outermost_, std::fabs(point.i), std::fabs(point.q)});
  }
  const float noise = NoiseOfSnr(constellation.operating_snr_db());
  const float nodes = std::ceil(kNodesPerDistance * (outermost_ + ReachOfNoise(noise)) /
                                LeastDistance(constellation.points()));
  side_ = static_cast<int>(std::clamp<float>(nodes, kMinNodes, kMaxNodes));
  if (!constellation.mirror_symmetric()) side_ *= 2;
  weight_places_ = WeightPlaces(rings, NoiseOfSnr(constellation.operating_snr_db() - kSnrsBelow));
  rings.Harmonics(power, &harmonics_);
}

absl::Status SnrTableMaker::MakeSoft(SnrTables* tables, const ContinueCheck& may_continue) {
  SnrFacts* const facts = &tables->facts;
  const auto num_nodes = static_cast<size_t>(side_) * static_cast<size_t>(side_);
  tables->soft.resize(num_nodes);
  hard_.resize(num_nodes);
  ln_turn_.resize(kRadialNodes);
  const bool folded = constellation_.mirror_symmetric();
  const float extent = outermost_ + ReachOfNoise(facts->noise);
  Places places;
  places.count = side_;
  places.first = folded ? 0.0F : -extent;
  places.step = (extent - places.first) / static_cast<float>(side_ - 1);
  facts->origin = places.first;
  facts->nodes_per_unit = 1.0F / places.step;
  for (int row = 0; row < side_; ++row) {
    BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    const auto at = int64_t{row} * side_;
    SumPoints(constellation_.points(), facts->noise, places, row, tables->soft.data() + at,
              hard_.data() + at);
  }
  BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
  Places radial;
  radial.count = kRadialNodes;
  radial.step = extent * std::sqrt(2.0F) / (kRadialNodes - 2);
  SumRings(rings_, facts->noise, radial, ln_turn_.data());

  PlaneSums sums;
  const double noise = facts->noise;
  const auto edge = [&](int k) { return k == side_ - 1 || k == 0 ? 0.5 : 1.0; };
  for (int row = 0; row < side_; ++row) {
    BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    const float q = places.at(row);
    for (int column = 0; column < side_; ++column) {
      const float i = places.at(column);
      const size_t at =
          static_cast<size_t>(row) * static_cast<size_t>(side_) + static_cast<size_t>(column);
      SoftNode& node = tables->soft[at];
      const double probability = std::exp(node.fit) * edge(row) * edge(column);
      const float place = std::hypot(i, q) / radial.step;
      const int below = static_cast<int>(place);
      const float turn = ln_turn_[static_cast<size_t>(below)];
      const float next = ln_turn_[static_cast<size_t>(below) + 1];
      node.fit -= turn + (place - static_cast<float>(below)) * (next - turn);
      const double along = double{i} * node.i + double{q} * node.q;
      const double score = 2.0 / noise * (double{q} * node.i - double{i} * node.q);
      const double power = double{i} * i + double{q} * q;
      const double response =
          (power - 2.0 * along + node.energy) / noise - 1.0;  // d ln p / d ln s2
      sums.probability += probability;
      sums.information += probability * score * score;
      sums.fit += probability * node.fit;
      sums.hard += probability * hard_[at];
      sums.projection_response += probability * response * along;
      sums.energy_response += probability * response * node.energy;
    }
  }
  facts->information = static_cast<float>(sums.information / sums.probability);
  facts->fit = static_cast<float>(sums.fit / sums.probability);
  facts->hard_distance = static_cast<float>(sums.hard / sums.probability);
  // UpdateNoise sees M = E2 T2^2 / T1^2 - T2 with T1 = T2 = 1, E2 = 1 + s2 where the table is
  // right.
  const double projection = sums.projection_response / sums.probability;
  const double energy = sums.energy_response / sums.probability;
  const double response =
      1.0 + ((2.0 * (1.0 + noise) - 1.0) * energy - 2.0 * (1.0 + noise) * projection) / noise;
  facts->noise_response = static_cast<float>(std::clamp(response, 0.05, 1.0));
  return absl::OkStatus();
}

void SnrTableMaker::MakeAmplitudes(SnrTables* tables) const {
  tables->amplitude.resize(kAmplitudeBins);
  const float rms = std::sqrt(1.0F + tables->facts.noise);
  Places places;
  places.count = kAmplitudeBins;
  places.step = rms * kAmplitudeExtent / kAmplitudeBins;
  places.first = 0.5F * places.step;
  SumRings(rings_, tables->facts.noise, places, tables->amplitude.data());
  for (float& ln_density : tables->amplitude) ln_density += 2.0F * std::log(rms);
}

absl::StatusOr<SnrTables> SnrTableMaker::Make(double snr_db, const ContinueCheck& may_continue) {
  SnrTables tables;
  tables.facts.snr_db = static_cast<float>(snr_db);
  tables.facts.noise = NoiseOfSnr(snr_db);
  BASEBAND_RETURN_IF_ERROR(MakeSoft(&tables, may_continue));
  BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
  MakeAmplitudes(&tables);
  BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
  tables.weight.resize(kWeightNodes);
  const Radial radial = RadialOf(rings_, harmonics_, power_, tables.facts.noise, weight_places_);
  tables.facts.line =
      static_cast<float>(MakeWeights(radial, amplitude_, power_, tables.weight.data()));
  return tables;
}

}  // namespace baseband::carrier
