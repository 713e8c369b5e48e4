// The service against a bare gRPC echo of the same message sizes, in one run.
//
//   service_bench --target=127.0.0.1:50151 [--mode=latency|throughput|all] [--seconds=3]
//                 [--connections=8] [--in_flight=4] [--blocks=40] [--queues=2] [--threads=4]
//
// The echo is a completion-queue server of this program, tuned as basebandd is, that reads a
// request and sends a ready-made reply: what gRPC itself costs. Latency: one call at a time, one
// code block, percentiles of the round trip beside the server's own stage times, and beside an echo
// that answers only after the kernel's time (threads that wait longer sleep deeper, on both sides).
// Throughput: many calls in flight with `blocks` code blocks each, and the goodput of the service
// as a share of the echo's. Every reply of the service is compared with the right one.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "baseband/v1/baseband.grpc.pb.h"
#include "tests/bench/echo_server.h"

namespace baseband::bench {
namespace {

struct Flags {
  std::string target = "127.0.0.1:50151";
  std::string mode = "all";
  double seconds = 3;
  int connections = 8;
  int in_flight = 4;
  int blocks = 40;
  int queues = 2;   // of the echo: as basebandd has on 16 cores
  int threads = 4;  // per queue
};

// A call that can be sent over and over: the method, the request, and what must come back.
struct Workload {
  std::string name;
  std::string method;
  grpc::ByteBuffer request;
  std::string expected_payload;
  int64_t request_bytes = 0;
  int64_t reply_bytes = 0;
  int64_t information_bits = 0;
};

std::shared_ptr<grpc::Channel> Connect(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

grpc::ByteBuffer ToBuffer(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

template <typename Message>
Message FromBuffer(const grpc::ByteBuffer& buffer) {
  Message message;
  grpc::Slice slice;
  if (!buffer.DumpToSingleSlice(&slice).ok() ||
      !message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    std::fprintf(stderr, "a reply is no %s\n", message.GetTypeName().c_str());
    std::exit(1);
  }
  return message;
}

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "service_bench: %s\n", message.c_str());
  std::exit(1);
}

// One blocking call; microseconds it took.
class Caller {
 public:
  explicit Caller(const std::string& target) : stub_(Connect(target)) {}

  double Call(const std::string& method, const grpc::ByteBuffer& request, grpc::ByteBuffer* reply) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    grpc::Status status;
    const auto start = std::chrono::steady_clock::now();
    const auto call = stub_.PrepareUnaryCall(&context, method, request, &queue_);
    call->StartCall();
    call->Finish(reply, &status, this);
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - start;
    if (!status.ok()) {
      Fail(absl::StrCat(method, ": ", status.error_message()));
    }
    return elapsed.count();
  }

 private:
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
};

constexpr int kBaseGraph = 1;
constexpr int kZc = 384;
constexpr int kInfoBytes = 22 * kZc / 8;

void SetCode(v1::LdpcCode* code) {
  code->mutable_nr()->set_base_graph(kBaseGraph);
  code->mutable_nr()->set_zc(kZc);
}

v1::EncodeRequest EncodeOf(int blocks) {
  v1::EncodeRequest request;
  v1::EncodeGroup& group = *request.add_groups();
  SetCode(group.mutable_code());
  group.set_count(static_cast<uint32_t>(blocks));
  uint64_t state = 88172645463325252;
  for (int i = 0; i < blocks * kInfoBytes; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    request.mutable_payload()->push_back(static_cast<char>(state));
  }
  return request;
}

// The workloads; the right answers come from the service itself once and are checked against each
// other: what Decode gives must be what was encoded.
std::vector<Workload> MakeWorkloads(const std::string& target, int blocks) {
  Caller caller(target);
  grpc::ByteBuffer reply;
  v1::EncodeRequest encode = EncodeOf(blocks);
  Workload parity;
  parity.name = "Encode BG1 Zc=384 R=1/3";
  parity.method = "/baseband.v1.Baseband/Encode";
  parity.request = ToBuffer(encode);
  caller.Call(parity.method, parity.request, &reply);
  parity.expected_payload = FromBuffer<v1::EncodeResponse>(reply).payload();
  parity.reply_bytes = static_cast<int64_t>(reply.Length());

  encode.mutable_groups(0)->set_output(v1::ENCODE_OUTPUT_CODEWORD);
  caller.Call(parity.method, ToBuffer(encode), &reply);
  const std::string words = FromBuffer<v1::EncodeResponse>(reply).payload();
  v1::DecodeRequest decode;
  v1::DecodeGroup& group = *decode.add_groups();
  SetCode(group.mutable_code());
  group.set_count(static_cast<uint32_t>(blocks));
  for (const char byte : words) {
    for (int bit = 7; bit >= 0; --bit) {
      decode.mutable_payload()->push_back(static_cast<char>(byte >> bit & 1 ? -6 : 6));
    }
  }
  // Some noise of a simple kind: every 9th value is wrong.
  for (size_t i = 4; i < decode.payload().size(); i += 9) {
    (*decode.mutable_payload())[i] = static_cast<char>(-decode.payload()[i]);
  }
  Workload bits;
  bits.name = "Decode BG1 Zc=384 R=1/3";
  bits.method = "/baseband.v1.Baseband/Decode";
  bits.request = ToBuffer(decode);
  caller.Call(bits.method, bits.request, &reply);
  bits.expected_payload = FromBuffer<v1::DecodeResponse>(reply).payload();
  bits.reply_bytes = static_cast<int64_t>(reply.Length());
  if (bits.expected_payload != encode.payload()) {
    Fail("Decode did not give back what was encoded");
  }
  std::vector<Workload> workloads = {parity, bits};
  for (Workload& workload : workloads) {
    workload.request_bytes = static_cast<int64_t>(workload.request.Length());
    workload.information_bits = int64_t{8} * kInfoBytes * blocks;
  }
  return workloads;
}

// The payload is the last field of every reply.
bool IsRight(const Workload& workload, const grpc::ByteBuffer& reply) {
  grpc::Slice slice;
  if (!reply.DumpToSingleSlice(&slice).ok() || slice.size() < workload.expected_payload.size()) {
    return false;
  }
  return std::equal(workload.expected_payload.begin(), workload.expected_payload.end(),
                    slice.end() - workload.expected_payload.size(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

double Percentile(std::vector<double>& values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(p * static_cast<double>(values.size() - 1))];
}

void MeasureLatency(const Flags& flags) {
  std::printf("\nlatency, one call at a time, one code block, one connection\n");
  std::printf("%-26s %9s %9s %9s %9s\n", "", "p50 us", "p90 us", "p99 us", "calls");
  for (const Workload& workload : MakeWorkloads(flags.target, 1)) {
    const EchoServer echo(workload.reply_bytes, flags.queues, flags.threads);
    EchoServer late_echo(workload.reply_bytes, flags.queues, flags.threads);
    Caller echo_caller(echo.address());
    Caller late_caller(late_echo.address());
    Caller caller(flags.target);
    std::vector<double> echo_us;
    std::vector<double> late_us;
    std::vector<double> us;
    std::vector<double> kernel_us;
    std::vector<double> device_us;
    std::vector<double> host_us;
    grpc::ByteBuffer reply;
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(2 * flags.seconds);
    // In turns, so that whatever disturbs the machine disturbs both; each turn long enough that
    // both are called as often as they answer.
    constexpr int kTurn = 100;
    constexpr int kWarmUp = 10;
    for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
      const bool warm = i % kTurn >= kWarmUp;
      if (i % kTurn == 0 && !kernel_us.empty()) {
        late_echo.set_delay(
            std::chrono::microseconds(static_cast<int64_t>(Percentile(kernel_us, 0.5))));
      }
      const int turn = i / kTurn % 3;
      if (turn != 2) {
        const double time =
            (turn == 0 ? echo_caller : late_caller).Call(workload.method, workload.request, &reply);
        if (warm) (turn == 0 ? echo_us : late_us).push_back(time);
        continue;
      }
      const double time = caller.Call(workload.method, workload.request, &reply);
      if (!IsRight(workload, reply)) {
        Fail("a reply is wrong");
      }
      const v1::Timing timing = absl::EndsWith(workload.method, "Encode")
                                    ? FromBuffer<v1::EncodeResponse>(reply).timing()
                                    : FromBuffer<v1::DecodeResponse>(reply).timing();
      if (warm) {
        us.push_back(time);
        kernel_us.push_back(timing.kernel_us());
        host_us.push_back(timing.receive_us() + timing.queue_us() + timing.copy_in_us());
        device_us.push_back(timing.h2d_us() + timing.kernel_us() + timing.d2h_us());
      }
    }
    const auto row = [](const std::string& name, std::vector<double>& values) {
      std::printf("%-26s %9.1f %9.1f %9.1f %9zu\n", name.c_str(), Percentile(values, 0.5),
                  Percentile(values, 0.9), Percentile(values, 0.99), values.size());
    };
    row("bare echo, same sizes", echo_us);
    row("echo after kernel's time", late_us);
    row(workload.name, us);
    row("  its kernels", kernel_us);
    row("  copies and kernels", device_us);
    row("  receive to launch", host_us);
    std::printf("  above echo + kernel, p50: %.1f us\n",
                Percentile(us, 0.5) - Percentile(echo_us, 0.5) - Percentile(kernel_us, 0.5));
    std::printf("  above the late echo, p50: %.1f us\n",
                Percentile(us, 0.5) - Percentile(late_us, 0.5));
  }
}

// Calls a second with all connections busy.
double CallsPerSecond(const std::string& target, const Workload& workload, const Flags& flags,
                      bool check) {
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer reply;
    grpc::Status status;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  };
  std::vector<std::thread> threads;
  std::vector<int64_t> ended(static_cast<size_t>(flags.connections));
  const absl::Time begin = absl::Now() + absl::Milliseconds(500);  // warm by then
  const absl::Time end = begin + absl::Seconds(flags.seconds);
  for (int c = 0; c < flags.connections; ++c) {
    threads.emplace_back([&, c] {
      grpc::GenericStub stub(Connect(target));
      grpc::CompletionQueue queue;
      const auto start = [&] {
        auto* const call = new Call();
        call->context.set_wait_for_ready(true);
        call->reader =
            stub.PrepareUnaryCall(&call->context, workload.method, workload.request, &queue);
        call->reader->StartCall();
        call->reader->Finish(&call->reply, &call->status, call);
      };
      int running = flags.in_flight;
      for (int i = 0; i < flags.in_flight; ++i) start();
      void* tag = nullptr;
      bool ok = false;
      while (running > 0 && queue.Next(&tag, &ok)) {
        const std::unique_ptr<Call> call(static_cast<Call*>(tag));
        if (!call->status.ok()) Fail(call->status.error_message());
        if (check && !IsRight(workload, call->reply)) Fail("a reply is wrong");
        const absl::Time now = absl::Now();
        ended[static_cast<size_t>(c)] += now >= begin && now < end;
        if (now < end) {
          start();
        } else {
          --running;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int64_t sum = 0;
  for (const int64_t calls : ended) sum += calls;
  return static_cast<double>(sum) / flags.seconds;
}

void MeasureThroughput(const Flags& flags) {
  std::printf("\nthroughput, %d connections, %d calls in flight on each, %d code blocks a call\n",
              flags.connections, flags.in_flight, flags.blocks);
  std::printf("%-26s %10s %10s %10s %8s\n", "", "calls/s", "in GB/s", "Gb/s info", "of echo");
  for (const Workload& workload : MakeWorkloads(flags.target, flags.blocks)) {
    const EchoServer echo(workload.reply_bytes, flags.queues, flags.threads);
    const double bare = CallsPerSecond(echo.address(), workload, flags, false);
    const double served = CallsPerSecond(flags.target, workload, flags, true);
    const auto row = [&](const std::string& name, double calls, const std::string& share) {
      std::printf("%-26s %10.0f %10.2f %10.2f %8s\n", name.c_str(), calls,
                  calls * static_cast<double>(workload.request_bytes) * 1e-9,
                  calls * static_cast<double>(workload.information_bits) * 1e-9, share.c_str());
    };
    row("bare echo, same sizes", bare, "");
    row(workload.name, served, absl::StrCat(static_cast<int>(100 * served / bare), " %"));
  }
}

bool ReadFlag(absl::string_view argument, Flags* flags) {
  const auto text = [&](absl::string_view name, std::string* value) {
    if (!absl::ConsumePrefix(&argument, name)) return false;
    *value = std::string(argument);
    return true;
  };
  std::string number;
  if (text("--target=", &flags->target) || text("--mode=", &flags->mode)) return true;
  if (text("--seconds=", &number)) return absl::SimpleAtod(number, &flags->seconds);
  if (text("--connections=", &number)) return absl::SimpleAtoi(number, &flags->connections);
  if (text("--in_flight=", &number)) return absl::SimpleAtoi(number, &flags->in_flight);
  if (text("--blocks=", &number)) return absl::SimpleAtoi(number, &flags->blocks);
  if (text("--queues=", &number)) return absl::SimpleAtoi(number, &flags->queues);
  if (text("--threads=", &number)) return absl::SimpleAtoi(number, &flags->threads);
  return false;
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  using namespace baseband::bench;  // NOLINT
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 2047 << 20);
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (!ReadFlag(argv[i], &flags)) {
      Fail(absl::StrCat("unknown argument ", argv[i], "; see the head of service_bench.cc"));
    }
  }
  if (flags.mode != "throughput") MeasureLatency(flags);
  if (flags.mode != "latency") MeasureThroughput(flags);
  return 0;
}
