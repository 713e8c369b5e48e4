// Filters: how they are designed, what they do to signals and to indices, what is refused.
#include "kernels/downconvert/filter.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/downconvert/design.h"
#include "kernels/downconvert/filter_design.h"
#include "kernels/downconvert/reference.h"
#include "tests/support/constants.h"
#include "tests/support/filter_spec.h"
#include "tests/support/status_matchers.h"

namespace baseband::downconvert {
namespace {

using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Complex = std::complex<double>;

// Products of a tap and a sample, an input sample.
double WorkOf(const Filter& filter) {
  double work = 0.0;
  double rate = 1.0;
  for (const Stage& stage : filter.stages()) {
    rate *= static_cast<double>(stage.up) / stage.down;
    work += rate * static_cast<double>(stage.taps.size()) / stage.up;
  }
  return work;
}

TEST(FilterDesignTest, EquirippleTakesFewerTapsThanKaiser) {
  for (const int down : {2, 8, 127}) {
    const auto taps = [down](Design design) {
      return TapsOf(**Spec{0.4, 80.0, 1, down, design}.Create());
    };
    EXPECT_LE(static_cast<double>(taps(Design::kEquiripple)),
              0.75 * static_cast<double>(taps(Design::kKaiser)));
  }
}

// Chebyshev's criterion: as many peaks of the allowed size as the polynomial has coefficients, and
// one more.
TEST(FilterDesignTest, EquirippleErrorsAlternate) {
  LowPass low_pass;
  low_pass.pass = 0.1;
  low_pass.stop = 0.102;
  low_pass.pass_error = 0.005;
  low_pass.stop_error = 1e-6;
  SlicedWork work;
  EquirippleDesign design;
  Amplitude amplitude;
  LowPassErrors errors;
  work.Do({SlicedWork::Once([&] { design.Start(low_pass, &work); }),
           SlicedWork::Once([&] { amplitude.Tabulate(design.taps(), &work); }),
           SlicedWork::Once([&] { errors.Measure(design.taps(), low_pass, &work); })});
  while (!work.Run(1000000)) {
  }
  ASSERT_THAT(design.status(), testing::IsOk());
  const std::vector<double>& taps = design.taps();
  const double level = errors.stop() / low_pass.stop_error;
  // Each is within 0.2 percent of the alternating error where the exchange ends; the peaks next to
  // the edges are narrow, and measured to half a percent.
  EXPECT_NEAR(errors.pass() / low_pass.pass_error / level, 1.0, 0.007);
  size_t alternations = 0;
  double sign = 0.0;
  const auto look = [&](double v, double wanted, double allowed) {
    const double error = (amplitude.At(v) - wanted) / allowed;
    if (std::abs(error) >= 0.99 * level && error * sign <= 0.0) {
      sign = error;
      ++alternations;
    }
  };
  const int steps = 128 * static_cast<int>(taps.size());  // a band, its ends included
  for (int k = 0; k <= steps; ++k) {
    look(low_pass.pass * k / steps, 1.0, low_pass.pass_error);
  }
  for (int k = 0; k <= steps; ++k) {
    look(low_pass.stop + (0.5 - low_pass.stop) * k / steps, 0.0, low_pass.stop_error);
  }
  EXPECT_GE(alternations, taps.size() / 2 + 2);
}

TEST(FilterDesignTest, LargeDecimationsAreCheap) {
  for (const Design design : {Design::kKaiser, Design::kEquiripple}) {
    const FilterPtr filter = Spec{0.4, 80.0, 1, 4096, design}.Create().value();
    EXPECT_GE(filter->stages().size(), 2U);
    EXPECT_LE(WorkOf(*filter), 7.0);
    EXPECT_THAT(filter->report().remark, IsEmpty());
    // One stage of the same mask would take 26 products a sample, or 17.
    EXPECT_GE(static_cast<double>(EstimateTaps({0.4 / 4096, 0.6 / 4096, 0.005, 1e-4}, design)),
              17.0 * 4096);
  }
}

// Double precision bars the way; the search went on to 65536 taps.
TEST(FilterDesignTest, KaisersLengthIsNotSoughtWhereMoreTapsDoNoBetter) {
  LowPass low_pass;
  low_pass.pass = 0.05;
  low_pass.stop = 0.25;
  low_pass.pass_error = 1e-17;
  low_pass.stop_error = 1e-4;
  SlicedWork work;
  KaiserDesign design;
  design.Start(low_pass, &work);
  while (!work.Run(FilterDesign::kStepWork)) {
  }
  EXPECT_THAT(design.status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no number of")));
  EXPECT_LE(static_cast<double>(design.taps().size()),
            4.0 * static_cast<double>(EstimateTaps(low_pass, Design::kKaiser)));
}

// The flattest that may be asked for ends, in taps or in a sentence that says what float32 reaches.
TEST(FilterDesignTest, TheFlattestPassBandIsFoundOrRefused) {
  for (const Design design : {Design::kKaiser, Design::kEquiripple}) {
    for (const int down : {1, 8, 1000}) {
      const double stop = down == 1 ? 0.49 : 0.0;
      const auto filter = Spec{0.3, 100.0, 1, down, design, kMinRippleDb, stop}.Create();
      if (filter.ok()) {
        EXPECT_LE((*filter)->report().ripple_db, kMinRippleDb);
      } else {
        EXPECT_THAT(filter, StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("is beyond float32 taps")));
      }
    }
  }
}

TEST(FilterDesignTest, EquirippleBeyondItsReachIsKaisersAndSaysSo) {
  const FilterPtr filter = Spec{0.35, 80.0, 1000, 999, Design::kEquiripple}.Create().value();
  EXPECT_THAT(filter->report().remark, HasSubstr("equiripple taps are designed up to 8191"));
}

std::vector<Complex> Noise(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Complex> samples(count);
  for (Complex& sample : samples) {
    sample = Complex(normal(random), normal(random));
  }
  return samples;
}

std::vector<Complex> Filtered(const Filter& filter, const std::vector<Complex>& samples,
                              int64_t first, OutputRange range) {
  return ReferenceDownconvert(ReferenceOscillator(), 1.0, filter.stages(), 1.0, first, samples,
                              range);
}

struct Rate {
  int up;
  int down;
};

// The formula of filter.h against zeros put in, convolved, and every down-th kept.
TEST(FilterTest, StageIsInterpolationConvolutionDecimation) {
  for (const auto& [up, down] :
       {Rate{1, 1}, Rate{3, 2}, Rate{147, 160}, Rate{4, 6}, Rate{12, 4}, Rate{1, 7}, Rate{5, 1}}) {
    std::vector<float> taps(311);
    const std::vector<Complex> noise = Noise(taps.size(), 3);
    std::transform(noise.begin(), noise.end(), taps.begin(),
                   [](const Complex& z) { return static_cast<float>(z.real()); });
    const FilterPtr filter = Filter::FromTaps(taps, up, down).value();
    const std::vector<Complex> samples = Noise(700, 5);
    const std::vector<Complex> expected =
        ReferenceResample(samples, std::vector<double>(taps.begin(), taps.end()), up, down);
    const auto count = filter->FirstOutput(700);
    ASSERT_EQ(static_cast<size_t>(count), expected.size()) << up << "/" << down;
    const std::vector<Complex> outputs = Filtered(*filter, samples, 0, {0, count});
    for (size_t m = 0; m < expected.size(); ++m) {
      ASSERT_LE(std::abs(outputs[m] - expected[m]), 1e-11) << up << "/" << down << " " << m;
    }
  }
}

// A sine in the pass band comes out as itself, late by the group delay.
TEST(FilterTest, ResampledSineIsTheSineLateByTheGroupDelay) {
  for (const auto& [up, down] :
       {Rate{3, 2}, Rate{147, 160}, Rate{1000, 999}, Rate{1, 60}, Rate{3, 100}, Rate{64, 1}}) {
    const Spec spec{0.35, 100.0, up, down, Design::kKaiser, 0.001};
    const FilterPtr filter = spec.Create().value();
    const double f = -0.83 * spec.mask().pass_edge;
    const int64_t inputs = filter->history() + 400 + 4 * down;
    std::vector<Complex> samples;
    for (int64_t n = 0; n < inputs; ++n) {
      samples.push_back(std::polar(1.0, kTwoPi * f * static_cast<double>(n)));
    }
    OutputRange range;
    range.first = filter->FirstOutput(filter->report().transient_inputs);
    range.count = filter->FirstOutput(inputs) - range.first;
    const std::vector<Complex> outputs = Filtered(*filter, samples, 0, range);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const double input = static_cast<double>(range.first + static_cast<int64_t>(i)) * down / up;
      const Complex expected = std::polar(1.0, kTwoPi * f * (input - filter->report().group_delay));
      // Half of 0.001 dB is 5.8e-5.
      ASSERT_LE(std::abs(outputs[i] - expected), 7e-5) << up << "/" << down << " " << i;
    }
  }
}

TEST(FilterTest, OutputsNeedNoMoreThanTheHistory) {
  for (const Spec& spec :
       {Spec{0.4, 60.0, 1, 1000}, Spec{0.4, 60.0, 3, 1000}, Spec{0.4, 60.0, 147, 160},
        Spec{0.35, 60.0, 64, 1}, Spec{0.4, 60.0, 1, 36}}) {
    const FilterPtr filter = spec.Create().value();
    const int64_t history = filter->history();
    const int64_t begin = history + 12345;
    const int64_t end = begin + 3 * spec.down + 5;
    const std::vector<Complex> samples = Noise(static_cast<size_t>(end), 8);
    OutputRange range;
    range.first = filter->FirstOutput(begin);
    range.count = filter->FirstOutput(end) - range.first;
    const std::vector<Complex> late(samples.begin() + begin - history, samples.end());
    const std::vector<Complex> few = Filtered(*filter, late, begin - history, range);
    const std::vector<Complex> all = Filtered(*filter, samples, 0, range);
    ASSERT_EQ(few.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(few[i], all[i]) << i;
    }
  }
}

// The newest input of an output, through all stages.
__int128 NewestInput(const Filter& filter, int64_t m) {
  __int128 n = m;
  for (size_t s = filter.stages().size(); s-- > 0;) {
    n = n * filter.stages()[s].down / filter.stages()[s].up;
  }
  return n;
}

TEST(FilterTest, FirstOutputIsTheFirstWhoseNewestInputIsThereUpTo2To62) {
  for (const Spec& spec :
       {Spec{0.4, 60.0, 1, 1}, Spec{0.4, 60.0, 1, 1000}, Spec{0.4, 60.0, 3, 1000},
        Spec{0.4, 60.0, 147, 160}, Spec{0.35, 60.0, 3, 2}, Spec{0.35, 60.0, 1000, 999},
        Spec{0.4, 60.0, 1, 4096}}) {
    const FilterPtr filter = spec.Create().value();
    EXPECT_EQ(filter->FirstOutput(0), 0);
    std::mt19937_64 random(3);
    for (int i = 0; i < 500; ++i) {
      const int64_t top = int64_t{1} << 62;
      const int64_t begin = i < 100 ? i + 1 : i < 200 ? top - (i - 100) : 1 + random() % top;
      const int64_t first = filter->FirstOutput(begin);
      EXPECT_GE(NewestInput(*filter, first), begin);
      EXPECT_LT(NewestInput(*filter, first - 1), begin);
    }
  }
  const FilterPtr interpolator = Spec{0.35, 60.0, 64, 1}.Create().value();
  EXPECT_EQ(interpolator->FirstOutput(int64_t{1} << 62), std::numeric_limits<int64_t>::max());
}

TEST(FilterTest, ClientsTapsAreReported) {
  const FilterPtr filter = Filter::FromTaps({0.5F, 1.0F, 0.5F}, 2, 2).value();
  // Two of three are used: every output is one of the interpolated samples that were inputs.
  ASSERT_EQ(filter->stages().size(), 1U);
  EXPECT_THAT(filter->stages()[0].taps, ::testing::ElementsAre(0.5F, 0.5F));
  EXPECT_EQ(filter->up(), 1);
  EXPECT_EQ(filter->down(), 1);
  EXPECT_EQ(filter->history(), 1);
  EXPECT_EQ(filter->report().group_delay, 0.5);
  EXPECT_EQ(filter->report().dc_gain, 1.0);
  const FilterPtr other = Filter::FromTaps({1.0F, -1.0F}, 1, 1).value();
  EXPECT_NE(other->id(), filter->id());
  EXPECT_EQ(other->report().group_delay, 0.5);  // nothing passes at frequency 0
  EXPECT_EQ(other->report().dc_gain, 0.0);
  EXPECT_NEAR(ResponseOf(*other, 0.5).magnitude, 2.0, 1e-12);
}

TEST(FilterRefusalTest, TapsOutOfRangeAreRefusedByName) {
  const auto invalid = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  const std::vector<float> one = {1.0F};
  EXPECT_THAT(Filter::FromTaps({}, 1, 1), invalid("taps has 0 entries, not 1 to 65536"));
  EXPECT_THAT(Filter::FromTaps(std::vector<float>(kMaxTaps + 1, 1.0F), 1, 1),
              invalid("taps has 65537 entries"));
  EXPECT_THAT(Filter::FromTaps({1.0F, std::nanf("")}, 1, 1), invalid("taps[1] nan is not finite"));
  EXPECT_THAT(Filter::FromTaps({std::numeric_limits<float>::infinity()}, 1, 1),
              invalid("taps[0] inf"));
  EXPECT_THAT(Filter::FromTaps({0.0F, 0.0F}, 1, 1), invalid("taps has but zeros"));
  EXPECT_THAT(Filter::FromTaps({0.0F, 1.0F}, 2, 4), invalid("taps has but zeros"));
  EXPECT_THAT(Filter::FromTaps(one, 0, 1), invalid("up 0 is not in [1, 4096]"));
  EXPECT_THAT(Filter::FromTaps(one, 1, 0), invalid("down 0 is not in [1, 4096]"));
  EXPECT_THAT(Filter::FromTaps(one, 4097, 1), invalid("up 4097"));
  EXPECT_THAT(Filter::FromTaps(one, 1, -3), invalid("down -3"));
}

TEST(FilterRefusalTest, MasksThatCannotBeAreRefusedByName) {
  const double nan = std::nan("");
  const auto create = [](double pass, double stop, double ripple, double db, int up, int down) {
    Mask mask;
    mask.pass_edge = pass;
    mask.stop_edge = stop;
    mask.ripple_db = ripple;
    mask.attenuation_db = db;
    return Filter::FromMask(mask, Design::kEquiripple, up, down).status();
  };
  const auto invalid = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(create(0.0, 0.2, 0.1, 80, 1, 2), invalid("pass_edge 0 is not in (0, 0.25)"));
  EXPECT_THAT(create(nan, 0.2, 0.1, 80, 1, 2), invalid("pass_edge nan"));
  EXPECT_THAT(create(0.25, 0.0, 0.1, 80, 1, 2), invalid("pass_edge 0.25 is not in (0, 0.25)"));
  EXPECT_THAT(create(0.5, 0.0, 0.1, 80, 3, 2), invalid("pass_edge 0.5 is not in (0, 0.5)"));
  EXPECT_THAT(create(0.2, 0.2, 0.1, 80, 1, 2), invalid("stop_edge 0.2 is not in (0.2, 0.3]"));
  EXPECT_THAT(create(0.2, 0.31, 0.1, 80, 1, 2), invalid("stop_edge 0.31 is not in (0.2, 0.3]"));
  EXPECT_THAT(create(0.2, nan, 0.1, 80, 1, 2), invalid("stop_edge nan"));
  EXPECT_THAT(create(0.2, 0.0, 0.0, 80, 1, 2), invalid("ripple_db 0 is not in [5e-07, 3]"));
  EXPECT_THAT(create(0.2, 0.0, 4.9e-7, 80, 1, 2), invalid("ripple_db 4.9e-07"));
  EXPECT_THAT(create(0.2, 0.0, 3.01, 80, 1, 2), invalid("ripple_db 3.01"));
  EXPECT_THAT(create(0.2, 0.0, nan, 80, 1, 2), invalid("ripple_db nan"));
  EXPECT_THAT(create(0.2, 0.0, 0.1, 19, 1, 2), invalid("attenuation_db 19 is not in [20, 140]"));
  EXPECT_THAT(create(0.2, 0.0, 0.1, 141, 1, 2), invalid("attenuation_db 141"));
  EXPECT_THAT(create(0.2, 0.0, 0.1, nan, 1, 2), invalid("attenuation_db nan"));
  EXPECT_THAT(create(0.2, 0.0, 0.1, 80, 0, 2), invalid("up 0 is not in [1, 4096]"));
  EXPECT_THAT(create(0.2, 0.0, 0.1, 80, 1, 4097), invalid("down 4097 is not in [1, 4096]"));
  EXPECT_THAT(create(0.2, 0.20001, 0.1, 80, 1, 2), invalid("the most is 65536"));
  EXPECT_THAT(create(0.4 / 4093, 0.0, 0.1, 80, 1, 4093), invalid("the most is 65536"));
}

}  // namespace
}  // namespace baseband::downconvert
