#include "tests/gpu/faulted_gpu_fixture.h"

#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "kernels/cuda/status.h"
#include "server/device/cuda_lane_view.h"
#include "server/operations/decode/decode.h"
#include "server/process/process_tuning.h"
#include "tests/gpu/bad_kernel.h"
#include "tests/support/small_dispatcher.h"

namespace baseband::server {
namespace {

// Whether the driver makes another context in a process in which a kernel has faulted: asked in one
// of its own, before there is any CUDA in this one.
bool DriverResets() {
  const pid_t child = fork();
  if (child == 0) {
    if (cudaSetDevice(0) != cudaSuccess) _exit(0);  // no GPU: that is for others to say
    (void)testing::LaunchIllegalWrite(nullptr);
    (void)cudaDeviceSynchronize();
    (void)cudaDeviceReset();
    _exit(cudaSetDevice(0) == cudaSuccess && cudaFree(nullptr) == cudaSuccess ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

absl::Status DeadlyBatch::CudaRun(const CudaLaneView& lane) {
  BASEBAND_RETURN_IF_ERROR(batch_->CudaRun(lane));
  return cuda::ToStatus(testing::LaunchIllegalWrite(lane.stream), "IllegalWrite");
}

void FaultedGpuTest::SetUp() {
  AskForDeviceQueues();  // before anything of CUDA, as the server does
  static const bool driver_resets = DriverResets();
  static bool process_is_lost = false;
  GpuTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  if (drivers_ != Drivers::kAll && driver_resets != (drivers_ == Drivers::kThatReset)) {
    GTEST_SKIP() << "the driver " << (driver_resets ? "resets" : "does not reset")
                 << " a device in a process in which a kernel has faulted";
  }
  if (process_is_lost) GTEST_SKIP() << "a test before has lost this process's device for good";
  process_is_lost = drivers_ == Drivers::kThatRefuse;
  CudaDeviceOptions options = OptionsOfLanes(kNumLanes);
  options.resident = resident_;
  auto device = CudaDevice::Create(options);
  ASSERT_THAT(device, IsOk());
  device_ = *std::move(device);
  pool_ = *CreatePinnedPool(64 << 20);
  ASSERT_THAT(SelfTest(), IsOk());
  device_->set_healthy(true);
}

JobPtr FaultedGpuTest::WithMemory(JobPtr job, const std::string& payload) {
  HostLease input = *pool_->Lease(job->payload_bytes);
  for (int64_t i = 0; i < input.size(); ++i) {
    input.data()[i] = static_cast<uint8_t>(payload[static_cast<size_t>(i) % payload.size()]);
  }
  job->SetInput(std::move(input));
  job->reply = *pool_->Lease(job->reply_bytes);
  std::fill(job->reply.span().begin(), job->reply.span().end(), uint8_t{0xff});
  return job;
}

JobPtr FaultedGpuTest::DecodeJobOf(int blocks) {
  DecodeGroup group;
  group.code = *ldpc::NrCode(1, 32);
  group.count = blocks;
  group.llr_count = group.code->num_sent();
  JobPtr job =
      std::make_unique<DecodeJob>(TestOperation("Decode"), std::vector<DecodeGroup>{group});
  job->fingerprint = static_cast<uint64_t>(blocks);
  return WithMemory(std::move(job), std::string(1, 20));
}

absl::Status FaultedGpuTest::RunOn(int lane, JobPtr job, bool deadly) {
  std::vector<JobPtr> jobs;
  jobs.push_back(std::move(job));
  std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
  if (deadly) batch = std::make_unique<DeadlyBatch>(std::move(batch));
  return RunOnLane(*device_, lane, batch.get());
}

LoadBesideFaults::LoadBesideFaults(Device* device, Metrics* metrics,
                                   std::function<absl::Status()> self_test,
                                   std::vector<Question> questions, Spoil spoil)
    : deadline_(absl::Now() + absl::Minutes(4)),
      questions_(std::move(questions)),
      supervisor_(Supervising(device, std::move(self_test)), &lifecycle_) {
  Device* const devices[] = {device};
  dispatcher_ = std::make_unique<Dispatcher>(Dispatching(std::move(spoil)), devices, metrics);
  supervisor_.Connect(dispatcher_.get());
  for (const Question& question : questions_) {
    clients_.emplace_back([&, this] { Ask(question); });
  }
}

LoadBesideFaults::~LoadBesideFaults() {
  Stop();
  EXPECT_TRUE(supervisor_.Stop());
  dispatcher_.reset();
}

DeviceSupervisorOptions LoadBesideFaults::Supervising(Device* device,
                                                      std::function<absl::Status()> self_test) {
  DeviceSupervisorOptions options;
  options.devices = {device};
  options.max_resets_per_hour = 100;
  options.self_test = [self_test = std::move(self_test)](Device&) { return self_test(); };
  options.error = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  options.info = options.error;
  options.end_process = [this] { ++ends_; };
  return options;
}

DispatcherOptions LoadBesideFaults::Dispatching(Spoil spoil) {
  DispatcherOptions options = SmallDispatcher(/*queue_requests=*/100);
  options.limits.lane = {16 << 20, 16 << 20, 4 << 20};
  options.queue_bytes = 64 << 20;
  options.make_batch = [this, spoil = std::move(spoil)](std::vector<JobPtr> jobs, Device& device) {
    return fault_is_due_.exchange(false) ? spoil(std::move(jobs), device)
                                         : MakeBatch(std::move(jobs));
  };
  options.on_loss = [this](Device& device, DeviceLoss cause, const std::string& why) {
    supervisor_.OnLoss(device, cause, why);
  };
  options.on_loss_end = [this](Device& device) { supervisor_.OnLossEnd(device); };
  return options;
}

void LoadBesideFaults::Ask(const Question& question) {
  while (!stop_) {
    JobPtr job = question.make_job();
    absl::Notification answered;
    job->done = [&](const absl::Status& status, JobPtr done) {
      if (!status.ok()) {
        ++failed_;
      } else {
        const auto reply = done->reply.span();
        ++(std::string(reply.begin(), reply.end()) == question.reply ? right_ : wrong_);
      }
      done.reset();
      answered.Notify();
    };
    absl::StatusOr<AdmissionTicket> ticket = dispatcher_->Admit(job.get());
    if (!ticket.ok() || !dispatcher_->Submit(job, *std::move(ticket)).ok()) {
      absl::SleepFor(absl::Milliseconds(1));
      continue;
    }
    answered.WaitForNotification();
  }
}

void LoadBesideFaults::Fault() {
  const int before = failed_;
  fault_is_due_ = true;
  EXPECT_TRUE(Await([&] { return failed_ > before; }));
}

bool LoadBesideFaults::Await(const std::function<bool()>& condition) const {
  while (!condition() && absl::Now() < deadline_) absl::SleepFor(absl::Milliseconds(1));
  return condition();
}

bool LoadBesideFaults::AwaitRight(int more) {
  const int enough = right_ + more;
  return Await([&] { return right_ >= enough; });
}

void LoadBesideFaults::Stop() {
  stop_ = true;
  for (std::thread& client : clients_) client.join();
  clients_.clear();
}

}  // namespace baseband::server
