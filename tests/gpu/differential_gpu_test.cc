// Requests drawn at random from all that the contract allows, batched as they come, on the lanes of
// a GPU against the CPU device. BASEBAND_DIFFERENTIAL_SECONDS (default 20) says for how long,
// BASEBAND_DIFFERENTIAL_SEED where the draws begin; a case that differs names its own seed, and
// BASEBAND_DIFFERENTIAL_CASES=1 with that seed runs it alone. None may differ, but for a few of
// RecoverCarrier: what lies at a lock's threshold, or between two peaks as high, goes by rounding.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/device/cuda_device.h"
#include "server/operations/minimize/minimize.h"
#include "server/operations/minimize/minimize_converter.h"
#include "tests/gpu/compare_answers.h"
#include "tests/gpu/lanes.h"
#include "tests/support/convert_request.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_search.h"
#include "tests/support/random_requests.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

using testing::Random;

constexpr int kLanes = 8;
constexpr int kMaxJobs = 4;  // of a batch
// Of RecoverCarrier's requests, beside those that also differ by rounding alone. 39 of 183,350 did
// (tests/bench/RESULTS.md), but two of the first 1,600.
constexpr int64_t kFewDiffer = 3;
constexpr int64_t kOneDiffersOf = 2000;

uint64_t FromEnvironment(const char* name, uint64_t fallback) {
  const char* const text = std::getenv(name);
  uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : fallback;
}

class DifferentialGpuTest : public ::baseband::testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto device = CudaDevice::Create(OptionsOfLanes(kLanes));
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
    device_->set_healthy(true);
    pool_ = *CreatePinnedPool(int64_t{1} << 30);
  }

  // What came of a case.
  struct Outcome {
    int jobs = 0;
    std::string difference;
  };
  struct Kind {
    const char* name;
    Outcome (DifferentialGpuTest::*run)(Random& random, int lane);
    std::atomic<int64_t> jobs{0};
    std::atomic<int64_t> differences{0};

    int64_t most_differences() const {
      if (run != &DifferentialGpuTest::RecoverCarrier) return 0;
      return kFewDiffer + jobs / kOneDiffersOf;
    }
  };

  // The job of `request` with its memory in place.
  absl::StatusOr<JobPtr> JobOf(Operation& operation, const Request& request) {
    BASEBAND_ASSIGN_OR_RETURN(JobPtr job, ConvertRequest(operation, request));
    FillIn(request.payload, job.get());
    return job;
  }
  void FillIn(const Payload& payload, Job* job) {
    HostLease input = *pool_->Lease(job->input_bytes());
    payload.CopyTo(job->WritePrefix(input.data()));
    job->SetInput(std::move(input));
    job->reply = *pool_->Lease(job->reply_bytes);
  }
  std::vector<JobPtr> OnGpu(std::vector<JobPtr> jobs, int lane) {
    const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    const absl::Status end = RunOnLane(*device_, lane, batch.get());
    EXPECT_THAT(end, IsOk());
    if (!end.ok()) stop_ = true;  // the device is lost
    EXPECT_THAT(batch->Finish(), IsOk());
    return batch->TakeJobs();
  }

  // A batch of requests, `compare`d request by request with what the CPU makes of them.
  template <typename Message, typename Compare>
  Outcome RunBatch(Operation& operation, Message (*draw)(Random&), Random& random, int lane,
                   const Compare& compare) {
    std::vector<Message> messages;
    std::vector<JobPtr> cpu;
    std::vector<JobPtr> gpu;
    for (int i = 1 + random.Below(kMaxJobs); i > 0; --i) {
      Message message = draw(random);
      const Request request = RequestOf(message);
      absl::StatusOr<JobPtr> job = JobOf(operation, request);
      if (!job.ok()) {
        EXPECT_TRUE(absl::IsInvalidArgument(job.status())) << job.status();
        continue;
      }
      cpu.push_back(*std::move(job));
      gpu.push_back(*JobOf(operation, request));
      messages.push_back(std::move(message));
    }
    Outcome outcome;
    if (messages.empty()) return outcome;
    cpu = OnCpu(std::move(cpu));
    gpu = OnGpu(std::move(gpu), lane);
    outcome.jobs = static_cast<int>(messages.size());
    for (size_t i = 0; i < messages.size() && outcome.difference.empty(); ++i) {
      outcome.difference = compare(messages[i], *gpu[i], *cpu[i]);
    }
    return outcome;
  }

  // The reply of a job as its message.
  template <typename Response>
  static Response ResponseOf(Operation& operation, Job& job) {
    Response response;
    absl::StatusOr<Reply> reply = operation.ToReply(job);
    EXPECT_THAT(reply, IsOk());
    if (!reply.ok()) return response;
    EXPECT_TRUE(response.ParseFromString(reply->header));
    const auto& reflection = *response.GetReflection();
    for (const BulkField& field : reply->fields) {
      reflection.SetString(
          &response, response.GetDescriptor()->FindFieldByNumber(field.number),
          std::string(reinterpret_cast<const char*>(reply->memory.data()) + field.offset,
                      static_cast<size_t>(field.bytes)));
    }
    response.clear_timing();
    return response;
  }

  Outcome Encode(Random& random, int lane) {
    Operation& operation = TestOperation("Encode");
    return RunBatch(operation, testing::RandomEncodeRequest, random, lane,
                    [&](const v1::EncodeRequest&, Job& gpu, Job& cpu) {
                      const auto a = ResponseOf<v1::EncodeResponse>(operation, gpu);
                      const auto b = ResponseOf<v1::EncodeResponse>(operation, cpu);
                      return std::string(a.payload() == b.payload() ? "" : "another code word");
                    });
  }
  Outcome Decode(Random& random, int lane) {
    Operation& operation = TestOperation("Decode");
    return RunBatch(operation, testing::RandomDecodeRequest, random, lane,
                    [&](const v1::DecodeRequest& request, Job& gpu, Job& cpu) {
                      return CompareDecode(request, ResponseOf<v1::DecodeResponse>(operation, gpu),
                                           ResponseOf<v1::DecodeResponse>(operation, cpu));
                    });
  }
  Outcome EncodeSharedChannel(Random& random, int lane) {
    Operation& operation = TestOperation("EncodeSharedChannel");
    return RunBatch(operation, testing::RandomEncodeSharedChannelRequest, random, lane,
                    [&](const v1::EncodeSharedChannelRequest& request, Job& gpu, Job& cpu) {
                      using Response = v1::EncodeSharedChannelResponse;
                      return CompareEncodeSharedChannel(request,
                                                        ResponseOf<Response>(operation, gpu),
                                                        ResponseOf<Response>(operation, cpu));
                    });
  }
  Outcome DecodeSharedChannel(Random& random, int lane) {
    Operation& operation = TestOperation("DecodeSharedChannel");
    return RunBatch(operation, testing::RandomDecodeSharedChannelRequest, random, lane,
                    [&](const v1::DecodeSharedChannelRequest& request, Job& gpu, Job& cpu) {
                      using Response = v1::DecodeSharedChannelResponse;
                      return CompareDecodeSharedChannel(request,
                                                        ResponseOf<Response>(operation, gpu),
                                                        ResponseOf<Response>(operation, cpu));
                    });
  }
  Outcome RecoverCarrier(Random& random, int lane) {
    Operation& operation = TestOperation("RecoverCarrier");
    return RunBatch(operation, testing::RandomRecoverCarrierRequest, random, lane,
                    [&](const v1::RecoverCarrierRequest& request, Job& gpu, Job& cpu) {
                      bool asked = false;
                      std::string difference = CompareRecoverCarrier(
                          request, ResponseOf<v1::RecoverCarrierResponse>(operation, gpu),
                          ResponseOf<v1::RecoverCarrierResponse>(operation, cpu),
                          [&](const v1::RecoverCarrierRequest& jittered) {
                            asked = true;
                            std::vector<JobPtr> jobs;
                            jobs.push_back(*JobOf(operation, RequestOf(jittered)));
                            jobs = OnCpu(std::move(jobs));
                            return ResponseOf<v1::RecoverCarrierResponse>(operation, *jobs[0]);
                          });
                      if (asked && difference.empty()) ++by_rounding_;
                      return difference;
                    });
  }
  Outcome Downconvert(Random& random, int lane) {
    return RunBatch(
        TestOperation("Downconvert"), testing::RandomDownconvertRequest, random, lane,
        [](const v1::DownconvertRequest& request, Job& gpu, Job& cpu) {
          const std::string what = CompareDownconvert(static_cast<const DownconvertJob&>(gpu),
                                                      static_cast<const DownconvertJob&>(cpu));
          return what.empty() ? what : absl::StrCat(what, "; ", request.setup().format());
        });
  }
  Outcome Minimize(Random& random, int lane);

  void Work(int lane);

  std::array<Kind, 7> kinds_{Kind{"Encode", &DifferentialGpuTest::Encode},
                             Kind{"Decode", &DifferentialGpuTest::Decode},
                             Kind{"EncodeSharedChannel", &DifferentialGpuTest::EncodeSharedChannel},
                             Kind{"DecodeSharedChannel", &DifferentialGpuTest::DecodeSharedChannel},
                             Kind{"RecoverCarrier", &DifferentialGpuTest::RecoverCarrier},
                             Kind{"Downconvert", &DifferentialGpuTest::Downconvert},
                             Kind{"Minimize", &DifferentialGpuTest::Minimize}};
  std::shared_ptr<HostPool> pool_;
  std::unique_ptr<CudaDevice> device_;
  std::atomic<uint64_t> next_{FromEnvironment("BASEBAND_DIFFERENTIAL_SEED", 1)};
  const uint64_t end_ = next_ + FromEnvironment("BASEBAND_DIFFERENTIAL_CASES", UINT64_MAX / 2);
  const absl::Time until_ =
      absl::Now() + absl::Seconds(FromEnvironment("BASEBAND_DIFFERENTIAL_SECONDS", 20));
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> by_rounding_{0};  // requests of RecoverCarrier
};

DifferentialGpuTest::Outcome DifferentialGpuTest::Minimize(Random& random, int lane) {
  constexpr double kMostOperations = 3e8;  // of the CPU's second
  Outcome outcome;
  const v1::MinimizeRequest message = testing::RandomMinimizeRequest(random);
  const Request request = RequestOf(message);
  const auto parsed = ParseSearch(request);
  if (!parsed.ok()) return outcome;
  const auto wanted = MakeSearch(*parsed, request.payload);
  if (!wanted.ok() || wanted->problem->cost() > kMostOperations) return outcome;

  Device* const devices[] = {device_.get()};
  auto plan = std::make_shared<SearchPlan>();
  plan->problem = wanted->problem;
  const absl::Status made = MakePrograms(devices, plan.get());
  if (absl::IsUnimplemented(made)) return outcome;  // no NVRTC here
  EXPECT_THAT(made, IsOk());
  if (const int64_t bytes = SearchImageBytes(*plan->problem, devices); bytes > 0) {
    plan->image = *pool_->Lease(bytes);
    WriteSearchImage(*plan->problem, plan->image.data());
  }
  const SearchCapacity capacity = SearchCapacityOf(devices);
  auto search = minimize::Search::Create(plan->problem, capacity.piece);
  EXPECT_THAT(search, IsOk());
  testing::RunSearch(&*search, [&](const minimize::Piece& piece, uint8_t* output) {
    std::vector<JobPtr> jobs;
    jobs.push_back(
        std::make_unique<MinimizeJob>(TestOperation("Minimize"), plan, piece, capacity.piece));
    FillIn(Payload(), jobs.back().get());
    jobs = OnGpu(std::move(jobs), lane);
    std::memcpy(output, jobs.front()->reply.data(), static_cast<size_t>(jobs.front()->reply_bytes));
  });
  auto on_cpu = minimize::Search::Create(plan->problem, minimize::PieceLimits());
  testing::RunSearch(&*on_cpu, [&](const minimize::Piece& piece, uint8_t* output) {
    EvaluatePieceOnCpu(*plan->problem, piece, &minimize::CpuWorkspace::OfThisThread(), output);
  });
  outcome.jobs = 1;
  const auto gpu = search->Finish();
  const auto cpu = on_cpu->Finish();
  if (gpu.status().code() != cpu.status().code()) {
    outcome.difference = absl::StrCat(gpu.status().message(), ", not ", cpu.status().message());
  } else if (gpu.ok()) {
    const bool is_single = message.precision() == v1::SEARCH_PRECISION_FLOAT32;
    outcome.difference = CompareAnswers(
        *gpu, *cpu, (is_single ? 1e-4 : 1e-9) * testing::SizeOfValues(*plan->problem, *cpu));
  }
  if (!outcome.difference.empty()) {
    v1::MinimizeRequest shown = message;
    shown.clear_payload();
    absl::StrAppend(&outcome.difference, "; ", shown.ShortDebugString());
  }
  return outcome;
}

void DifferentialGpuTest::Work(int lane) {
  while (!stop_ && absl::Now() < until_) {
    const uint64_t seed = next_++;
    if (seed >= end_) return;
    Random random(seed);
    Kind& kind = kinds_[static_cast<size_t>(random.Below(static_cast<int>(kinds_.size())))];
    const Outcome outcome = (this->*kind.run)(random, lane);
    kind.jobs += outcome.jobs;
    if (outcome.difference.empty() || stop_) continue;
    ++kind.differences;
    const std::string what = absl::StrCat(kind.name, ", seed ", seed, ": ", outcome.difference);
    std::printf("%s\n", what.c_str());
  }
}

TEST_F(DifferentialGpuTest, RandomRequestsGiveWhatTheCpuGives) {
  std::vector<std::thread> threads;
  for (int lane = 0; lane < kLanes; ++lane) threads.emplace_back([this, lane] { Work(lane); });
  for (std::thread& thread : threads) thread.join();
  for (const Kind& kind : kinds_) {
    RecordProperty(kind.name, absl::StrCat(kind.jobs.load()));
    std::printf("%-19s %8ld requests, %ld differ\n", kind.name, static_cast<long>(kind.jobs),
                static_cast<long>(kind.differences));
    EXPECT_LE(kind.differences, kind.most_differences()) << kind.name;
    if (end_ > next_ + 1000) {
      EXPECT_GT(kind.jobs, 0) << kind.name;
    }
  }
  std::printf("%ld of RecoverCarrier by rounding\n", static_cast<long>(by_rounding_));
  EXPECT_FALSE(stop_) << "the device was lost";
}

}  // namespace
}  // namespace baseband::server
