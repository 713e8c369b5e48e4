#include "kernels/carrier/model.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "kernels/carrier/math/judge_math.h"
#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/reference/reference.h"
#include "tests/support/channel.h"
#include "tests/support/named_constellation.h"
#include "tests/unit/kernels/carrier/models.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::Named;
using ::baseband::testing::Random;
using ::testing::HasSubstr;

// Not symmetric about any axis, and of no order but 1.
ConstellationPtr Lopsided() {
  return *Constellation::FromPoints({{1.0F, 0.1F}, {-0.7F, 0.6F}, {0.2F, -1.1F}, {0.3F, 0.4F}});
}

Iq ToIq(Complex z) { return {static_cast<float>(z.real()), static_cast<float>(z.imag())}; }

const char* const kOfEveryKind[] = {
    "BPSK",          "QPSK",  "8PSK",  "16APSK 3/4", "64APSK 7/9", "128APSK 135/180",
    "256APSK 20/30", "16QAM", "32QAM", "256QAM"};

// At the nodes themselves the table is the reference, whatever the instruction set.
TEST(CarrierModelTest, NodesAreTheReferences) {
  std::vector<ConstellationPtr> constellations = {Lopsided()};
  for (const char* const name : kOfEveryKind) constellations.push_back(Named(name));
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const ConstellationPtr& constellation : constellations) {
      SCOPED_TRACE(constellation->name() + " " + hwy::TargetName(target));
      const ModelPtr model = *Model::Create(constellation, Amplitude::kWeighted, 0);
      const ModelView view = model->view();
      Random random(1);
      for (int trial = 0; trial < 40; ++trial) {
        const int table = random.Below(view.num_snrs);
        const SnrFacts& facts = view.facts[table];
        const int row = random.Below(view.side);
        const int column = random.Below(view.side);
        const SoftNode node = view.soft[(table * view.side + row) * view.side + column];
        const Complex z(facts.origin + double(column) / facts.nodes_per_unit,
                        facts.origin + double(row) / facts.nodes_per_unit);
        const SymbolFacts expected = ReferenceSymbol(*constellation, z, 1.0 / facts.noise);
        // Midway between two points soft turns over within s2 / distance: float32 coordinates of
        // 1e-7 are 1e-4 there.
        EXPECT_NEAR(node.i, expected.soft.real(), 1e-3);
        EXPECT_NEAR(node.q, expected.soft.imag(), 1e-3);
        EXPECT_NEAR(node.energy, expected.energy, 2e-3);
        // Differences of exponents |z - s|^2 / s2 in float32, and the mean over a turn linear
        // between 1023 radii, of which each step is ~ 1 / 300.
        EXPECT_NEAR(node.fit, expected.fit,
                    2e-3 + (1e-5 * std::norm(z) + 1e-5 / 8.0) / facts.noise);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

// Between the nodes: what symbols that are really received find there.
TEST(CarrierModelTest, InterpolationIsGoodWhereSymbolsFall) {
  for (const char* const name : kOfEveryKind) {
    const ModelPtr model = ModelOf(name);
    const ModelView view = model->view();
    for (int table = 0; table < view.num_snrs; table += 2) {
      SCOPED_TRACE(name + std::string(" ") + std::to_string(view.facts[table].snr_db));
      const double noise = view.facts[table].noise;
      Random random(2);
      double soft_error = 0.0;
      double fit_error = 0.0;
      constexpr int kSymbols = 300;
      for (int n = 0; n < kSymbols; ++n) {
        const Complex z = NoisySymbol(model->constellation(), noise, random);
        const SoftRead read = ReadSoft(view, table, ToIq(z));
        const SymbolFacts expected = ReferenceSymbol(model->constellation(), z, 1.0 / noise);
        soft_error += std::norm(Complex(read.soft.i, read.soft.q) - expected.soft) / kSymbols;
        fit_error += (read.fit - expected.fit) / kSymbols;
      }
      EXPECT_LT(soft_error, 0.05 * noise);
      // Near a point fit bends by -2 / s2 along either axis: midway between nodes h apart that is
      // h^2 / (4 s2) each.
      const double h = 1.0 / view.facts[table].nodes_per_unit;
      EXPECT_LT(std::fabs(fit_error), 0.02 + 0.5 * h * h / noise);
    }
  }
}

TEST(CarrierModelTest, TurningIsTheDerivativeOfSoft) {
  for (const ConstellationPtr& constellation : {Named("64APSK 7/9"), Named("64QAM"), Lopsided()}) {
    const ModelPtr model = *Model::Create(constellation, Amplitude::kWeighted, 0);
    const ModelView view = model->view();
    Random random(3);
    int compared = 0;
    for (int n = 0; n < 200; ++n) {
      const Complex z = NoisySymbol(*constellation, 0.1, random);
      constexpr double kAngle = 1e-3;
      const Iq ahead = ToIq(z * std::polar(1.0, kAngle));
      const Iq behind = ToIq(z * std::polar(1.0, -kAngle));
      const auto same_cell = [&](float a, float b) {
        return PlaceOf(view, 3, std::fabs(a)).cell == PlaceOf(view, 3, std::fabs(b)).cell &&
               a * b > 0.0F;
      };
      if (!same_cell(ahead.i, behind.i) || !same_cell(ahead.q, behind.q)) continue;
      ++compared;
      const SoftRead read = ReadSoft(view, 3, ToIq(z));
      const Iq after = ReadSoft(view, 3, ahead).soft;
      const Iq before = ReadSoft(view, 3, behind).soft;
      EXPECT_NEAR(read.turning.i, (after.i - before.i) / (2.0 * kAngle), 2e-3);
      EXPECT_NEAR(read.turning.q, (after.q - before.q) / (2.0 * kAngle), 2e-3);
    }
    EXPECT_GT(compared, 100);
  }
}

// The lock decision rests on it: whatever |z| is, a random phase raises exp(fit) by 1 on average.
TEST(CarrierModelTest, ExpOfFitHasMeanOneOverATurn) {
  for (const char* const name : kOfEveryKind) {
    const ModelPtr model = ModelOf(name);
    const ModelView view = model->view();
    for (int table = 0; table < view.num_snrs; table += 3) {
      for (const double rho : {0.3, 0.8, 1.1, 1.4}) {
        double mean = 0.0;
        constexpr int kAngles = 4096;
        for (int k = 0; k < kAngles; ++k) {
          const Complex z = std::polar(rho, (k + 0.5) * 2.0 * M_PI / kAngles);
          mean += std::exp(double{ReadSoft(view, table, ToIq(z)).fit}) / kAngles;
        }
        EXPECT_LT(mean, 1.02) << name << " " << view.facts[table].snr_db << " dB, rho " << rho;
      }
    }
  }
}

TEST(CarrierModelTest, WeightsAreTheReferencesToAScale) {
  for (const auto& [name, power] : std::vector<std::pair<std::string, int>>{
           {"QPSK", 4}, {"16APSK 3/4", 4}, {"16APSK 3/4", 12}, {"256APSK 135/180", 32}}) {
    const ModelPtr model = ModelOf(name, power);
    const ModelView view = model->view();
    const int table = 3;
    const double snr = 1.0 / view.facts[table].noise;
    const Iq* const weight = view.weight + table * kWeightNodes;
    double scale = 0.0;
    for (int node = 10; node < 130; node += 10) {
      const double rho = double(node) / view.weight_nodes_per_unit;
      const Complex expected = ReferenceWeight(model->constellation(), power, snr, rho);
      if (scale == 0.0)
        scale = std::abs(Complex(weight[60].i, weight[60].q)) /
                std::abs(ReferenceWeight(model->constellation(), power, snr,
                                         60.0 / view.weight_nodes_per_unit));
      EXPECT_NEAR(weight[node].i, scale * expected.real(), 0.01) << name << " " << rho;
      EXPECT_NEAR(weight[node].q, scale * expected.imag(), 0.01) << name << " " << rho;
    }
  }
}

// For each way of handling amplitudes: the line has phase 0 and the power that the facts say.
TEST(CarrierModelTest, TheLineIsRealAndAsStrongAsSaid) {
  for (const Amplitude amplitude : {Amplitude::kWeighted, Amplitude::kPlain, Amplitude::kUnit}) {
    for (const char* const name : {"QPSK", "64APSK 128/180", "64QAM"}) {
      const ModelPtr model = *Model::Create(Named(name), amplitude, 0);
      const ModelView view = model->view();
      const int table = TableOf(view, model->constellation().operating_snr_db() + 4.0);
      Random random(5);
      Complex line;
      double energy = 0.0;
      constexpr int kSymbols = 20000;
      for (int n = 0; n < kSymbols; ++n) {
        const Complex z = NoisySymbol(model->constellation(), view.facts[table].noise, random);
        const Iq x = LineSample(view, table, ToIq(2.0 * z), 0.5F);
        line += Complex(x.i, x.q) / double{kSymbols};
        energy += (double{x.i} * x.i + double{x.q} * x.q) / kSymbols;
      }
      SCOPED_TRACE(name + std::string(" ") + std::to_string(int(amplitude)));
      EXPECT_NEAR(energy, 1.0, 0.1);
      const double expected = view.facts[table].line;
      EXPECT_NEAR(std::norm(line) / energy, expected, 0.12 * expected);
      // The noise across the line is at most all of it.
      EXPECT_LT(std::fabs(std::arg(line)), 4.0 / std::sqrt(2.0 * kSymbols * expected));
    }
  }
}

TEST(CarrierModelTest, SharesOfTheAmplitudeBinsSumToOne) {
  for (const char* const name : kOfEveryKind) {
    const ModelPtr model = ModelOf(name);
    const ModelView view = model->view();
    for (int table = 0; table < view.num_snrs; ++table) {
      double sum = 0.0;
      for (int bin = 0; bin < kAmplitudeBins; ++bin) {
        sum += ExpectedShare(view.amplitude + table * kAmplitudeBins, bin, 1.0);
      }
      EXPECT_NEAR(sum, 1.0, 0.01) << name << " " << view.facts[table].snr_db;
    }
  }
}

TEST(CarrierModelTest, AmplitudesTellTheSnr) {
  for (const char* const name : {"QPSK", "16APSK 3/4", "128APSK 135/180", "64QAM", "256QAM"}) {
    const ModelPtr model = ModelOf(name);
    const ModelView view = model->view();
    const double snr_db = model->constellation().operating_snr_db() + 3.0;
    const double noise = std::pow(10.0, -0.1 * snr_db);
    Random random(6);
    std::vector<double> log_likelihood(static_cast<size_t>(view.num_snrs));
    for (int n = 0; n < 8000; ++n) {
      const Complex z = NoisySymbol(model->constellation(), noise, random);
      const auto inverse_rms = static_cast<float>(1.0 / std::sqrt(1.0 + noise));
      const int bin = AmplitudeBin(static_cast<float>(std::abs(z)), inverse_rms);
      for (int k = 0; k < view.num_snrs; ++k) {
        log_likelihood[static_cast<size_t>(k)] += view.amplitude[k * kAmplitudeBins + bin];
      }
    }
    EXPECT_NEAR(SnrOfAmplitudes(view, log_likelihood.data()), snr_db, 1.0) << name;
  }
}

TEST(CarrierModelTest, ThePowerIsTheWidestGoodOne) {
  const std::pair<const char*, int> cases[] = {{"BPSK", 2},
                                               {"QPSK", 4},
                                               {"8PSK", 8},
                                               {"16APSK 3/4", 4},
                                               {"32APSK 3/4", 16},
                                               {"64APSK 128/180", 16},
                                               {"64APSK 7/9", 20},
                                               {"128APSK 135/180", 8},
                                               {"256APSK 135/180", 32},
                                               {"256APSK 20/30", 32},
                                               {"16QAM", 4},
                                               {"1024QAM", 4}};
  for (const auto& [name, power] : cases) {
    const ModelPtr model = ModelOf(name);
    EXPECT_EQ(model->power(), power) << name;
    EXPECT_DOUBLE_EQ(model->max_frequency(), 0.5 / model->constellation().symmetry());
    EXPECT_TRUE(model->has_line());
  }
  EXPECT_NE(ModelOf("QPSK")->id(), ModelOf("QPSK")->id());
}

std::string Refusal(const std::string& name, int power) {
  const auto model = Model::Create(Named(name), Amplitude::kWeighted, power);
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(model.status().message());
}

TEST(CarrierModelTest, RefusalsNameWhatIsWrong) {
  EXPECT_THAT(Refusal("QPSK", 6), HasSubstr("power 6 is not a multiple of QPSK's symmetry, 4"));
  EXPECT_THAT(Refusal("QPSK", 68), HasSubstr("[4, 64]"));
  EXPECT_THAT(Refusal("QPSK", -4), HasSubstr("power -4"));
  EXPECT_THAT(Refusal("8PSK", 64), HasSubstr("leaves no line"));
}

TEST(CarrierModelTest, AConstellationWithoutALineServesKnownSymbols) {
  std::vector<Iq> points;
  for (int k = 0; k < 65; ++k) {  // symmetry 65 is above every power
    points.push_back({static_cast<float>(std::cos(2.0 * M_PI * k / 65)),
                      static_cast<float>(std::sin(2.0 * M_PI * k / 65))});
  }
  const ModelPtr model =
      *Model::Create(*Constellation::FromPoints(points), Amplitude::kWeighted, 0);
  EXPECT_FALSE(model->has_line());
  EXPECT_EQ(model->power(), 1);
}

}  // namespace
}  // namespace baseband::carrier
