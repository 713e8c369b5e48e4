// The self-test finds a device whose answers are wrong, whichever operation they are of.
#include "server/jobs/self_test.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/device/cpu_device.h"
#include "server/jobs/job.h"
#include "server/operations/recover_carrier/recover_carrier.h"
#include "tests/support/fake_device.h"
#include "tests/support/matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

// The CPU, but the last byte of each reply of `broken` has its uppermost bit turned over; of a
// piece of a search, that of its first block's index; of carriers, one has no lock.
class FaultyDevice final : public FakeDevice {
 public:
  FaultyDevice(Device& honest, const Operation& broken) : FakeDevice("faulty") {
    for (const std::unique_ptr<Lane>& lane : honest.lanes()) {
      lanes_.push_back(std::make_unique<FaultyLane>(*lane, broken));
    }
  }

 private:
  class FaultyLane final : public Lane {
   public:
    FaultyLane(Lane& honest, const Operation& broken) : honest_(honest), broken_(broken) {}
    Device& device() override { return honest_.device(); }
    int index() const override { return honest_.index(); }
    void Start(Task* task, Done done) override {
      honest_.Start(task, [task, &broken = broken_, done = std::move(done)](
                              const absl::Status& status, const StageTimes& times) {
        for (const JobPtr& job : static_cast<Batch*>(task)->jobs()) {
          if (&job->operation() != &broken) continue;
          if (broken.name() == absl::string_view("RecoverCarrier")) {
            static_cast<RecoverCarrierJob&>(*job).results[2].lock = carrier::Lock::kNoPeak;
            continue;
          }
          const absl::Span<uint8_t> reply = job->reply.span();
          const bool is_piece = broken.name() == absl::string_view("Minimize");
          reply[is_piece ? 2 * sizeof(int64_t) - 1 : reply.size() - 1] ^= 0x80;
        }
        done(status, times);
      });
    }

   private:
    Lane& honest_;
    const Operation& broken_;
  };
};

class SelfTestTest : public ::testing::Test {
 protected:
  CpuDevice cpu_{2};
  const std::shared_ptr<HostPool> pool_ = *HostPool::CreatePageable(8 << 20);
};

TEST_F(SelfTestTest, TheCpuPassesAndGivesTheMemoryBack) {
  EXPECT_THAT(RunSelfTest(cpu_, TestOperations(), *pool_, *pool_), IsOk());
  EXPECT_EQ(pool_->used(), 0);
}

TEST_F(SelfTestTest, AWrongAnswerIsFoundAndNamed) {
  const std::pair<const char*, std::string> kBroken[] = {
      {"Encode", "gave a wrong answer"},
      {"Decode", "gave a wrong answer"},
      {"EncodeSharedChannel", "gave a wrong answer"},
      {"DecodeSharedChannel", "a known transport block was not decoded"},
      {"RecoverCarrier", "found frame 2 no_peak at 0.0123 cycles a symbol"},
      {"Downconvert", "has in channel 8"},
      {"Minimize", "of an expression found"}};
  for (const auto& [operation, what] : kBroken) {
    const FaultyDevice device(cpu_, TestOperation(operation));
    EXPECT_THAT(RunSelfTest(device, TestOperations(), *pool_, *pool_),
                StatusIs(absl::StatusCode::kInternal,
                         AllOf(HasSubstr("faulty lane 0"),
                               HasSubstr(std::string("self-test: ") + operation + " " + what))));
    EXPECT_EQ(pool_->used(), 0);
  }
}

}  // namespace
}  // namespace baseband::server
