// A new operation is a class and a line in a table: one that nobody else knows is scheduled, run,
// tested, served and counted like those of the contract.
//
// Reverse gives the bytes of its payload back in reverse order. Its messages are BytesValue: the
// payload is field 1, and a header has nothing to say.
#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <prometheus/counter.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/batching/dispatcher.h"
#include "server/calls/flight_recorder.h"
#include "server/calls/submit_wire.h"
#include "server/device/create_devices.h"
#include "server/jobs/self_test.h"
#include "server/metrics/series.h"
#include "server/service/server.h"
#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

using ::google::protobuf::BytesValue;

constexpr int64_t kMostBytes = 1000;
constexpr metric::Metric kReversedBytes = {"toy_reversed_bytes_total", "", "Bytes reversed."};

class ReverseMetrics final : public OperationMetrics {
 public:
  explicit ReverseMetrics(prometheus::Registry& registry)
      : bytes(AddCounter(registry, kReversedBytes)) {}
  prometheus::Counter* const bytes;
};

class ReverseBatch final : public Batch {
 public:
  using Batch::Batch;
  int num_pieces() const override { return static_cast<int>(jobs_.size()); }
  void RunPiece(int piece) override {
    Job& job = *jobs_[static_cast<size_t>(piece)];
    const auto input = job.input.span();
    std::reverse_copy(input.begin(), input.end(), job.reply.data());
  }
  absl::Status CudaCopyIn(const CudaLaneView&) override { return NoGpu(); }
  absl::Status CudaRun(const CudaLaneView&) override { return NoGpu(); }
  absl::Status CudaCopyOut(const CudaLaneView&) override { return NoGpu(); }
  absl::Status Finish() override { return absl::OkStatus(); }

 private:
  static absl::Status NoGpu() { return absl::UnimplementedError("a toy"); }
};

class Reverse final : public Operation {
 public:
  Reverse() : Operation(Describe()) {}

  absl::StatusOr<Conversion> Convert(const Request& request, const RequestLimits&) override {
    {
      absl::MutexLock lock(&mutex_);
      client_ = std::string(request.client);
    }
    const int64_t bytes = request.payload.bytes();
    if (bytes < 1 || bytes > kMostBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("value has ", bytes, " bytes, not 1 to ", kMostBytes));
    }
    Conversion result;
    result.job = MakeJob(bytes);
    return result;
  }
  absl::StatusOr<Reply> ToReply(Job& job) override {
    return Reply{"", {{BytesValue::kValueFieldNumber, 0, job.reply_bytes}}, std::move(job.reply)};
  }
  std::unique_ptr<OperationMetrics> MakeMetrics(prometheus::Registry& registry) const override {
    return std::make_unique<ReverseMetrics>(registry);
  }
  void CountResults(const Job& job, OperationMetrics& metrics) const override {
    static_cast<ReverseMetrics&>(metrics).bytes->Increment(static_cast<double>(job.payload_bytes));
  }
  std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const override {
    return std::make_unique<ReverseBatch>(std::move(jobs));
  }
  absl::Status SelfTest(SelfTestBench& bench) const override {
    return bench.ExpectReply(MakeJob(3), "abc", "cba");
  }
  // Whose the last request was; forgets it.
  std::string TakeClient() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(client_, "");
  }

 private:
  static Description Describe() {
    Description description;
    description.name = "Reverse";
    description.payload_field = BytesValue::kValueFieldNumber;
    description.submit_request_field = 100;
    description.submit_response_field = 200;
    return description;
  }
  JobPtr MakeJob(int64_t bytes) const {
    auto job = std::make_unique<Job>(*this);
    job->payload_bytes = job->reply_bytes = bytes;
    job->footprint = {bytes, bytes, 0, 1};
    job->work.units = static_cast<double>(bytes);
    return job;
  }

  absl::Mutex mutex_;
  std::string client_ ABSL_GUARDED_BY(mutex_);
};

// A server on the CPU device whose only operation it is.
class ToyOperationTest : public ::testing::Test {
 protected:
  ToyOperationTest() {
    auto reverse = std::make_unique<Reverse>();
    reverse_ = reverse.get();
    operations_.Add(std::move(reverse));
    metrics_ = std::make_unique<Metrics>("test", operations_.counted());
    config_.listen = {"127.0.0.1:0"};
    security_ = *Security::Create(config_, metrics_.get());
    pool_ = *HostPool::CreatePageable(1 << 20);

    DeviceOptions device_options;
    device_options.selection.kind = DeviceSelection::Kind::kCpu;
    device_options.cpu_threads = 1;
    device_options.lane = {1 << 16, 1 << 16, 1 << 16};
    created_ = *CreateDevices(device_options);
    for (const auto& device : created_.devices) devices_.push_back(device.get());
    EXPECT_THAT(RunSelfTest(*devices_.front(), operations_, *pool_, *pool_), IsOk());
    devices_.front()->set_healthy(true);

    DispatcherOptions options;
    options.operations = &operations_;
    options.limits.lane = device_options.lane;
    options.limits.max_blocks = 100;
    options.limits.max_requests = 100;
    options.queue_requests = 100;
    options.queue_bytes = 1 << 20;
    dispatcher_ = std::make_unique<Dispatcher>(options, devices_, metrics_.get());

    CallEnvironment environment;
    environment.operations = &operations_;
    environment.dispatcher = dispatcher_.get();
    environment.metrics = metrics_.get();
    environment.recorder = &recorder_;
    environment.staging = pool_;
    environment.reply = pool_;
    environment.submit_window = {8, 1 << 16};
    server_ = *Server::Start(config_, *security_, environment, devices_);
    channel_ =
        grpc::CreateChannel(server_->addresses().front(), grpc::InsecureChannelCredentials());
  }
  ~ToyOperationTest() override { server_->Shutdown(absl::Seconds(5)); }

  // The response of a unary call of `method`, as a string; an error as its text.
  std::string Call(const std::string& method, const std::string& request) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const grpc::Slice slice(request);
    const grpc::ByteBuffer message(&slice, 1);
    grpc::ByteBuffer response;
    grpc::Status status;
    auto call = stub.PrepareUnaryCall(&context, "/baseband.v1.Baseband/" + method, message, &queue);
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    if (!status.ok()) return status.error_message();
    grpc::Slice all;
    EXPECT_TRUE(response.DumpToSingleSlice(&all).ok());
    return std::string(reinterpret_cast<const char*>(all.begin()), all.size());
  }

  OperationTable operations_;
  Reverse* reverse_ = nullptr;
  std::unique_ptr<Metrics> metrics_;
  Config config_;
  std::unique_ptr<Security> security_;
  std::shared_ptr<HostPool> pool_;
  Devices created_;
  std::vector<Device*> devices_;
  std::unique_ptr<Dispatcher> dispatcher_;
  FlightRecorder recorder_{absl::ZeroDuration()};
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

std::string Bytes(const std::string& value) {
  BytesValue message;
  message.set_value(value);
  return message.SerializeAsString();
}

TEST_F(ToyOperationTest, IsServedByItsName) {
  EXPECT_EQ(Call("Reverse", Bytes("stressed")), Bytes("desserts"));
}

// The first message of a Submit stream of one request, id 7.
std::string Submission(const std::string& message) {
  return absl::StrCat("\x08\x07",  // id
                      "\xa2\x06", std::string(1, static_cast<char>(message.size())),
                      message);  // field 100
}

TEST_F(ToyOperationTest, IsToldWhoseARequestIs) {
  Call("Reverse", Bytes("x"));
  EXPECT_EQ(reverse_->TakeClient(), "127.0.0.1");
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, "/baseband.v1.Baseband/Submit", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(next());
  const grpc::Slice slice(Submission(Bytes("x")));
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  ASSERT_TRUE(next());
  // What the window is comes first, the answer after it: by then it was converted.
  for (int i = 0; i < 2; ++i) {
    grpc::ByteBuffer response;
    call->Read(&response, nullptr);
    ASSERT_TRUE(next());
  }
  EXPECT_EQ(reverse_->TakeClient(), "127.0.0.1");
  grpc::Status status;
  context.TryCancel();
  call->Finish(&status, nullptr);
  (void)next();
}

TEST_F(ToyOperationTest, RefusesInItsOwnWords) {
  EXPECT_THAT(Call("Reverse", Bytes(std::string(1001, 'x'))),
              HasSubstr("value has 1001 bytes, not 1 to 1000"));
  EXPECT_THAT(Call("Reverse", "\xff"), HasSubstr("well-formed"));
}

TEST_F(ToyOperationTest, IsCountedWithAllOthersAndByItself) {
  EXPECT_EQ(Call("Reverse", Bytes("four")), Bytes("ruof"));
  Call("Reverse", Bytes(""));
  // A call is counted once it is over, which its client may hear a little earlier.
  server_->Shutdown(absl::Seconds(5));
  const std::string page = metrics_->Render();
  EXPECT_THAT(page, HasSubstr(R"(baseband_requests_total{code="OK",rpc="Reverse"} 1)"));
  EXPECT_THAT(page, HasSubstr("reason=\"invalid_request\",rpc=\"Reverse\"} 1"));
  EXPECT_THAT(page, HasSubstr(R"(baseband_batches_total{rpc="Reverse"} 1)"));
  EXPECT_THAT(page, HasSubstr("toy_reversed_bytes_total 4"));
}

TEST_F(ToyOperationTest, ComesThroughStreamsByItsFields) {
  const std::string text = Submission(Bytes("abc"));
  const grpc::Slice slice(text);
  const auto view = SubmitView::Read(grpc::ByteBuffer(&slice, 1), operations_);
  ASSERT_THAT(view, IsOk());
  EXPECT_EQ(view->id(), 7U);
  ASSERT_EQ(view->operation(), operations_.Find("Reverse"));
}

TEST_F(ToyOperationTest, ADeviceThatGivesAnotherAnswerFailsItsSelfTest) {
  class Wrong final : public Operation {
   public:
    explicit Wrong(const Operation& right) : Operation(right.description()), right_(right) {}
    std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const override {
      return right_.MakeBatch(std::move(jobs));
    }
    absl::Status SelfTest(SelfTestBench& bench) const override {
      auto job = std::make_unique<Job>(*this);
      job->payload_bytes = job->reply_bytes = 3;
      job->footprint = {3, 3, 0, 1};
      return bench.ExpectReply(std::move(job), "abc", "abc");
    }

   private:
    const Operation& right_;
  };
  OperationTable operations;
  operations.Add(std::make_unique<Wrong>(*operations_.Find("Reverse")));
  EXPECT_THAT(RunSelfTest(*devices_.front(), operations, *pool_, *pool_),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("Reverse")));
}

}  // namespace
}  // namespace baseband::server
