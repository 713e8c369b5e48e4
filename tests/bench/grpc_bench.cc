// What the gRPC that this was built with does by itself: to compare one version with another.
//
//   grpc_bench [SECONDS]
//
// Against bare servers in processes of their own: how fast an echo is, in turns of SECONDS; how
// long a call takes after a pause where the server has gRPC's callback API; how large DATA frames
// become, and what it is worth that they may be. Each figure: the smallest, the median and the
// largest of the turns.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/version_info.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "baseband/v1/baseband.grpc.pb.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/process_tuning.h"
#include "kernels/base/steady_time.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/echo_process.h"
#include "tests/bench/frame_relay.h"
#include "tests/bench/must.h"

namespace baseband::bench {
namespace {

constexpr int kTurns = 7;
constexpr int kReplyBytes = 1000;
constexpr char kMethod[] = "/baseband.v1.Baseband/Encode";
constexpr char kCallbackRole[] = "--be-a-callback-server";

client::ClientOptions OptionsFor(const std::string& address, int connections) {
  client::ClientOptions options;
  options.target = address;
  options.connections = connections;
  options.max_attempts = 1;
  return options;
}

struct Turn {
  double calls_per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
};

// Calls of `request_bytes`, `in_flight` at a time, for `seconds`.
Turn Call(client::ChannelPool& channels, size_t request_bytes, int in_flight, double seconds) {
  const grpc::Slice slice(std::string(request_bytes, 'm'));
  const grpc::ByteBuffer request(&slice, 1);
  std::vector<double> times;
  const absl::Time start = SteadyNow();
  RunClosedLoop(
      in_flight, start + absl::Seconds(seconds),
      [&](grpc::ClientContext& context, grpc::CompletionQueue& queue) {
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
        return channels.Pick().stub->PrepareUnaryCall(&context, kMethod, request, &queue);
      },
      [&](const LoopCall& call) {
        if (!call.status.ok()) Fail("the echo: " + call.status.error_message());
        times.push_back(absl::ToDoubleMicroseconds(SteadyNow() - call.start));
      });
  const double took = absl::ToDoubleSeconds(SteadyNow() - start);
  std::sort(times.begin(), times.end());
  return {static_cast<double>(times.size()) / took, times[times.size() / 2],
          times[times.size() * 99 / 100]};
}

std::string Spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  char text[100];
  std::snprintf(text, sizeof(text), "%.4g %.4g %.4g", values.front(), values[values.size() / 2],
                values.back());
  return text;
}

void Echo(double seconds) {
  const EchoProcess echo(kReplyBytes, /*num_queues=*/1, /*threads_per_queue=*/2);
  struct Case {
    const char* name;
    size_t bytes;
    int connections;
    int in_flight;
  };
  for (const Case& of :
       {Case{"1 KB, one at a time", 1000, 1, 1}, Case{"1 KB, 16 in flight", 1000, 1, 16},
        Case{"1 MiB, one at a time", 1 << 20, 1, 1}, Case{"1 MiB, 4 connections", 1 << 20, 4, 8},
        Case{"8 MiB, one at a time", 8 << 20, 1, 1}}) {
    client::ChannelPool channels(OptionsFor(echo.address(), of.connections));
    Call(channels, of.bytes, of.in_flight, 0.2);
    std::vector<double> rates, p50s, p99s;
    for (int i = 0; i < kTurns; ++i) {
      const Turn turn = Call(channels, of.bytes, of.in_flight, seconds);
      const bool large = of.bytes > 100000;
      rates.push_back(turn.calls_per_second * (large ? static_cast<double>(of.bytes) / 1e9 : 1));
      p50s.push_back(turn.p50_us);
      p99s.push_back(turn.p99_us);
    }
    std::printf("echo of %s: %s %s, p50 us %s, p99 us %s\n", of.name, Spread(rates).c_str(),
                of.bytes > 100000 ? "GB/s" : "calls/s", Spread(p50s).c_str(), Spread(p99s).c_str());
  }
}

// In turns, so that whatever else the host does is done to all of them.
void FrameSizes(double seconds) {
  constexpr size_t kBytes = 1'382'400;  // a slot of 100 MHz: 150 blocks of 9216 LLRs
  for (const int connections : {1, 4}) {
    std::vector<std::unique_ptr<EchoProcess>> echoes;
    std::vector<std::unique_ptr<client::ChannelPool>> channels;
    const std::vector<int> frames = {1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22};
    for (const int bytes : frames) {
      echoes.push_back(std::make_unique<EchoProcess>(kReplyBytes, 1, 2, -1, bytes));
      channels.push_back(
          std::make_unique<client::ChannelPool>(OptionsFor(echoes.back()->address(), connections)));
      Call(*channels.back(), kBytes, connections, 0.2);
    }
    std::vector<std::vector<double>> p50s(frames.size()), rates(frames.size());
    for (int i = 0; i < kTurns; ++i) {
      for (size_t f = 0; f < frames.size(); ++f) {
        const Turn turn = Call(*channels[f], kBytes, connections, seconds);
        p50s[f].push_back(turn.p50_us);
        rates[f].push_back(turn.calls_per_second);
      }
    }
    for (size_t f = 0; f < frames.size(); ++f) {
      std::printf("1.38 MB, %d connections, frames of %4d KiB: %s calls/s, p50 us %s\n",
                  connections, frames[f] >> 10, Spread(rates[f]).c_str(), Spread(p50s[f]).c_str());
    }
  }
}

class CallbackService final : public v1::Baseband::CallbackService {
  grpc::ServerUnaryReactor* GetCapabilities(grpc::CallbackServerContext* context,
                                            const v1::GetCapabilitiesRequest* /*request*/,
                                            v1::GetCapabilitiesResponse* /*response*/) override {
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

// In the other process: says where it is, then serves until its standard input ends.
void ServeByCallbacks() {
  CallbackService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.RegisterService(&service);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto server = builder.BuildAndStart();
  std::printf("%d\n", port);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

void IdleCallbacks() {
  int in[2];
  int out[2];
  if (pipe(in) != 0 || pipe(out) != 0) Fail("no pipe");
  const pid_t process = fork();
  if (process == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    close(in[1]);
    execl("/proc/self/exe", "callbacks", kCallbackRole, static_cast<char*>(nullptr));
    _exit(127);
  }
  std::string address = "127.0.0.1:";
  for (char c = 0; read(out[0], &c, 1) == 1 && c != '\n';) address += c;
  const auto stub =
      v1::Baseband::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  const auto call = [&] {
    grpc::ClientContext context;
    v1::GetCapabilitiesResponse response;
    const absl::Time start = SteadyNow();
    if (!stub->GetCapabilities(&context, {}, &response).ok()) Fail("a callback server's call");
    return absl::ToDoubleMilliseconds(SteadyNow() - start);
  };
  for (const absl::Duration pause : {absl::ZeroDuration(), absl::Milliseconds(1537)}) {
    constexpr int kCalls = 20;
    call();
    std::vector<double> times;
    for (int i = 0; i < kCalls; ++i) {
      absl::SleepFor(pause);
      times.push_back(call());
    }
    std::printf("callback API, a call after a pause of %s: %s ms\n",
                absl::FormatDuration(pause).c_str(), Spread(times).c_str());
  }
  close(in[1]);
  waitpid(process, nullptr, 0);
}

void Frames(double seconds) {
  const EchoProcess echo(8 << 20, /*num_queues=*/1, /*threads_per_queue=*/2);
  FrameRelay relay(echo.address());
  {
    client::ChannelPool channels(OptionsFor(relay.address(), 1));
    Call(channels, 8 << 20, 4, seconds);
  }
  relay.Finish();
  for (const bool client : {true, false}) {
    const FrameRelay::Seen& seen = client ? relay.of_client() : relay.of_server();
    std::printf("frames of the %s: DATA up to %zu bytes; takes up to %zu (0: not said, 16384)\n",
                client ? "client" : "server", seen.max_data, seen.max_frame_setting);
  }
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  using namespace baseband::bench;  // NOLINT
  baseband::client::ApplyMallocTuning();
  if (RunAsEchoProcess(argc, argv)) return 0;
  if (argc == 2 && absl::string_view(argv[1]) == kCallbackRole) {
    ServeByCallbacks();
    return 0;
  }
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  std::printf("gRPC %s\n", GRPC_CPP_VERSION_STRING);
  Frames(seconds);
  IdleCallbacks();
  Echo(seconds);
  FrameSizes(seconds);
  return 0;
}
