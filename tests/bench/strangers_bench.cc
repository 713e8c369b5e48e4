// What one without credentials can take of a server: memory and time, for each attack a new server.
//
//   strangers_bench [SECONDS [ATTACK]]
//
// Of ATTACK, a part of a name, those alone.
//
// The servers: a bare one of the gRPC that this was built with, which takes messages of 64 MiB, and
// basebandd with --tokens-file. Memory is the most that was resident beyond the calm server.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/version_info.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "kernels/base/steady_time.h"
#include "tests/bench/echo_process.h"
#include "tests/bench/must.h"
#include "tests/bench/stranger.h"
#include "tests/support/http2_frames.h"
#include "tests/support/server_process.h"
#include "tests/support/test_files.h"

namespace baseband::bench {
namespace {

using namespace testing::http2;  // NOLINT

constexpr char kEncode[] = "/baseband.v1.Baseband/Encode";
constexpr size_t kMiB = 1 << 20;
constexpr int kMaxRequestMib = 64;

// A line of /proc/PID/status in MiB.
double StatusMib(pid_t pid, const std::string& name) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    int64_t kib = 0;
    if (absl::StartsWith(line, name) &&
        absl::SimpleAtoi(line.substr(name.size(), line.size() - name.size() - 3), &kib)) {
      return static_cast<double>(kib) / 1024;
    }
  }
  return 0;
}

// Seconds of processors, of all its threads.
double CpuOf(pid_t pid) {
  std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
  std::stringstream text;
  text << stat.rdbuf();
  std::istringstream fields(text.str().substr(text.str().rfind(')') + 2));
  std::string field;
  double ticks[2] = {};
  for (int i = 3; i <= 15 && fields >> field; ++i) {
    if (i >= 14) ticks[i - 14] = std::atof(field.c_str());
  }
  return (ticks[0] + ticks[1]) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Each returns whether the server was still there for it in the end.
bool Gzip(const std::string& target, absl::Duration time) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  grpc::GenericStub stub(
      grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments));
  const grpc::Slice slice(std::string(256 * kMiB, '\0'));
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  context.set_deadline(std::chrono::system_clock::now() +
                       absl::ToChronoSeconds(time + absl::Seconds(20)));
  grpc::CompletionQueue queue;
  const auto reader = stub.PrepareUnaryCall(&context, kEncode, request, &queue);
  reader->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  reader->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  std::printf("[status %d] ", status.error_code());
  return true;
}

bool Claims4Gib(const std::string& target, absl::Duration time) {
  Stranger stranger(target);
  const uint32_t stream = stranger.Open(kEncode);
  stranger.Claim(stream, 0xffffffff);
  stranger.Send(stream, size_t{4} << 30, SteadyNow() + time);
  return stranger.is_open();
}

bool HalfMessages(const std::string& target, absl::Duration time) {
  constexpr int kMessages = 32;
  const absl::Time end = SteadyNow() + time;
  Stranger stranger(target);
  std::vector<uint32_t> streams;
  for (int i = 0; i < kMessages; ++i) {
    streams.push_back(stranger.Open(kEncode));
    stranger.Claim(streams.back(), 64 * kMiB);
  }
  for (const uint32_t stream : streams) stranger.Send(stream, 48 * kMiB, end);
  stranger.ReadUntil(end);
  return stranger.is_open();
}

bool Watches(const std::string& target, absl::Duration time) {
  constexpr int kWatches = 1000;
  Stranger stranger(target);
  for (int i = 0; i < kWatches; ++i) {
    stranger.Claim(stranger.Open("/grpc.health.v1.Health/Watch"), 0);
  }
  stranger.ReadUntil(SteadyNow() + time);
  return stranger.is_open();
}

// kAtOnce of what `frame` returns, again and again.
bool Flood(Stranger& stranger, absl::Duration time, const std::function<std::string()>& frame) {
  constexpr int kAtOnce = 100;
  const int64_t sent = stranger.SendUntil(SteadyNow() + time, [&] {
    std::string frames;
    for (int i = 0; i < kAtOnce; ++i) frames += frame();
    return frames;
  });
  std::printf("[%lld times] ", static_cast<long long>(sent * kAtOnce));
  return stranger.is_open();
}

bool Settings(const std::string& target, absl::Duration time) {
  Stranger stranger(target);
  stranger.Claim(stranger.Open("/grpc.health.v1.Health/Watch"), 0);
  return Flood(stranger, time,
               [] { return Frame(kSettings, 0, 0, BigEndian(4, 2) + BigEndian(kFirstWindow, 4)); });
}

bool Resets(const std::string& target, absl::Duration time) {
  Stranger stranger(target);
  size_t number = 1;
  return Flood(stranger, time, [&] {
    const size_t stream = std::exchange(number, number + 2);
    return Frame(kHeaders, kEndHeaders, stream, HeadersOf(kEncode)) +
           Frame(kReset, 0, stream, BigEndian(8, 4));  // CANCEL
  });
}

bool Calls(const std::string& target, absl::Duration time) {
  Stranger stranger(target, Stranger::Manner::kNeverAcknowledges);
  size_t number = 1;
  return Flood(stranger, time, [&] {
    const size_t stream = std::exchange(number, number + 2);
    return Frame(kHeaders, kEndHeaders | kEndStream, stream,
                 stream == 1 ? RememberedHeadersOf(kEncode) : RecalledHeaders());
  });
}

bool EmptyData(const std::string& target, absl::Duration time) {
  Stranger stranger(target);
  const uint32_t stream = stranger.Open(kEncode);
  return Flood(stranger, time, [&] { return Frame(kData, 0, stream, ""); });
}

// By then the server's SETTINGS have come, and an answer would be in the way no more; its limit of
// headers holds from that answer on.
constexpr absl::Duration kSettled = absl::Milliseconds(500);

// Headers that begin with `block` and go on with frames of `bytes` bytes, which never end them.
bool EndlessHeader(const std::string& target, absl::Duration time, const std::string& block,
                   size_t bytes) {
  Stranger stranger(target);
  stranger.ReadUntil(SteadyNow() + kSettled);
  bool is_first = true;
  return Flood(stranger, time, [&] {
    return std::exchange(is_first, false) ? Frame(kHeaders, 0, 1, HeadersOf(kEncode) + block)
                                          : Frame(kContinuation, 0, 1, std::string(bytes, '\x80'));
  });
}
const std::string& LongValue() {  // that is to have 4 GiB
  static const auto* const block =
      new std::string(std::string("\0\1x", 3) + HpackInteger(4294967295, 7, 0));
  return *block;
}
bool LongHeader(const std::string& target, absl::Duration time) {
  return EndlessHeader(target, time, LongValue(), kMaxFrame);
}
bool LongHeaderInBytes(const std::string& target, absl::Duration time) {
  return EndlessHeader(target, time, LongValue(), 1);
}
bool LongNumber(const std::string& target, absl::Duration time) {  // zeroes that mean nothing
  return EndlessHeader(target, time, std::string("\0\1x\x7f", 4), kMaxFrame);
}

// Whether a connection is open after a call with these headers.
bool StaysOpenAfter(const std::string& target, const std::string& headers) {
  Stranger stranger(target);
  stranger.ReadUntil(SteadyNow() + kSettled);
  stranger.Begin(headers);
  stranger.ReadUntil(SteadyNow() + kSettled);
  return stranger.is_open();
}

bool AbortingHeaders(const std::string& target, absl::Duration /*time*/) {
  const std::string headers = HeadersOf(kEncode);
  const std::string more = Header("x", std::string(9000, 'x'));
  bool stays_open = true;
  for (const std::string& first :
       {absl::StrReplaceAll(headers, {{Header("te", "trailers"), Header("te", "x")}}),
        absl::StrReplaceAll(headers, {{Header(":scheme", "http"), Header(":scheme", "x")}}),
        headers + Header("grpclb_client_stats", "x")}) {
    stays_open = StaysOpenAfter(target, first + more) && stays_open;
  }
  return stays_open;
}

bool WrongBase64(const std::string& target, absl::Duration /*time*/) {
  return StaysOpenAfter(target, HeadersOf(kEncode) + Header("x-bin", "!!!"));
}

struct Attack {
  const char* name;
  bool (*run)(const std::string& target, absl::Duration time);
};

void Measure(const char* server, const Attack& attack, const std::string& target, pid_t pid,
             absl::Duration time) {
  std::ofstream(absl::StrCat("/proc/", pid, "/clear_refs")) << "5";  // the peak is of now
  const double calm = StatusMib(pid, "VmRSS:");
  const double cpu = CpuOf(pid);
  const absl::Time start = SteadyNow();
  const bool open = attack.run(target, time);
  const double seconds = absl::ToDoubleSeconds(SteadyNow() - start);
  const double peak = StatusMib(pid, "VmHWM:");  // 0: the server has ended
  std::printf("%s, %s: %.0f MiB, %.2f s of CPU, %s after %.1f s%s\n", server, attack.name,
              peak - calm, CpuOf(pid) - cpu, open ? "open" : "ended", seconds,
              peak > 0 ? "" : ", and so has the server");
  std::fflush(stdout);
}

void Run(absl::Duration time, const std::string& only) {
  const testing::TemporaryFolder folder;
  const std::string tokens = folder.path() + "/tokens";
  std::ofstream(tokens) << "somebody user " << std::string(64, 'a') << "\n";
  for (const Attack& attack :
       {Attack{"256 MiB packed by gzip", &Gzip}, Attack{"claims 4 GiB", &Claims4Gib},
        Attack{"32 half messages", &HalfMessages}, Attack{"1000 health watches", &Watches},
        Attack{"SETTINGS", &Settings}, Attack{"calls begun and reset", &Resets},
        Attack{"calls beyond a limit that is not acknowledged", &Calls},
        Attack{"empty DATA", &EmptyData}, Attack{"a header of 4 GiB", &LongHeader},
        Attack{"a header of 4 GiB, a byte a frame", &LongHeaderInBytes},
        Attack{"a header's length without end", &LongNumber},
        Attack{"headers of CVE-2023-1428", &AbortingHeaders},
        Attack{"a -bin that is not base64", &WrongBase64}}) {
    if (!absl::StrContains(attack.name, only)) continue;
    {
      const EchoProcess bare(1000, /*num_queues=*/1, /*threads_per_queue=*/2, kMaxRequestMib << 20);
      Measure("bare", attack, bare.address(), bare.pid(), time);
    }
    const auto server = Must(testing::ServerProcess::Start(
        {"--tokens-file=" + tokens, absl::StrCat("--max-request-mib=", kMaxRequestMib)}));
    Measure("basebandd", attack, server->target(), server->process().pid(), time);
  }
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  using namespace baseband::bench;  // NOLINT
  grpc::EnableDefaultHealthCheckService(true);
  if (RunAsEchoProcess(argc, argv)) return 0;
  std::printf("gRPC %s\n", GRPC_CPP_VERSION_STRING);
  Run(absl::Seconds(argc > 1 ? std::atof(argv[1]) : 5), argc > 2 ? argv[2] : "");
  return 0;
}
