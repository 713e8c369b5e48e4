// The plain numbers of a model's tables, against the definitions.
#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/carrier/math/soft_math.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/reference/reference.h"
#include "tests/support/channel.h"
#include "tests/unit/kernels/carrier/models.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::Random;

// What UpdateNoise sees in soft decisions of `table`'s noise, of symbols with another.
struct Seen {
  double noise = 0.0;
  double gain = 0.0;
};
Seen SeenBySoftDecisions(const Constellation& constellation, double table, double noise) {
  constexpr int kSymbols = 1500;
  Random random(5);
  double square = 0.0;
  double projection = 0.0;
  double energy = 0.0;
  for (int n = 0; n < kSymbols; ++n) {
    const Complex z = NoisySymbol(constellation, noise, random);
    const SymbolFacts facts = ReferenceSymbol(constellation, z, 1.0 / table);
    square += std::norm(z);
    projection += std::real(z * std::conj(facts.soft));
    energy += facts.energy;
  }
  const double gain = projection / energy;
  return {(square - gain * projection) / kSymbols / (gain * gain), gain};
}
// Of the same symbols with a little more noise and with a little less: chance is in the slope
// alone.
void ExpectResponsesAreTheReferences(const Constellation& constellation, const SnrFacts& facts) {
  constexpr double kLnStep = 0.1;
  const auto noise = static_cast<double>(facts.noise);
  const Seen less = SeenBySoftDecisions(constellation, noise, noise * std::exp(-kLnStep));
  const Seen more = SeenBySoftDecisions(constellation, noise, noise * std::exp(kLnStep));
  const double response = std::log(more.noise / less.noise) / (2.0 * kLnStep);
  EXPECT_NEAR(facts.noise_response, std::clamp(response, 0.05, 1.0), 0.08);
  EXPECT_NEAR(facts.gain_response, std::log(more.gain / less.gain) / (2.0 * kLnStep), 0.01);
}

TEST(CarrierModelTest, FactsAreTheReferences) {
  for (const char* const name : {"QPSK", "8PSK", "16APSK 3/4", "64APSK 7/9", "16QAM"}) {
    const ModelPtr model = ModelOf(name);
    const ModelView view = model->view();
    for (int table = view.num_snrs - 1; table >= 0; table -= 2) {
      const SnrFacts& facts = view.facts[table];
      SCOPED_TRACE(name + std::string(" ") + std::to_string(facts.snr_db));
      const double snr = std::pow(10.0, 0.1 * facts.snr_db);
      EXPECT_NEAR(facts.noise * snr, 1.0, 1e-5);
      const double information = ReferenceInformation(model->constellation(), snr);
      EXPECT_NEAR(facts.information, information, 0.02 * information);
      Random random(4);
      double fit = 0.0;
      double hard = 0.0;
      double squares = 0.0;
      constexpr int kSymbols = 4000;
      for (int n = 0; n < kSymbols; ++n) {
        const Complex z = NoisySymbol(model->constellation(), facts.noise, random);
        const double one = ReferenceSymbol(model->constellation(), z, snr).fit;
        fit += one / kSymbols;
        squares += one * one / kSymbols;
        hard += std::norm(z - ReferenceDecision(model->constellation(), z)) / kSymbols;
      }
      EXPECT_NEAR(facts.fit, fit, 5.0 * std::sqrt(squares / kSymbols));
      EXPECT_NEAR(facts.hard_distance, hard, 0.1 * hard);
      ExpectResponsesAreTheReferences(model->constellation(), facts);
    }
  }
}

// In the upper tables of dense QAM noise is narrower than the nodes are apart: sums over nodes were
// up to a fifth off, and saw next to nothing of an error in the noise.
TEST(CarrierModelTest, FactsHoldWhereNoiseIsNarrowerThanTheNodesAreApart) {
  for (const char* const name : {"128QAM", "512QAM"}) {
    const ModelPtr model = ModelOf(name);
    const ModelView view = model->view();
    for (int table = view.num_snrs - 3; table < view.num_snrs; ++table) {
      const SnrFacts& facts = view.facts[table];
      SCOPED_TRACE(name + std::string(" ") + std::to_string(facts.snr_db));
      // Decisions are right: a symbol says as much as a known one.
      EXPECT_NEAR(facts.information * facts.noise, 2.0, 0.02);
      EXPECT_NEAR(facts.hard_distance / facts.noise, 1.0F, 0.005F);
      EXPECT_NEAR(facts.noise_response, 1.0F, 0.01F);
      EXPECT_NEAR(facts.gain_response, 0.0F, 0.001F);
    }
    ExpectResponsesAreTheReferences(model->constellation(), view.facts[view.num_snrs - 5]);
  }
}

// Of all aliases, each with all symbols' turns, by drawn noise.
TEST(CarrierModelTest, TheAliasGapIsThatOfTheNearestAlias) {
  for (const char* const name : {"QPSK", "16APSK 18/30", "32APSK 3/4", "64APSK 132/180"}) {
    const ModelPtr model = ModelOf(name);
    const ModelView view = model->view();
    const int branches = view.power / view.symmetry;
    for (int table = view.num_snrs - 6; table < view.num_snrs; table += 2) {
      SCOPED_TRACE(name + std::string(" ") + std::to_string(view.facts[table].snr_db));
      constexpr int kSymbols = 4000;
      Random random(3);
      // At every turn: the fit, and of how far it is behind the right one's the mean square and
      // that of the square.
      std::vector<double> fits(static_cast<size_t>(branches));
      std::vector<double> squares(fits.size());
      std::vector<double> fourths(fits.size());
      for (int n = 0; n < kSymbols; ++n) {
        const Complex z = NoisySymbol(model->constellation(),
                                      static_cast<double>(view.facts[table].noise), random);
        double right = 0.0;
        for (int turn = 0; turn < branches; ++turn) {
          const Complex back = z * std::polar(1.0, -2.0 * M_PI * turn / view.power);
          const auto fit = static_cast<double>(CoarseFit(
              view, table, {static_cast<float>(back.real()), static_cast<float>(back.imag())}));
          if (turn == 0) right = fit;
          const double behind = (right - fit) * (right - fit);
          fits[static_cast<size_t>(turn)] += fit / kSymbols;
          squares[static_cast<size_t>(turn)] += behind / kSymbols;
          fourths[static_cast<size_t>(turn)] += behind * behind / kSymbols;
        }
      }
      double gap = branches > 1 ? 1e9 : 0.0;
      double drawn = 0.0;   // mean square of the alias with that gap
      double fourth = 0.0;  // and of its square
      for (int alias = 1; alias < branches; ++alias) {
        double mean = 0.0;
        double mean_square = 0.0;
        double mean_fourth = 0.0;
        for (int n = 0; n < branches; ++n) {
          const auto turn = static_cast<size_t>(alias * n % branches);
          mean += fits[turn] / branches;
          mean_square += squares[turn] / branches;
          mean_fourth += fourths[turn] / branches;
        }
        if (fits[0] - mean > gap) continue;
        gap = fits[0] - mean;
        drawn = mean_square;
        fourth = mean_fourth;
      }
      const auto square = static_cast<double>(view.facts[table].alias_square);
      // Four deviations, and a twentieth for its few places of noise.
      EXPECT_NEAR(view.facts[table].alias_gap, gap,
                  0.05 * gap + 4.0 * std::sqrt(square / kSymbols));
      EXPECT_NEAR(square, drawn, 0.1 * drawn + 4.0 * std::sqrt(fourth / kSymbols));
    }
  }
}

}  // namespace
}  // namespace baseband::carrier
