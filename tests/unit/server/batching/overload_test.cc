// The dispatcher under more load than its device bears, in simulated time: how much of the capacity
// still goes into answers in time, and how good the predictions are. The device is a CPU's or a
// GPU's in what matters here: a block takes a time of its own, so many run at once, and the batches
// of all lanes share them, or take turns.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/code.h"
#include "server/batching/dispatcher.h"
#include "server/operations/decode/decode.h"
#include "tests/support/fake_device.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Machine {
  int lanes = 1;
  double width = 1.0;     // blocks that run at the same time
  double block_s = 1e-3;  // a block's time
  double launch_s = 0.0;  // a batch's beside its blocks'
  bool in_turn = false;   // the batch that began first has all the blocks it can use
};

// Batches in flight share `width` evenly, or in the order of their begin, none having more than its
// blocks.
class SimulatedDevice final : public FakeDevice {
 public:
  explicit SimulatedDevice(const Machine& machine) : FakeDevice("simulated"), machine_(machine) {
    for (int i = 0; i <= machine.lanes; ++i) {
      lanes_.push_back(std::make_unique<SimulatedLane>(this, i, i == machine.lanes));
    }
    set_healthy(true);
  }

  // Seconds until the next batch ends.
  double NextEnd() const {
    double next = kNever;
    for (const Run& run : runs_) {
      if (const double rate = RateOf(run); rate > 0.0) next = std::min(next, run.left / rate);
    }
    return next;
  }
  // Time passes, to the next end at most.
  void Pass(double seconds) {
    std::vector<double> done;
    for (const Run& run : runs_) done.push_back(seconds * RateOf(run));
    for (size_t i = 0; i < runs_.size(); ++i) runs_[i].left -= done[i];
  }
  void EndNext() {
    const auto next = std::min_element(runs_.begin(), runs_.end(),
                                       [](const Run& a, const Run& b) { return a.left < b.left; });
    const Lane::Done end = std::move(next->done);
    runs_.erase(next);
    end(absl::OkStatus(), {});
  }

 private:
  struct Run {
    double blocks;
    double left;  // block seconds
    Lane::Done done;
  };
  class SimulatedLane final : public FakeLane {
   public:
    SimulatedLane(SimulatedDevice* device, int index, bool background)
        : FakeLane(device, index, background), device_(device) {}
    void Start(Task* task, Done done) override {
      const Machine& machine = device_->machine_;
      const double blocks = task->num_pieces();
      const double parallel = std::min(blocks, machine.width);
      device_->runs_.push_back(
          {blocks, blocks * machine.block_s + parallel * machine.launch_s, std::move(done)});
    }

   private:
    SimulatedDevice* const device_;
  };

  double RateOf(const Run& run) const { return machine_.in_turn ? RateInTurn(run) : FairRate(run); }
  double RateInTurn(const Run& run) const {
    double width = machine_.width;
    for (const Run& each : runs_) {
      const double own = std::min(each.blocks, width);
      if (&each == &run) return own;
      width -= own;
    }
    return 0.0;
  }
  // Of max-min fair sharing.
  double FairRate(const Run& run) const {
    std::vector<double> wanted;
    for (const Run& each : runs_) wanted.push_back(each.blocks);
    std::sort(wanted.begin(), wanted.end());
    double width = machine_.width;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double share = width / static_cast<double>(wanted.size() - i);
      if (wanted[i] > share) return std::min(run.blocks, share);
      width -= wanted[i];
    }
    return run.blocks;
  }

  const Machine machine_;
  std::vector<Run> runs_;
};

struct Outcome {
  double goodput = 0.0;  // calls a second answered in time
  int64_t accepted = 0;
  int64_t late = 0;     // of those
  double within = 0.0;  // predictions within 25 %, of those made
  double p99_s = 0.0;   // of the good
};

class Simulation {
 public:
  static constexpr int kBlocks = 8;

  explicit Simulation(const Machine& machine) : machine_(machine), device_(machine) {
    DispatcherOptions options;
    options.limits.lane = {int64_t{1} << 30, int64_t{1} << 30, int64_t{1} << 30};
    options.limits.max_blocks = 16384;
    options.limits.max_requests = 1024;
    options.queue_requests = 4096;
    options.queue_bytes = int64_t{1} << 30;
    options.clock = [this] { return now_; };
    Device* device = &device_;
    dispatcher_ = std::make_unique<Dispatcher>(options, absl::MakeConstSpan(&device, 1), &metrics_);
  }

  // Calls a second that the machine can do.
  double Capacity() const { return machine_.width / machine_.block_s / kBlocks; }
  // Of one call alone.
  double AloneSeconds() const {
    return machine_.launch_s + machine_.block_s * std::max(1.0, kBlocks / machine_.width);
  }

  Outcome Offer(double rate, double deadline_s, double seconds) {
    outcome_ = Outcome();
    good_ = predictions_ = right_ = 0;
    std::exponential_distribution<double> gap(rate);
    const absl::Time end = now_ + absl::Seconds(seconds);
    absl::Time next_call = now_ + absl::Seconds(gap(random_));
    while (next_call < end || device_.NextEnd() < kNever) {
      const double until_end = device_.NextEnd();
      const double until_call = next_call < end ? absl::ToDoubleSeconds(next_call - now_) : kNever;
      Pass(std::min(until_end, until_call));
      if (until_end <= until_call) {
        device_.EndNext();
      } else {
        Call(deadline_s);
        next_call += absl::Seconds(gap(random_));
      }
    }
    outcome_.goodput = static_cast<double>(good_) / seconds;
    if (predictions_ > 0)
      outcome_.within = static_cast<double>(right_) / static_cast<double>(predictions_);
    return outcome_;
  }

 private:
  void Pass(double seconds) {
    device_.Pass(seconds);
    now_ += absl::Seconds(seconds);
  }

  void Call(double deadline_s) {
    DecodeGroup group;
    group.code = code_;
    group.count = kBlocks;
    group.llr_count = code_->num_sent();
    JobPtr job =
        std::make_unique<DecodeJob>(TestOperation("Decode"), std::vector<DecodeGroup>{group});
    job->caller = {"client", Priority::kNormal};
    const absl::Time arrived = now_;
    const absl::Time deadline = now_ + absl::Seconds(deadline_s);
    job->deadline = deadline;
    absl::StatusOr<AdmissionTicket> ticket = dispatcher_->Admit(job.get());
    if (!ticket.ok()) return;
    ++outcome_.accepted;
    job->done = [this, arrived, deadline](const absl::Status& status, JobPtr done) {
      const double took_s = absl::ToDoubleSeconds(now_ - arrived);
      if (status.ok() && now_ <= deadline) {
        ++good_;
      } else {
        ++outcome_.late;
      }
      if (status.ok() && done->schedule.trusted) {
        ++predictions_;
        right_ += std::abs(took_s / done->schedule.finish_s - 1.0) <= 0.25 ? 1 : 0;
      }
    };
    EXPECT_TRUE(dispatcher_->Submit(job, *std::move(ticket)).ok());
  }

  const Machine machine_;
  const ldpc::CodePtr code_ = *ldpc::NrCode(2, 2);
  std::mt19937 random_{1};
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  Metrics metrics_{"test", TestOperations().counted()};
  SimulatedDevice device_;
  std::unique_ptr<Dispatcher> dispatcher_;
  Outcome outcome_;
  int64_t good_ = 0;
  int64_t predictions_ = 0;
  int64_t right_ = 0;
};

class OverloadTest : public ::testing::TestWithParam<Machine> {};

TEST_P(OverloadTest, GoodputStaysAndPredictionsHoldWhateverIsOffered) {
  Simulation simulation(GetParam());
  const double deadline_s = 20 * simulation.AloneSeconds();
  const double window_s = 500 * simulation.AloneSeconds();
  simulation.Offer(0.2 / simulation.AloneSeconds(), deadline_s, window_s);
  for (const double factor : {0.5, 0.9, 1.0, 2.0, 10.0, 2.0, 0.5}) {
    SCOPED_TRACE(factor);
    const Outcome outcome = simulation.Offer(factor * simulation.Capacity(), deadline_s, window_s);
    EXPECT_GT(outcome.goodput / simulation.Capacity(), 0.9 * std::min(factor, 1.0));
    EXPECT_LT(outcome.late, 0.01 * static_cast<double>(outcome.accepted));
    // Who comes after a call may share the device with it: that cannot be known, and counts until
    // the queue is long.
    EXPECT_GE(outcome.within, factor >= 2.0 ? 0.95 : 0.6);
  }
}

TEST_P(OverloadTest, AServerThatStartsInTheMiddleOfItLearnsAllTheSame) {
  Simulation simulation(GetParam());
  const double deadline_s = 20 * simulation.AloneSeconds();
  const double window_s = 500 * simulation.AloneSeconds();
  simulation.Offer(4 * simulation.Capacity(), deadline_s, window_s);
  const Outcome outcome = simulation.Offer(4 * simulation.Capacity(), deadline_s, window_s);
  EXPECT_GT(outcome.goodput / simulation.Capacity(), 0.9);
  EXPECT_LT(outcome.late, 0.02 * static_cast<double>(outcome.accepted));
}

INSTANTIATE_TEST_SUITE_P(Cpu, OverloadTest,
                         ::testing::Values(Machine{2, 1.0, 1.2e-3, 20e-6},
                                           Machine{2, 16.0, 1.2e-3, 20e-6}));
INSTANTIATE_TEST_SUITE_P(Gpu, OverloadTest,
                         ::testing::Values(Machine{4, 132.0, 9.5e-3, 20e-6},
                                           Machine{4, 132.0, 1e-3, 20e-6},
                                           Machine{4, 132.0, 9.5e-3, 20e-6, true},
                                           Machine{4, 132.0, 1e-3, 20e-6, true}));

}  // namespace
}  // namespace baseband::server
