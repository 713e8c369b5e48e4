// What the way into a device costs the server, payloads read where gRPC received them against
// payloads that are copied, in one run.
//
//   receive_bench [--seconds=3] [--blocks=150] [--rows=4] [--device=auto] [--listen=tcp|unix]
//
// Starts two servers that differ in --grpc-pinned-share alone, and calls Decode at each, one call
// at a time, in turns of a tenth of the time: `blocks` code blocks of BG1 with Zc = 384, cut to
// `rows` rows. Medians of the server's own stages in microseconds, of the round trip, and of the
// server's CPU for a call; of the payload's bytes, how many were read where they were received.
// Every answer is checked.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cpp/client.h"
#include "client/cpp/process_tuning.h"
#include "common/metric_names.h"
#include "kernels/base/steady_time.h"
#include "tests/bench/must.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::bench {
namespace {

using ::baseband::testing::ServerProcess;

constexpr int kTurns = 10;
constexpr std::array<const char*, 8> kColumns = {"receive", "queue", "copy_in", "h2d",
                                                 "kernel",  "d2h",   "call",    "CPU"};

struct Flags {
  double seconds = 3;
  int blocks = 150;
  int rows = 4;
  std::string device = "auto";
  std::string listen = "tcp";
};

class Side {
 public:
  Side(int share, const Flags& flags)
      : name_(share > 0 ? "in place" : "copied"),
        unix_(absl::StrCat("unix:/tmp/receive_bench_", getpid(), "_", share)),
        server_(Must(ServerProcess::Start({absl::StrCat("--device=", flags.device),
                                           absl::StrCat("--listen=", unix_),
                                           absl::StrCat("--grpc-pinned-share=", share)}))) {
    client::ClientOptions options;
    options.target = flags.listen == "unix" ? unix_ : server_->target();
    options.connections = 1;
    client_ = Must(client::Client::Create(options));
  }

  void Call(const v1::DecodeRequest& request, absl::Duration duration) {
    const double cpu = CpuSeconds();
    int calls = 0;
    for (const absl::Time end = SteadyNow() + duration; SteadyNow() < end; ++calls) {
      const absl::Time sent = SteadyNow();
      const v1::DecodeResponse response = Must(client_->Decode(request));
      const double call_us = absl::ToDoubleMicroseconds(SteadyNow() - sent);
      const std::string& bits = response.payload();
      if (bits.empty() || bits.find_first_not_of('\0') != std::string::npos) Fail("not zeros");
      const v1::Timing& timing = response.timing();
      const std::array<double, 7> us = {1.0 * timing.receive_us(),
                                        1.0 * timing.queue_us(),
                                        1.0 * timing.copy_in_us(),
                                        1.0 * timing.h2d_us(),
                                        1.0 * timing.kernel_us(),
                                        1.0 * timing.d2h_us(),
                                        call_us};
      for (size_t i = 0; i < us.size(); ++i) columns_[i].push_back(us[i]);
    }
    columns_.back().push_back(1e6 * (CpuSeconds() - cpu) / calls);
  }
  void Forget() { columns_ = {}; }

  void Print() {
    std::printf("%-10s", name_);
    for (std::vector<double>& column : columns_) {
      std::nth_element(column.begin(), column.begin() + column.size() / 2, column.end());
      std::printf(" %9.0f", column[column.size() / 2]);
    }
    const std::string in_place = "way=\"in_place\"";
    const double all = server_->Metric(metric::kPayloadBytes.name);
    std::printf(" %8.1f%%\n", 100 * server_->Metric(metric::kPayloadBytes.name, {in_place}) / all);
  }

 private:
  // Of the server: user and system.
  double CpuSeconds() const {
    std::ifstream stat(absl::StrCat("/proc/", server_->process().pid(), "/stat"));
    std::string field;
    for (int i = 1; i < 14; ++i) stat >> field;
    double user = 0;
    double system = 0;
    stat >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

  const char* const name_;
  const std::string unix_;
  const std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<client::Client> client_;
  std::array<std::vector<double>, kColumns.size()> columns_;
};

void Run(const Flags& flags) {
  v1::LdpcCode code = testing::NrCode(1, 384);
  code.set_parity_rows(static_cast<uint32_t>(flags.rows));
  const v1::DecodeRequest request = testing::DecodeOfZeros(code, flags.blocks);
  Side copied(0, flags);
  Side in_place(50, flags);
  for (int turn = -1; turn < kTurns; ++turn) {
    for (Side* const side : {&copied, &in_place}) {
      side->Call(request, absl::Seconds(flags.seconds / kTurns));
      if (turn < 0) side->Forget();  // caches, and what gRPC learns of message sizes
    }
  }
  std::printf("calls of %d blocks, %.2f MB, %s\n%-10s", flags.blocks,
              1e-6 * static_cast<double>(request.payload().size()), flags.listen.c_str(), "us");
  for (const char* const column : kColumns) std::printf(" %9s", column);
  std::printf(" %9s\n", "in place");
  copied.Print();
  in_place.Print();
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  using baseband::bench::Fail;
  baseband::client::LockWithoutChecks();
  baseband::bench::Flags flags;
  for (int i = 1; i < argc; ++i) {
    absl::string_view text = argv[i];
    if (absl::ConsumePrefix(&text, "--device=")) {
      flags.device = std::string(text);
    } else if (absl::ConsumePrefix(&text, "--listen=")) {
      flags.listen = std::string(text);
    } else if (!(absl::ConsumePrefix(&text, "--seconds=") &&
                 absl::SimpleAtod(text, &flags.seconds)) &&
               !(absl::ConsumePrefix(&text, "--blocks=") &&
                 absl::SimpleAtoi(text, &flags.blocks)) &&
               !(absl::ConsumePrefix(&text, "--rows=") && absl::SimpleAtoi(text, &flags.rows))) {
      Fail(std::string("unknown argument ") + argv[i] + "; see the head of receive_bench.cc");
    }
  }
  baseband::bench::Run(flags);
  return 0;
}
