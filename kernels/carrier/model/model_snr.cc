#include "kernels/carrier/model/model_snr.h"

#include <algorithm>
#include <array>
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
// Sums over the nodes are sums over the plane as long as the noise's standard deviation is this
// many steps; beyond, each point has places of its own, so many to either side along each axis.
constexpr float kLeastSteps = 0.8F;
constexpr float kPlacesPerDeviation = 1.6F;
constexpr int kPlacesAside = 8;
// Points that are further from a point, in standard deviations, say nothing at its places.
constexpr float kNearPoints = 17.5F;

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

// Sums over the plane of what is said at its places, each weighted by its probability.
//
// Of the noise UpdateNoise sees E[d] / g^2, d = |z|^2 - 2 g Re(z conj(soft)) + g^2 energy at the
// least, where g = E[Re(z conj(soft))] / E[energy]. Where the table is right g = 1 and E[d] = s2,
// d ln p / d ln s2 = d / s2 - 1, and so
//   d E[d] / d ln s2 = s2 E[(d / s2 - 1) d / s2], d g / d ln s2 = -E[(d / s2 - 1) excess].
struct PlaneSums {
  double probability = 0.0;
  double information = 0.0;
  double fit = 0.0;
  double hard = 0.0;
  double distance_response = 0.0;
  double excess_response = 0.0;

  // What a node says at (i, q), its fit included.
  void Add(double i, double q, const SoftNode& node, double hard_distance, double noise,
           double weight) {
    const double along = i * node.i + q * node.q;
    const double score = 2.0 / noise * (q * node.i - i * node.q);
    const double distance = (i * i + q * q - 2.0 * along + node.energy) / noise;
    probability += weight;
    information += weight * score * score;
    fit += weight * node.fit;
    hard += weight * hard_distance;
    distance_response += weight * (distance - 1.0) * distance;
    excess_response += weight * (distance - 1.0) * (node.energy - along);
  }
  void SetFacts(SnrFacts* facts) const {
    facts->information = static_cast<float>(information / probability);
    facts->fit = static_cast<float>(fit / probability);
    facts->hard_distance = static_cast<float>(hard / probability);
    facts->gain_response =
        static_cast<float>(std::clamp(-excess_response / probability, -1.0, 1.0));
    const double response = (distance_response + 2.0 * excess_response) / probability;
    facts->noise_response = static_cast<float>(std::clamp(response, 0.05, 1.0));
  }
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
    SumPoints(constellation_.points(), facts->noise, places, places.at(row),
              tables->soft.data() + at, hard_.data() + at);
  }
  BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
  turns_.count = kRadialNodes;
  turns_.step = (outermost_ + ReachOfNoise(facts->noise)) * std::sqrt(2.0F) / (kRadialNodes - 2);
  SumRings(rings_, facts->noise, turns_, ln_turn_.data());

  PlaneSums sums;
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
      node.fit -= LnTurn(i, q);
      sums.Add(i, q, node, hard_[at], facts->noise, probability);
    }
  }
  if (std::sqrt(0.5F * facts->noise) >= kLeastSteps * places.step) {
    sums.SetFacts(facts);
    return absl::OkStatus();
  }
  return MakeFactsAroundPoints(facts, may_continue);
}

// By the mean over the points, and over noise around each.
absl::Status SnrTableMaker::MakeFactsAroundPoints(SnrFacts* facts,
                                                  const ContinueCheck& may_continue) {
  constexpr int kPlaces = 2 * kPlacesAside + 1;
  const float deviation = std::sqrt(0.5F * facts->noise);
  const float step = deviation / kPlacesPerDeviation;
  const absl::Span<const Iq> points = constellation_.points();
  std::array<SoftNode, kPlaces> nodes;
  std::array<float, kPlaces> hard;
  std::vector<Iq> near;
  PlaneSums sums;
  for (const Iq& point : points) {
    BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    near.clear();
    for (const Iq& other : points) {
      const float distance = std::hypot(other.i - point.i, other.q - point.q);
      if (distance <= kNearPoints * deviation) near.push_back(other);
    }
    const float ln_share =
        std::log(static_cast<float>(near.size()) / static_cast<float>(points.size()));
    Places places;
    places.count = kPlaces;
    places.first = point.i - kPlacesAside * step;
    places.step = step;
    for (int row = 0; row < kPlaces; ++row) {
      const float dq = step * static_cast<float>(row - kPlacesAside);
      SumPoints(near, facts->noise, places, point.q + dq, nodes.data(), hard.data());
      for (int column = 0; column < kPlaces; ++column) {
        const float di = step * static_cast<float>(column - kPlacesAside);
        const float i = places.at(column);
        SoftNode& node = nodes[static_cast<size_t>(column)];
        node.fit += ln_share - LnTurn(i, point.q + dq);
        const double probability = std::exp(-double{di * di + dq * dq} / facts->noise);
        sums.Add(i, point.q + dq, node, hard[static_cast<size_t>(column)], facts->noise,
                 probability);
      }
    }
  }
  sums.SetFacts(facts);
  return absl::OkStatus();
}

float SnrTableMaker::LnTurn(float i, float q) const {
  const float place = std::min(std::hypot(i, q) / turns_.step, kRadialNodes - 2.0F);
  const int below = static_cast<int>(place);
  const float turn = ln_turn_[static_cast<size_t>(below)];
  const float next = ln_turn_[static_cast<size_t>(below) + 1];
  return turn + (place - static_cast<float>(below)) * (next - turn);
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
