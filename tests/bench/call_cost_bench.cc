// What a small call costs a server: allocations, copies, thread handovers, processor time.
//
//   call_cost_bench [--calls=2000] [--rounds=5] [--only=NAME] PROGRAM [PROGRAM ...]
//
// Each PROGRAM is a basebandd of any age; it is started here, on the CPU device with one thread,
// twice: once with call_counter.so loaded, which counts what it allocates and copies, and once as
// it is, for handovers and processor time. So is a bare echo of the same sizes: what gRPC itself
// takes. Calls go one at a time on one connection, after a tenth as many to warm up; each must be
// answered, or refused as INVALID_ARGUMENT where it is wrong. A handover is a thread that goes to
// sleep (voluntary context switches of all threads), for each that sleeps was woken. Servers and
// echo take turns, so that whatever disturbs the machine disturbs all; medians over the rounds.
#include <fcntl.h>
#include <grpcpp/generic/generic_stub.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "tests/bench/call_counter.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/bench/echo_process.h"
#include "tests/bench/small_calls.h"
#include "tests/bench/workloads.h"
#include "tests/support/server_process.h"

namespace baseband::bench {
namespace {

// Blocking calls, as those of workloads.h, that may fail.
class Connection {
 public:
  explicit Connection(const std::string& target) : stub_(Connect(target)) {}

  grpc::Status Call(const std::string& method, const grpc::ByteBuffer& request,
                    grpc::ByteBuffer* reply) {
    grpc::ClientContext context;
    grpc::Status status;
    const auto reader = stub_.PrepareUnaryCall(&context, method, request, &queue_);
    reader->StartCall();
    reader->Finish(reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
    return status;
  }

 private:
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
};

// The counts of a process of this machine, mapped into it and into this one.
class CountsFile {
 public:
  CountsFile() {
    path_ = "/tmp/call_cost_bench_XXXXXX";
    const int file = mkostemp(path_.data(), O_CLOEXEC);
    if (file < 0 || ftruncate(file, sizeof(CallCounts)) != 0) Fail("no file for the counts");
    counts_ =
        static_cast<CallCounts*>(mmap(nullptr, sizeof(CallCounts), PROT_READ, MAP_SHARED, file, 0));
    close(file);
    if (counts_ == MAP_FAILED) Fail("no memory for the counts");
  }
  ~CountsFile() { unlink(path_.c_str()); }
  CountsFile(const CountsFile&) = delete;
  CountsFile& operator=(const CountsFile&) = delete;

  const std::string& path() const { return path_; }
  const CallCounts& counts() const { return *counts_; }

 private:
  std::string path_;
  CallCounts* counts_ = nullptr;
};

// Of a call.
struct Cost {
  double allocations = 0;
  double allocated_bytes = 0;
  double copies = 0;
  double copied_bytes = 0;
  double handovers = 0;
  double cpu_us = 0;
  double us = 0;
};

struct Process {
  pid_t pid = 0;
  std::string target;
  const CallCounts* counts = nullptr;  // where they are counted
};

double SleepsOf(pid_t pid) {
  double sleeps = 0;
  for (const auto& task :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"))) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      double value = 0;
      if (absl::StartsWith(line, "voluntary_ctxt_switches:") &&
          absl::SimpleAtod(line.substr(line.find(':') + 1), &value)) {
        sleeps += value;
      }
    }
  }
  return sleeps;
}

Cost Now(const Process& process) {
  Cost now;
  if (process.counts != nullptr) {
    now.allocations = static_cast<double>(process.counts->allocations);
    now.allocated_bytes = static_cast<double>(process.counts->allocated_bytes);
    now.copies = static_cast<double>(process.counts->copies);
    now.copied_bytes = static_cast<double>(process.counts->copied_bytes);
  }
  now.handovers = SleepsOf(process.pid);
  now.cpu_us = 1e6 * CpuSecondsOf(process.pid);
  now.us = absl::ToDoubleMicroseconds(absl::Now() - absl::UnixEpoch());
  return now;
}

Cost Measure(const Process& process, const SmallCall& call, bool is_echo, int calls) {
  Connection connection(process.target);
  grpc::ByteBuffer reply;
  const std::string method = is_echo ? "/baseband.v1.Baseband/Encode" : call.method;
  const auto send = [&] {
    const grpc::Status status = connection.Call(method, call.request, &reply);
    const auto expected =
        call.is_refused ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::OK;
    if (status.error_code() != expected) {
      Fail(absl::StrCat(call.name, ": ", status.error_code(), " ", status.error_message()));
    }
  };
  for (int i = 0; i < calls / 10; ++i) send();
  const Cost begin = Now(process);
  for (int i = 0; i < calls; ++i) send();
  const Cost end = Now(process);
  const auto each = [&](double Cost::*part) { return (end.*part - begin.*part) / calls; };
  return {each(&Cost::allocations), each(&Cost::allocated_bytes),
          each(&Cost::copies),      each(&Cost::copied_bytes),
          each(&Cost::handovers),   each(&Cost::cpu_us),
          each(&Cost::us)};
}

// A server twice, with and without the counter.
struct Server {
  explicit Server(const std::string& program) {
    for (const bool counted : {true, false}) {
      Process& process = counted ? counting : timing;
      process.target = absl::StrCat("127.0.0.1:", testing::FreePort());
      std::vector<std::string> arguments = {"BASEBANDD_METRICS_LISTEN=off",
                                            "BASEBANDD_CPU_THREADS=1", "BASEBANDD_LOG_LEVEL=error"};
      if (counted) {
        arguments.push_back(absl::StrCat("LD_PRELOAD=", CALL_COUNTER));
        arguments.push_back(absl::StrCat(kCallCounterFile, "=", file.path()));
        process.counts = &file.counts();
      }
      arguments.insert(arguments.end(), {program, "--device=cpu", "--listen=" + process.target});
      children.push_back(std::make_unique<testing::ChildProcess>("/usr/bin/env", arguments));
      process.pid = children.back()->pid();
      const SmallCall call = SmallCalls().front();
      grpc::ByteBuffer reply;
      for (int tries = 0; !Connection(process.target).Call(call.method, call.request, &reply).ok();
           ++tries) {
        if (tries == 100) Fail(absl::StrCat(program, ": ", children.back()->Output()));
        absl::SleepFor(absl::Milliseconds(200));
      }
    }
  }
  CountsFile file;
  Process counting;
  Process timing;
  std::vector<std::unique_ptr<testing::ChildProcess>> children;
};

// The echo twice likewise; it answers, or refuses, at the length that `server` does.
struct Echo {
  Echo(const SmallCall& call, const Server& server) {
    grpc::ByteBuffer reply;
    const grpc::Status status =
        Connection(server.timing.target).Call(call.method, call.request, &reply);
    const auto bytes = call.is_refused ? -static_cast<int64_t>(status.error_message().size())
                                       : static_cast<int64_t>(reply.Length());
    timed = std::make_unique<EchoProcess>(bytes, 1, 2);
    setenv("LD_PRELOAD", CALL_COUNTER, 1);
    setenv(kCallCounterFile, file.path().c_str(), 1);
    counted = std::make_unique<EchoProcess>(bytes, 1, 2);
    unsetenv("LD_PRELOAD");
    timing = {timed->pid(), timed->address(), nullptr};
    counting = {counted->pid(), counted->address(), &file.counts()};
  }
  CountsFile file;
  std::unique_ptr<EchoProcess> timed;
  std::unique_ptr<EchoProcess> counted;
  Process counting;
  Process timing;
};

double Median(const std::vector<Cost>& rounds, double Cost::*part) {
  std::vector<double> values;
  for (const Cost& cost : rounds) values.push_back(cost.*part);
  return Percentile(values, 0.5);
}

void Print(const std::string& name, const std::vector<Cost>& counted,
           const std::vector<Cost>& timed) {
  std::printf("  %-40s %8.1f %9.0f %7.2f %9.0f %9.2f %8.1f %8.1f\n", name.c_str(),
              Median(counted, &Cost::allocations), Median(counted, &Cost::allocated_bytes),
              Median(counted, &Cost::copies), Median(counted, &Cost::copied_bytes),
              Median(timed, &Cost::handovers), Median(timed, &Cost::cpu_us),
              Median(timed, &Cost::us));
}

int Main(int calls, int rounds, const std::string& only, const std::vector<std::string>& programs) {
  std::vector<std::unique_ptr<Server>> servers;
  for (const std::string& program : programs) servers.push_back(std::make_unique<Server>(program));
  std::printf("each call, %d calls, median of %d rounds; copies of %d bytes and more\n", calls,
              rounds, static_cast<int>(kLeastCopyBytes));
  for (const SmallCall& call : SmallCalls()) {
    if (!absl::StartsWith(call.name, only)) continue;
    const Echo echo(call, *servers[0]);
    std::printf("\n%-42s %8s %9s %7s %9s %9s %8s %8s\n", call.name.c_str(), "allocs", "bytes",
                "copies", "bytes", "handovers", "CPU us", "us");
    std::vector<std::vector<Cost>> counted(servers.size() + 1);
    std::vector<std::vector<Cost>> timed(servers.size() + 1);
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i <= servers.size(); ++i) {
        const bool is_echo = i == servers.size();
        const auto measure = [&](const Process& process) {
          return Measure(process, call, is_echo, calls);
        };
        counted[i].push_back(measure(is_echo ? echo.counting : servers[i]->counting));
        timed[i].push_back(measure(is_echo ? echo.timing : servers[i]->timing));
      }
    }
    for (size_t i = 0; i < servers.size(); ++i) Print(programs[i], counted[i], timed[i]);
    Print("bare echo, same sizes", counted.back(), timed.back());
  }
  return 0;
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  if (baseband::bench::RunAsEchoProcess(argc, argv)) return 0;
  int calls = 2000;
  int rounds = 5;
  std::string only;
  std::vector<std::string> programs;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    bool ok = true;
    if (absl::ConsumePrefix(&argument, "--calls=")) {
      ok = absl::SimpleAtoi(argument, &calls);
    } else if (absl::ConsumePrefix(&argument, "--rounds=")) {
      ok = absl::SimpleAtoi(argument, &rounds);
    } else if (absl::ConsumePrefix(&argument, "--only=")) {
      only = std::string(argument);
    } else {
      programs.emplace_back(argument);
      ok = !absl::StartsWith(argument, "-");
    }
    if (!ok) baseband::bench::Fail(absl::StrCat("what is ", argv[i], "?"));
  }
  if (programs.empty()) baseband::bench::Fail("which basebandd?");
  return baseband::bench::Main(calls, rounds, only, programs);
}
