#include "kernels/carrier/model/model_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "kernels/base/simd_targets.h"
#include "kernels/carrier/math/recover_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/carrier/model/model_tables.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
// clang-format on

#ifndef BASEBAND_KERNELS_CARRIER_MODEL_TABLES_SHARED_
#define BASEBAND_KERNELS_CARRIER_MODEL_TABLES_SHARED_
namespace baseband::carrier {

// Terms below exp(-kFar) of the greatest are left out.
inline constexpr float kFar = 25.0F;

// I_p(x) / I_0(x) for all p at places a constant factor apart in x; between them linear in ln x.
class BesselRatios {
 public:
  static constexpr int kNodes = 512;
  static constexpr double kFirst = 1e-2;  // below, and above kLast, the value at the end
  static constexpr double kLast = 1e5;
  static const BesselRatios& Get();
  const float* OfPower(int power) const { return ratios_[static_cast<size_t>(power)].data(); }
  static double NodesPerLn() { return (kNodes - 1) / std::log(kLast / kFirst); }

 private:
  BesselRatios();
  std::array<std::array<float, kNodes>, kMaxPower + 1> ratios_;
};

}  // namespace baseband::carrier
#endif

HWY_BEFORE_NAMESPACE();
namespace baseband::carrier::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

const hn::ScalableTag<float> df;
using V = hn::Vec<decltype(df)>;
constexpr size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

HWY_INLINE V PlacesFrom(const Places& places, int k) {
  const V index = hn::ConvertTo(df, hn::Iota(hn::RebindToSigned<decltype(df)>(), k));
  return hn::MulAdd(index, hn::Set(df, places.step), hn::Set(df, places.first));
}

// The `count` last lanes may lie behind the end of `to`.
HWY_INLINE void StoreSome(V value, int count, float* to) {
  HWY_ALIGN float lanes[kMaxLanes];
  hn::Store(value, df, lanes);
  std::copy(lanes, lanes + count, to);
}

void PointsOfRow(absl::Span<const Iq> points, float noise, const Places& places, float q,
                 SoftNode* nodes, float* hard) {
  const auto lanes = static_cast<int>(hn::Lanes(df));
  const V inverse_noise = hn::Set(df, -1.0F / noise);
  const V far = hn::Set(df, kFar * noise);
  const auto ln_scale = static_cast<float>(
      -std::log(kTurn / 2 * static_cast<double>(noise) * static_cast<double>(points.size())));
  const auto distance = [&](const Iq& point, V i) {
    const V di = hn::Sub(i, hn::Set(df, point.i));
    const float dq = q - point.q;
    return hn::MulAdd(di, di, hn::Set(df, dq * dq));
  };
  for (int column = 0; column < places.count; column += lanes) {
    const V i = PlacesFrom(places, column);
    V nearest = hn::Set(df, 1e30F);
    for (const Iq& point : points) nearest = hn::Min(nearest, distance(point, i));
    const V within = hn::Add(nearest, far);
    V sum = hn::Zero(df);
    V sum_i = hn::Zero(df);
    V sum_q = hn::Zero(df);
    V sum_energy = hn::Zero(df);
    for (const Iq& point : points) {
      const V d = distance(point, i);
      if (hn::AllFalse(df, hn::Lt(d, within))) continue;
      const V e = hn::Exp(df, hn::Mul(hn::Sub(d, nearest), inverse_noise));
      sum = hn::Add(sum, e);
      sum_i = hn::MulAdd(e, hn::Set(df, point.i), sum_i);
      sum_q = hn::MulAdd(e, hn::Set(df, point.q), sum_q);
      const float energy = point.i * point.i + point.q * point.q;
      sum_energy = hn::MulAdd(e, hn::Set(df, energy), sum_energy);
    }
    const V ln =
        hn::MulAdd(nearest, inverse_noise, hn::Add(hn::Log(df, sum), hn::Set(df, ln_scale)));
    const V inverse_sum = hn::Div(hn::Set(df, 1.0F), sum);
    HWY_ALIGN float out[4 * kMaxLanes];
    hn::StoreInterleaved4(hn::Mul(sum_i, inverse_sum), hn::Mul(sum_q, inverse_sum), ln,
                          hn::Mul(sum_energy, inverse_sum), df, out);
    const int count = std::min(lanes, places.count - column);
    for (int k = 0; k < count; ++k) {
      nodes[column + k] = {out[4 * k], out[4 * k + 1], out[4 * k + 2], out[4 * k + 3]};
    }
    StoreSome(nearest, count, hard + column);
  }
}

void SumPointsSimd(absl::Span<const Iq> points, float noise, const Places& places, float q,
                   SoftNode* nodes, float* hard) {
  PointsOfRow(points, noise, places, q, nodes, hard);
}

// I_0(x) exp(-x), x >= 0 (Abramowitz and Stegun 9.8.1, 9.8.2), within 3e-7.
HWY_INLINE V BesselI0Scaled(V x) {
  const auto chain = [](V y, std::initializer_list<float> coefficients) {
    V sum = hn::Zero(df);
    for (const float c : coefficients) sum = hn::MulAdd(sum, y, hn::Set(df, c));
    return sum;
  };
  const V knee = hn::Set(df, 3.75F);
  const V low = hn::Min(x, knee);
  const V y = hn::Mul(hn::Mul(low, low), hn::Set(df, 1.0F / 14.0625F));
  const V small = hn::Mul(
      hn::Exp(df, hn::Neg(low)),
      chain(y, {0.0045813F, 0.0360768F, 0.2659732F, 1.2067492F, 3.0899424F, 3.5156229F, 1.0F}));
  const V high = hn::Max(x, knee);
  const V large = hn::Div(
      chain(hn::Div(knee, high), {0.00392377F, -0.01647633F, 0.02635537F, -0.02057706F, 0.00916281F,
                                  -0.00157565F, 0.00225319F, 0.01328592F, 0.39894228F}),
      hn::Sqrt(high));
  return hn::IfThenElse(hn::Lt(x, knee), small, large);
}

// Calls use(ring, term, x) for the rings that matter at `rho`, term = I_0(x) exp(-(rho^2 + R^2) /
// s2
// + nearest / s2) times the ring's share of the points, x = 2 rho R / s2. Returns `nearest`.
template <typename Use>
HWY_INLINE V ForRings(const Rings& rings, float noise, V rho, const Use& use) {
  const auto distance = [&](size_t ring) {
    const V d = hn::Sub(rho, hn::Set(df, rings.radii[ring]));
    return hn::Mul(d, d);
  };
  V nearest = hn::Set(df, 1e30F);
  for (size_t ring = 0; ring < rings.radii.size(); ++ring) {
    nearest = hn::Min(nearest, distance(ring));
  }
  const V within = hn::Add(nearest, hn::Set(df, kFar * noise));
  const V minus_inverse = hn::Set(df, -1.0F / noise);
  for (size_t ring = 0; ring < rings.radii.size(); ++ring) {
    const V d = distance(ring);
    if (hn::AllFalse(df, hn::Lt(d, within))) continue;
    const V x = hn::Mul(rho, hn::Set(df, 2.0F / noise * rings.radii[ring]));
    const V gauss = hn::Exp(df, hn::Mul(hn::Sub(d, nearest), minus_inverse));
    use(ring, hn::Mul(hn::Set(df, rings.counts[ring]), hn::Mul(gauss, BesselI0Scaled(x))), x);
  }
  return nearest;
}

void SumRingsSimd(const Rings& rings, float noise, const Places& places, float* ln_turn) {
  const auto lanes = static_cast<int>(hn::Lanes(df));
  const auto ln_scale = static_cast<float>(-std::log(kTurn / 2 * static_cast<double>(noise)));
  for (int k = 0; k < places.count; k += lanes) {
    V sum = hn::Zero(df);
    const V nearest = ForRings(rings, noise, PlacesFrom(places, k),
                               [&](size_t, V term, V) { sum = hn::Add(sum, term); });
    const V ln = hn::MulAdd(nearest, hn::Set(df, -1.0F / noise),
                            hn::Add(hn::Log(df, sum), hn::Set(df, ln_scale)));
    StoreSome(ln, std::min(lanes, places.count - k), ln_turn + k);
  }
}

void SumHarmonicsSimd(const Rings& rings, absl::Span<const Iq> harmonics, int power, float noise,
                      const Places& places, Iq* moments) {
  const hn::RebindToSigned<decltype(df)> di;
  const auto lanes = static_cast<int>(hn::Lanes(df));
  const float* const ratios = BesselRatios::Get().OfPower(power);
  const V per_ln = hn::Set(df, static_cast<float>(BesselRatios::NodesPerLn()));
  const V ln_first = hn::Set(df, static_cast<float>(std::log(BesselRatios::kFirst)));
  const V smallest = hn::Set(df, static_cast<float>(BesselRatios::kFirst));
  const V last = hn::Set(df, BesselRatios::kNodes - 1.001F);
  const auto inverse_points = 1.0F / static_cast<float>(rings.num_points);
  for (int k = 0; k < places.count; k += lanes) {
    V sum = hn::Zero(df);
    V sum_i = hn::Zero(df);
    V sum_q = hn::Zero(df);
    ForRings(rings, noise, PlacesFrom(places, k), [&](size_t ring, V term, V x) {
      const V ln = hn::Log(df, hn::Max(x, smallest));
      const V place = hn::Min(hn::Mul(hn::Sub(ln, ln_first), per_ln), last);
      const auto node = hn::ConvertTo(di, place);
      const V a = hn::GatherIndex(df, ratios, node);
      const V b = hn::GatherIndex(df, ratios + 1, node);
      const V t = hn::Sub(place, hn::ConvertTo(df, node));
      const V ratio = hn::MulAdd(t, hn::Sub(b, a), a);
      // A harmonic over the ring's own points; the term has their share of all.
      const float scale = inverse_points / rings.counts[ring];
      const V part = hn::Mul(term, hn::Mul(ratio, hn::Set(df, scale)));
      sum = hn::Add(sum, term);
      sum_i = hn::MulAdd(part, hn::Set(df, harmonics[ring].i), sum_i);
      sum_q = hn::MulAdd(part, hn::Set(df, harmonics[ring].q), sum_q);
    });
    HWY_ALIGN float out[2 * kMaxLanes];
    hn::StoreInterleaved2(hn::Div(sum_i, sum), hn::Div(sum_q, sum), df, out);
    const int count = std::min(lanes, places.count - k);
    for (int j = 0; j < count; ++j) moments[k + j] = {out[2 * j], out[2 * j + 1]};
  }
}

}  // namespace
}  // namespace baseband::carrier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::carrier {

HWY_EXPORT(SumPointsSimd);
HWY_EXPORT(SumRingsSimd);
HWY_EXPORT(SumHarmonicsSimd);

// By the recurrence I_{n-1} = I_{n+1} + (2 n / x) I_n from far above the orders wanted, where any
// start is forgotten.
BesselRatios::BesselRatios() {
  std::array<double, kMaxPower + 1> values{};
  for (size_t node = 0; node < kNodes; ++node) {
    const double x = kFirst * std::exp(static_cast<double>(node) / NodesPerLn());
    double above = 0.0;
    double here = 1e-300;
    for (int n = kMaxPower + 40 + static_cast<int>(std::sqrt(60.0 * x)); n > 0; --n) {
      const double below = above + 2.0 * n / x * here;
      above = here;
      here = below;
      if (n - 1 <= kMaxPower) values[static_cast<size_t>(n - 1)] = here;
      if (here > 1e200) {
        here *= 1e-250;
        above *= 1e-250;
        for (double& value : values) value *= 1e-250;
      }
    }
    for (size_t p = 0; p < values.size(); ++p) {
      ratios_[p][node] = static_cast<float>(values[p] / values[0]);
    }
  }
}

const BesselRatios& BesselRatios::Get() {
  static const auto* const ratios = new BesselRatios;
  return *ratios;
}

Rings::Rings(absl::Span<const Iq> points)
    : num_points(static_cast<int>(points.size())), points_(points.begin(), points.end()) {
  constexpr float kSameRing = 1e-5F;
  const auto radius = [](const Iq& point) { return std::hypot(point.i, point.q); };
  std::stable_sort(points_.begin(), points_.end(),
                   [&](const Iq& a, const Iq& b) { return radius(a) < radius(b); });
  for (int k = 0; k < num_points; ++k) {
    const float r = radius(points_[static_cast<size_t>(k)]);
    if (radii.empty() || r - radii.back() > kSameRing) {
      radii.push_back(r);
      first_.push_back(k);
    }
  }
  first_.push_back(num_points);
  for (size_t ring = 0; ring < radii.size(); ++ring) {
    counts.push_back(static_cast<float>(first_[ring + 1] - first_[ring]) /
                     static_cast<float>(num_points));
  }
}

void Rings::Harmonics(int power, std::vector<Iq>* harmonics) const {
  harmonics->clear();
  for (size_t ring = 0; ring < radii.size(); ++ring) {
    std::complex<double> sum = 0.0;
    for (int k = first_[ring]; k < first_[ring + 1]; ++k) {
      const Iq& point = points_[static_cast<size_t>(k)];
      if (point.i == 0.0F && point.q == 0.0F) continue;  // has no angle
      sum += std::polar(1.0, power * std::atan2(double{point.q}, double{point.i}));
    }
    harmonics->push_back({static_cast<float>(sum.real()), static_cast<float>(sum.imag())});
  }
}

void SumPoints(absl::Span<const Iq> points, float noise, const Places& places, float q,
               SoftNode* nodes, float* hard) {
  HWY_DYNAMIC_DISPATCH(SumPointsSimd)(points, noise, places, q, nodes, hard);
}

void SumRings(const Rings& rings, float noise, const Places& places, float* ln_turn) {
  HWY_DYNAMIC_DISPATCH(SumRingsSimd)(rings, noise, places, ln_turn);
}

void SumHarmonics(const Rings& rings, absl::Span<const Iq> harmonics, int power, float noise,
                  const Places& places, Iq* moments) {
  HWY_DYNAMIC_DISPATCH(SumHarmonicsSimd)(rings, harmonics, power, noise, places, moments);
}

}  // namespace baseband::carrier
#endif
