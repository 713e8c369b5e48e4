// RecoverOnCpu allocates nothing once a thread has recovered a frame of this size. A program of its
// own, as it replaces the global operator new.
#include <vector>

#include "gtest/gtest.h"
#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/count_allocations.h"

namespace baseband::carrier {
namespace {

TEST(CarrierRecoverAllocationTest, ASecondFrameAllocatesNothing) {
  testing::FrameSpec spec;
  spec.constellation = *Constellation::FromName("16APSK 3/4");
  spec.num_symbols = 5000;
  spec.snr_db = 15.0;
  spec.pilots = testing::Pilots::kDvbS2;
  const testing::CarrierFrame frame = testing::MakeFrame(spec);
  const ModelPtr model = *Model::Create(spec.constellation, Amplitude::kWeighted, 0);
  const std::vector<uint8_t> samples = testing::ToSamples(frame.symbols, SampleFormat::kFloat32);
  std::vector<uint8_t> corrected(samples.size());
  std::vector<float> curve(8192);
  const auto recover_all = [&] {
    for (const Coarse coarse : {Coarse::kNone, Coarse::kPower, Coarse::kKnown}) {
      for (const Fine fine :
           {Fine::kNone, Fine::kInterpolate, Fine::kSweep, Fine::kRemodulate, Fine::kPll}) {
        Parameters parameters;
        parameters.coarse = coarse;
        parameters.fine = fine;
        parameters.sweep_step = 1e-5;
        parameters.want_curve = true;
        const Curve shape = CurveOf(*model, parameters, spec.num_symbols);
        const absl::Span<float> points =
            absl::MakeSpan(curve).subspan(0, static_cast<size_t>(shape.num_points));
        for (const size_t num_symbols : {size_t{5000}, size_t{100}}) {
          const size_t bytes = 8 * num_symbols;
          RecoverOnCpu(*model, parameters, absl::MakeSpan(samples).subspan(0, bytes),
                       absl::MakeSpan(frame.known).subspan(0, num_symbols),
                       absl::MakeSpan(corrected).subspan(0, bytes),
                       num_symbols == 5000 ? points : absl::Span<float>());
        }
      }
    }
  };
  recover_all();
  const int after_first = num_allocations;
  recover_all();
  EXPECT_EQ(num_allocations, after_first);
}

}  // namespace
}  // namespace baseband::carrier
