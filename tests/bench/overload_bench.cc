// What the server still does when it is asked for more than it can do. Starts servers of its own,
// on the CPU device with one thread, and prints goodput at 1x, 2x and 10x of its capacity, refusals
// by cause, how many predictions were right, high-priority calls beside low-priority load, one
// greedy client of three, and what a refused call costs. Every answer that counts is checked.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "tests/bench/workloads.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::bench {
namespace {

using ::baseband::testing::DecodeOfZeros;
using ::baseband::testing::NrCode;
using ::baseband::testing::ServerProcess;

constexpr absl::Duration kWindow = absl::Seconds(6);

std::unique_ptr<ServerProcess> StartServer(const std::vector<std::string>& flags) {
  auto server = ServerProcess::Start(flags);
  if (!server.ok()) Fail(server.status().ToString());
  return *std::move(server);
}

// Some milliseconds of a core, the same each time, and as few bytes as Decode lets that be: at ten
// times the capacity the client must not be what is slow.
v1::DecodeRequest Work(int blocks) {
  v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384), blocks);
  request.mutable_groups(0)->set_max_iterations(100);
  request.mutable_groups(0)->set_fixed_iterations(true);
  return request;
}

// What became of the calls of one load.
struct Tally {
  std::vector<double> us;  // right answers in time
  int64_t late = 0;        // and whatever else the client gave up
  int64_t refused = 0;     // by the server, at once
};

bool IsRefusal(grpc::StatusCode code) {
  return code == grpc::StatusCode::RESOURCE_EXHAUSTED ||
         code == grpc::StatusCode::INVALID_ARGUMENT || code == grpc::StatusCode::UNIMPLEMENTED;
}

// Calls without waiting for their answers.
class Sender {
 public:
  Sender(const std::string& target, const v1::DecodeRequest& request, const std::string& priority,
         const std::string& method = "Decode")
      : stub_(Connect(target)),
        request_(request),
        priority_(priority),
        method_("/baseband.v1.Baseband/" + method) {
    bool own = false;
    grpc::SerializationTraits<v1::DecodeRequest>::Serialize(request, &bytes_, &own);
    thread_ = std::thread([this] { Poll(); });
  }
  ~Sender() {
    WaitUntil(0);
    queue_.Shutdown();
    thread_.join();
  }

  void Send(absl::Duration timeout) {
    auto* const call = new Call;
    call->context.AddMetadata("baseband-priority", priority_);
    call->sent = absl::Now();
    if (timeout < absl::InfiniteDuration()) {
      call->context.set_deadline(absl::ToChronoTime(call->sent + timeout));
    }
    {
      absl::MutexLock lock(&mutex_);
      ++in_flight_;
    }
    call->reader = stub_.PrepareUnaryCall(&call->context, method_, bytes_, &queue_);
    call->reader->StartCall();
    call->reader->Finish(&call->reply, &call->status, call);
  }
  // At most `most` in flight.
  void WaitUntil(int most) {
    absl::MutexLock lock(&mutex_);
    most_ = most;
    mutex_.Await(absl::Condition(
        +[](Sender* self)
             ABSL_NO_THREAD_SAFETY_ANALYSIS { return self->in_flight_ <= self->most_; },
        this));
  }
  // Since the last time it was asked.
  Tally Take() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(tally_, Tally());
  }

 private:
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
    grpc::ByteBuffer reply;
    grpc::Status status;
    absl::Time sent;
  };

  void Poll() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      const double us = absl::ToDoubleMicroseconds(absl::Now() - call->sent);
      if (call->status.ok()) Check(&call->reply);
      absl::MutexLock lock(&mutex_);
      --in_flight_;
      if (call->status.ok()) {
        tally_.us.push_back(us);
      } else if (IsRefusal(call->status.error_code())) {
        ++tally_.refused;
      } else if (call->status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
        ++tally_.late;
      } else {
        Fail(call->status.error_message());
      }
    }
  }
  // The word of zeros, without noise, decodes to zeros.
  void Check(grpc::ByteBuffer* reply) const {
    v1::DecodeResponse response;
    const auto status =
        grpc::SerializationTraits<v1::DecodeResponse>::Deserialize(reply, &response);
    const auto bytes = static_cast<size_t>(request_.groups(0).count()) * 1056;
    if (!status.ok() || response.payload() != std::string(bytes, '\0')) Fail("a wrong answer");
  }

  grpc::GenericStub stub_;
  const v1::DecodeRequest request_;
  const std::string priority_;
  const std::string method_;
  grpc::ByteBuffer bytes_;
  grpc::CompletionQueue queue_;
  absl::Mutex mutex_;
  int most_ = 0;
  int64_t in_flight_ = 0;
  Tally tally_;
  std::thread thread_;  // last: uses all of the above
};

// `in_flight` calls at a time. Seconds until all were answered.
double ClosedLoop(Sender& sender, int in_flight, absl::Duration window = kWindow) {
  const absl::Time begin = absl::Now();
  while (absl::Now() < begin + window) {
    sender.WaitUntil(in_flight - 1);
    sender.Send(absl::InfiniteDuration());
  }
  sender.WaitUntil(0);
  return absl::ToDoubleSeconds(absl::Now() - begin);
}

// `rate` calls a second, at random moments (a Poisson process), whatever becomes of them: those
// that this program is late for it sends at once. Seconds until all were answered.
double OpenLoop(Sender& sender, double rate, absl::Duration deadline) {
  std::mt19937 random(1);
  std::exponential_distribution<double> gap(rate);
  const absl::Time begin = absl::Now();
  absl::Time next = begin;
  while (absl::Now() < begin + kWindow) {
    next += absl::Seconds(gap(random));
    absl::SleepFor(next - absl::Now());
    sender.Send(deadline);
  }
  sender.WaitUntil(0);
  return absl::ToDoubleSeconds(absl::Now() - begin);
}

void MeasureGoodput() {
  const auto server = StartServer({"--cpu_threads=1"});
  Sender sender(server->target(), Work(8), "normal");
  ClosedLoop(sender, 1, absl::Seconds(2));
  Tally alone = sender.Take();
  const double alone_us = Percentile(alone.us, 0.5);
  const double capacity_s = ClosedLoop(sender, 16);
  const double capacity = static_cast<double>(sender.Take().us.size()) / capacity_s;
  const absl::Duration deadline = absl::Microseconds(20 * alone_us);
  std::printf("Decode of 8 blocks: %.0f us alone, capacity %.0f calls/s (closed loop, 16)\n",
              alone_us, capacity);
  std::printf(
      "open loop, deadline %.0f ms\n  wanted  sent/s  goodput/s  of capacity  refused  late  p99\n",
      absl::ToDoubleMilliseconds(deadline));
  for (const double factor : {1.0, 2.0, 10.0}) {
    const double seconds = OpenLoop(sender, factor * capacity, deadline);
    Tally tally = sender.Take();
    const double goodput = static_cast<double>(tally.us.size()) / seconds;
    const double sent = goodput + static_cast<double>(tally.refused + tally.late) / seconds;
    std::printf("  %5.0fx %7.0f %9.0f %11.2f %9ld %6ld %5.1f ms\n", factor, sent, goodput,
                goodput / capacity, static_cast<long>(tally.refused), static_cast<long>(tally.late),
                tally.us.empty() ? 0.0 : Percentile(tally.us, 0.99) / 1e3);
  }
  const double all = server->Metric("baseband_prediction_ratio_count");
  const double right = server->Metric("baseband_prediction_ratio_bucket", {"le=\"1.25\""}) -
                       server->Metric("baseband_prediction_ratio_bucket", {"le=\"0.75\""});
  std::printf("predictions within 25 %%: %.1f %% of %.0f\n", 100 * right / all, all);
  for (const char* cause : {"queue_requests", "queue_bytes", "deadline", "backlog"}) {
    std::printf("  refused for %s: %.0f\n", cause,
                server->Metric("baseband_refused_total", {absl::StrCat("\"", cause, "\"")}));
  }
}

void MeasurePriorities() {
  const auto server = StartServer({"--cpu_threads=1"});
  Sender high(server->target(), Work(2), "high");
  const auto slots = [&] {  // a call every 20 ms
    const absl::Time begin = absl::Now();
    for (int i = 0; i < 300; ++i) {
      absl::SleepFor(begin + i * absl::Milliseconds(20) - absl::Now());
      high.Send(absl::InfiniteDuration());
    }
    high.WaitUntil(0);
    return high.Take().us;
  };
  slots();
  std::vector<double> idle = slots();
  Sender low(server->target(), Work(8), "low");
  std::atomic<bool> stop{false};
  std::thread load([&] {
    while (!stop) {
      low.WaitUntil(15);
      low.Send(absl::InfiniteDuration());
    }
  });
  std::vector<double> busy = slots();
  const size_t served = low.Take().us.size();
  stop = true;
  load.join();
  std::printf(
      "high: p50 %.0f, p99 %.0f us idle; p50 %.0f, p99 %.0f us beside low (%zu served): %.2fx\n",
      Percentile(idle, 0.5), Percentile(idle, 0.99), Percentile(busy, 0.5), Percentile(busy, 0.99),
      served, Percentile(busy, 0.99) / Percentile(idle, 0.99));
}

// Clients are known by their addresses: a host has three.
void MeasureFairness() {
  const std::string path = absl::StrCat("/tmp/overload_bench.", getpid());
  const std::string v6 = absl::StrCat("[::1]:", testing::FreePort());
  const auto server =
      StartServer({"--cpu_threads=1", absl::StrCat("--listen=unix:", path), "--listen=" + v6});
  const std::vector<std::string> targets = {server->target(), v6, absl::StrCat("unix:", path)};
  for (const int greedy : {4, 40}) {
    std::vector<Tally> tallies(targets.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < targets.size(); ++i) {
      threads.emplace_back([&, i] {
        Sender sender(targets[i], Work(2), "normal");
        ClosedLoop(sender, i == 0 ? greedy : 4);
        tallies[i] = sender.Take();
      });
    }
    for (std::thread& thread : threads) thread.join();
    size_t all = 0;
    for (const Tally& tally : tallies) all += tally.us.size();
    std::printf("three clients with %d, 4 and 4 calls in flight: shares", greedy);
    for (const Tally& tally : tallies) {
      std::printf(" %.2f", 3.0 * static_cast<double>(tally.us.size()) / static_cast<double>(all));
    }
    std::printf(" of a fair one; p99");
    for (Tally& tally : tallies) std::printf(" %.1f", Percentile(tally.us, 0.99) / 1e3);
    std::printf(" ms\n");
  }
}

// Calls that are refused as those over a quota are, when they arrive, unread: their priority is
// none. Beside them those of a method that there is not, which gRPC refuses by itself.
void MeasureRefusals() {
  const auto server = StartServer({});
  for (const char* method : {"Nothing", "Decode"}) {
    Sender sender(server->target(), DecodeOfZeros(NrCode(2, 16), 1), "none", method);
    ClosedLoop(sender, 64, absl::Seconds(1));
    sender.Take();
    const double before = server->Metric("process_cpu_seconds_total");
    ClosedLoop(sender, 64);
    const double used = server->Metric("process_cpu_seconds_total") - before;
    const Tally tally = sender.Take();
    if (!tally.us.empty() || tally.late > 0) Fail("a wrong call was taken");
    std::printf("%s refused: %.1f us of server CPU each, of %ld\n", method,
                1e6 * used / static_cast<double>(tally.refused), static_cast<long>(tally.refused));
  }
}

}  // namespace
}  // namespace baseband::bench

int main() {
  using namespace baseband::bench;  // NOLINT
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  MeasureRefusals();
  MeasureGoodput();
  MeasurePriorities();
  MeasureFairness();
  return 0;
}
