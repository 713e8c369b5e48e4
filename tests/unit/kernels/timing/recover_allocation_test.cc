// RecoverOnCpu allocates nothing once a thread has recovered a frame of this size. A program of its
// own, as it replaces the global operator new.
#include <vector>

#include "tests/support/count_allocations.h"
#include "tests/unit/kernels/timing/timed.h"

namespace baseband::timing {
namespace {

TEST(TimingAllocationTest, ASecondFrameAllocatesNothing) {
  const Receiver receiver = ReceiverOf("16APSK 3/4", {0.2, 5, 2});
  const TimingSpec spec = SpecOf(receiver, 5000, 15.0, 1);
  const TimingSamples made = testing::MakeSamples(spec);
  const std::vector<uint8_t> bytes =
      testing::ToSamples(made.samples, carrier::SampleFormat::kFloat32);
  std::vector<uint8_t> corrected(5000 * 8);
  const auto recover = [&] {
    const Recovered recovered =
        RecoverOnCpu(*receiver.model, receiver.carrier, *receiver.pulse, receiver.parameters, bytes,
                     {}, absl::MakeSpan(corrected), {});
    EXPECT_EQ(recovered.timing.lock, Lock::kLocked);
  };
  recover();
  const int after_first = num_allocations;
  recover();
  EXPECT_EQ(num_allocations, after_first);
}

}  // namespace
}  // namespace baseband::timing
