// What is no frame to RecoverOnCpu, and which parameters CheckParameters refuses.
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/matchers.h"
#include "tests/unit/kernels/carrier/recovered.h"

namespace baseband::carrier {
namespace {

// 1e-25 squared is 0 in single precision.
TEST(CarrierRecoverTest, ZerosHaveNoSignal) {
  const ModelPtr model = ModelOf("QPSK");
  for (const float value : {0.0F, 1e-25F}) {
    const std::vector<Iq> symbols(100, {value, -value});
    for (const Fine fine : {Fine::kRemodulate, Fine::kSweep, Fine::kPll}) {
      Parameters parameters;
      parameters.fine = fine;
      parameters.sweep_step = 1e-4;
      const Recovered recovered = Recover(*model, parameters, symbols);
      EXPECT_EQ(recovered.result.lock, Lock::kNoSignal);
      EXPECT_EQ(recovered.result.bad_symbols, 0);
      EXPECT_EQ(recovered.result.frequency, 0.0);
    }
  }
}

TEST(CarrierRecoverTest, SymbolsThatAreNoNumbersAreReported) {
  const ModelPtr model = ModelOf("QPSK");
  const CarrierFrame frame = MakeFrame(SpecOf(*model, 100, 10.0, 22));
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1.1e15F}) {
    for (const size_t at : {0U, 15U, 99U}) {
      for (const bool quadrature : {false, true}) {
        std::vector<Iq> symbols = frame.symbols;
        (quadrature ? symbols[at].q : symbols[at].i) = bad;
        EXPECT_EQ(Recover(*model, {}, symbols).result.bad_symbols, 1);
      }
    }
  }
  std::vector<Iq> large = frame.symbols;
  for (Iq& symbol : large) symbol = {symbol.i * 1e14F, symbol.q * 1e14F};
  EXPECT_EQ(Recover(*model, {}, large).result.bad_symbols, 0);
}

TEST(CarrierRecoverTest, OneImpulseIsNotLocked) {
  const ModelPtr model = ModelOf("64QAM");
  std::vector<Iq> symbols(200);
  symbols[100] = {1.0F, -2.0F};
  for (const Fine fine : {Fine::kRemodulate, Fine::kSweep, Fine::kPll}) {
    Parameters parameters;
    parameters.fine = fine;
    parameters.sweep_step = 1e-4;
    const Result result = Recover(*model, parameters, symbols).result;
    EXPECT_NE(result.lock, Lock::kLocked);
    EXPECT_TRUE(std::isfinite(result.frequency));
  }
}

class CarrierRefusalTest : public ::testing::Test {
 protected:
  absl::Status Check(int num_symbols = 1000, absl::Span<const Iq> known = {}) const {
    return CheckParameters(*model_, parameters_, num_symbols, known);
  }
  void ExpectRefused(const std::string& message) const {
    EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }

  ModelPtr model_ = ModelOf("64QAM");
  Parameters parameters_;
};

TEST_F(CarrierRefusalTest, Lengths) {
  for (const int num_symbols : {-1, 0, 15, kMaxSymbols + 1}) {
    EXPECT_THAT(Check(num_symbols),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("frame_symbols " + std::to_string(num_symbols)),
                               HasSubstr("[16, 1048576]"))));
  }
  EXPECT_THAT(Check(16), IsOk());
  EXPECT_THAT(Check(kMaxSymbols), IsOk());
}

TEST_F(CarrierRefusalTest, Scales) {
  for (const float scale : {0.0F, -1.0F, 1e-40F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    parameters_.scale = scale;
    ExpectRefused("scale ");
  }
}

TEST_F(CarrierRefusalTest, ARangeThatTheSymmetryCannotTell) {
  parameters_.max_frequency = 0.2;
  EXPECT_EQ(Check().message(),
            "max_frequency 0.2 is not in [0, 0.125]: 64QAM turned by 1/4 from symbol to symbol "
            "looks the same; send known symbols for more");
  parameters_.max_frequency = -0.1;
  ExpectRefused("max_frequency -0.1");
  parameters_.max_frequency = std::numeric_limits<double>::quiet_NaN();
  ExpectRefused("max_frequency nan");
  parameters_.max_frequency = 0.125;
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(CarrierRefusalTest, Sweeps) {
  parameters_.fine = Fine::kSweep;
  EXPECT_THAT(Check(), IsOk());
  parameters_.sweep_step = 6e-4;  // the range is 1 / 2000
  ExpectRefused("sweep.step 0.0006 is not in (0, 0.0005], the range");
  parameters_.sweep_step = 0.0;
  ExpectRefused("sweep.step 0 ");
  parameters_.sweep_step = 5e-8;
  ExpectRefused("candidates of a sweep.range of 0.0005; 8192 is the most");
  // What .proto says of the most.
  for (const int guard_bins : {0, 16}) {
    parameters_.sweep_guard_bins = guard_bins;
    parameters_.sweep_step = 0.0005 / (4095 - guard_bins);
    EXPECT_THAT(Check(), IsOk());
    parameters_.sweep_step = 0.0005 / (4096 - guard_bins);
    ExpectRefused("makes 8193 candidates");
  }
  parameters_ = Parameters();
  parameters_.fine = Fine::kSweep;
  EXPECT_THAT(Check(245), IsOk());
  EXPECT_EQ(Check(244).code(), absl::StatusCode::kInvalidArgument);
  parameters_.sweep_step = 5e-7;
  parameters_.sweep_range = -1.0;
  ExpectRefused("sweep.range -1 is not in [0, 0.5]");
  parameters_.sweep_range = 1e-4;
  parameters_.sweep_guard_bins = 17;
  ExpectRefused("sweep.guard_bins 17 is not in [0, 16]");
}

TEST_F(CarrierRefusalTest, Loops) {
  parameters_.fine = Fine::kPll;
  EXPECT_THAT(Check(), IsOk());
  for (const float bandwidth : {0.0F, 0.5F, -0.1F, std::numeric_limits<float>::quiet_NaN()}) {
    parameters_.pll_bandwidth = bandwidth;
    ExpectRefused("pll.bandwidth ");
  }
  parameters_.pll_bandwidth = 0.01F;
  for (const float damping : {0.0F, 10.5F}) {
    parameters_.pll_damping = damping;
    ExpectRefused("pll.damping ");
  }
}

TEST_F(CarrierRefusalTest, KnownSymbols) {
  parameters_.coarse = Coarse::kKnown;
  ExpectRefused("known.values are empty");
  std::vector<Iq> known(1000);
  EXPECT_THAT(Check(1000, known), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("known.values are all (0, 0)")));
  known[3] = {1.0F, 0.0F};
  EXPECT_THAT(Check(1000, known), IsOk());
  EXPECT_THAT(Check(999, known), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("known has 1000 symbols for a frame of 999")));
  for (const float value : {NAN, 1e-30F, 1001.0F}) {
    known[4] = {value, 0.0F};
    EXPECT_THAT(Check(1000, known),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("known[4] (")));
  }
}

// Its energy's inverse is no float32 number.
TEST(CarrierOriginTest, ALoopLearnsNothingFromAPointNextToTheOrigin) {
  const ModelPtr model = *Model::Create(
      *Constellation::FromPoints({{1.0F, 0.0F}, {-0.5F, 0.8F}, {-0.5F, -0.8F}, {1e-20F, 0.0F}}),
      Amplitude::kWeighted, 0);
  Parameters parameters;
  parameters.fine = Fine::kPll;
  FrameSpec spec;
  spec.constellation = *Constellation::FromName("QPSK");
  spec.num_symbols = 500;
  spec.snr_db = 20.0;
  const CarrierFrame frame = MakeFrame(spec);
  std::vector<Iq> symbols = frame.symbols;
  for (size_t n = 0; n < symbols.size(); n += 3) symbols[n] = {1e-3F, 1e-3F};
  const Result result = RecoverOnCpu(
      *model, parameters, testing::ToSamples(symbols, SampleFormat::kFloat32), {}, {}, {});
  EXPECT_TRUE(std::isfinite(result.frequency));
  EXPECT_TRUE(std::isfinite(result.phase));
}

}  // namespace
}  // namespace baseband::carrier
