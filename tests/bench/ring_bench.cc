// What a ring costs, from a client's store of a submission to its load of the completion; needs a
// running basebandd with --shm-listen.
//
//   ring_bench SOCKET [--seconds=3] [--clients=8] [--in-flight=64] [--pid=PID of basebandd]
//
// First what threads lose on this machine that do nothing but look at the clock: no tail is shorter.
// Then one job at a time, that a client which never sleeps submits: an Encode of one block (BG1,
// Zc 384, 46 rows) and a Decode of one (4 rows, without noise), microseconds by quantiles, with all
// of the job's description sent, and with its number only; and what the server says of where that
// went: means of whole microseconds, to which half of one was added. Then as many small jobs as the
// server takes (BG2, Zc 16) of so many clients, a thread each, and what they cost the server. Every
// answer is compared with what the CPU kernels make of the same bits.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "baseband/v1/baseband.pb.h"
#include "client/c/basebandd.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/encode.h"
#include "tests/bench/must.h"

namespace baseband::bench {
namespace {

struct Flags {
  std::string socket;
  int seconds = 3;
  int clients = 8;
  int in_flight = 64;
  int pid = 0;
};

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

void MustC(int result) {
  if (result < 0) Fail(basebandd_error());
}

// A job of one block, with what it must be answered with.
struct Task {
  const char* name = "";
  uint8_t operation = 0;
  std::string header;
  std::string payload;
  std::string answer;
};

std::string RandomBits(int bits, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(static_cast<size_t>(bits + 7) / 8, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string ParityOf(const ldpc::Code& code, const std::string& info) {
  std::string parity(static_cast<size_t>(code.parity_bits() + 7) / 8, '\0');
  ldpc::EncodeOnCpu(
      code, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(info.data()), info.size()),
      code.k(), absl::MakeSpan(reinterpret_cast<uint8_t*>(parity.data()), parity.size()));
  return parity;
}

Task EncodeTask(const char* name, uint32_t base_graph, uint32_t zc) {
  const ldpc::CodePtr code = Must(ldpc::NrCode(static_cast<int>(base_graph), static_cast<int>(zc)));
  basebandd_encode_group group{};
  group.code = {base_graph, zc, 0};
  group.count = 1;
  Task task{name, BASEBANDD_ENCODE, std::string(64, '\0'), RandomBits(code->k(), 1), ""};
  const int bytes = basebandd_describe_encode(&group, 1, task.header.data(), task.header.size());
  MustC(bytes);
  task.header.resize(static_cast<size_t>(bytes));
  task.answer = ParityOf(*code, task.payload);
  return task;
}

Task DecodeTask(const char* name, uint32_t rows) {
  const ldpc::CodePtr code = Must(ldpc::NrCode(1, 384, static_cast<int>(rows)));
  basebandd_decode_group group{};
  group.code = {1, 384, rows};
  group.count = 1;
  Task task{name, BASEBANDD_DECODE, std::string(64, '\0'), "", RandomBits(code->k(), 2)};
  const int bytes = basebandd_describe_decode(&group, 1, task.header.data(), task.header.size());
  MustC(bytes);
  task.header.resize(static_cast<size_t>(bytes));
  const std::string parity = ParityOf(*code, task.answer);
  const auto llr_of = [](const std::string& bits, int i) {
    return static_cast<char>((bits[static_cast<size_t>(i / 8)] >> (7 - i % 8) & 1) != 0 ? -20 : 20);
  };
  // The first 2 Zc information bits are not sent.
  for (int i = 2 * 384; i < code->k(); ++i) task.payload += llr_of(task.answer, i);
  for (int i = 0; i < code->parity_bits(); ++i) task.payload += llr_of(parity, i);
  return task;
}

class Client {
 public:
  Client(const Flags& flags, uint32_t entries) {
    basebandd_options options{};
    options.memory_bytes = 8 << 20;
    options.entries = entries;
    options.spin_ns = UINT64_MAX;
    MustC(basebandd_open(flags.socket.c_str(), &options, &connection_));
  }
  ~Client() { basebandd_close(connection_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  uint32_t Register(const Task& task) {
    uint32_t job = 0;
    MustC(basebandd_register(connection_, task.operation, task.header.data(), task.header.size(),
                             task.payload.size(), -1, &job));
    return job;
  }
  // A request with memory of its own.
  basebandd_request Make(const Task& task, uint32_t job) {
    basebandd_request request{};
    if (job == 0) {
      auto* const header = static_cast<char*>(Loan(task.header.size()));
      std::memcpy(header, task.header.data(), task.header.size());
      request.header = header;
      request.header_bytes = task.header.size();
      request.operation = task.operation;
    }
    request.job = job;
    auto* const payload = static_cast<char*>(Loan(task.payload.size()));
    std::memcpy(payload, task.payload.data(), task.payload.size());
    request.payload = payload;
    request.payload_bytes = task.payload.size();
    request.reply_bytes = BASEBANDD_REPLY_BYTES(task.answer.size(), 1);
    request.reply = Loan(request.reply_bytes);
    return request;
  }
  void Submit(const std::vector<basebandd_request>& requests) {
    if (basebandd_submit_many(connection_, requests.data(), requests.size()) !=
        static_cast<int>(requests.size())) {
      Fail(basebandd_error());
    }
  }
  int Poll(basebandd_answer* answers, size_t max) {
    const int count = basebandd_poll(connection_, answers, max);
    MustC(count);
    return count;
  }

  static void Check(const Task& task, const basebandd_answer& answer) {
    if (answer.code != 0) {
      Fail(absl::StrCat(task.name, ": ", std::string(answer.text, answer.text_bytes)));
    }
    if (answer.payload_bytes != task.answer.size() ||
        std::memcmp(answer.payload, task.answer.data(), task.answer.size()) != 0) {
      Fail(absl::StrCat(task.name, ": a wrong answer"));
    }
  }

 private:
  void* Loan(size_t bytes) {
    void* const memory = basebandd_loan(connection_, bytes);
    if (memory == nullptr) Fail(basebandd_error());
    return memory;
  }

  basebandd_connection* connection_ = nullptr;
};

// Sums of what answers say of their stages.
class Stages {
 public:
  void Add(const basebandd_answer& answer) {
    // Field 1 of all responses.
    v1::EncodeResponse response;
    if (!response.ParseFromArray(answer.header, static_cast<int>(answer.header_bytes))) {
      Fail("an answer's header cannot be parsed");
    }
    const v1::Timing& timing = response.timing();
    const uint32_t us[] = {timing.receive_us(), timing.queue_us(),  timing.copy_in_us(),
                           timing.h2d_us(),     timing.kernel_us(), timing.d2h_us()};
    for (size_t i = 0; i < kStages; ++i) sums_[i] += us[i] + 0.5;
    ++count_;
  }
  void Print(double mean_us) const {
    static constexpr const char* kNames[kStages] = {"receive", "queue",  "describe, enqueue",
                                                    "h2d",     "kernel", "d2h"};
    std::printf("  mean %.1f us:", mean_us);
    double rest = mean_us;
    for (size_t i = 0; i < kStages; ++i) {
      const double mean = sums_[i] / static_cast<double>(count_);
      std::printf(" %s %.1f,", kNames[i], mean);
      // What has no time at all is half a microsecond of rounding.
      if (mean > 0.51) rest -= mean;
    }
    std::printf(" all else %.1f\n", rest);
  }

 private:
  static constexpr size_t kStages = 6;
  double sums_[kStages] = {};
  int64_t count_ = 0;
};

void OneAtATime(const Flags& flags, const Task& task, bool registers) {
  Client client(flags, 16);
  const uint32_t job = registers ? client.Register(task) : 0;
  const std::vector<basebandd_request> requests = {client.Make(task, job)};
  std::vector<double> us;
  Stages stages;
  double sum = 0;
  const int64_t begin = NowNs();
  const int64_t warm = begin + 500000000;
  const int64_t end = warm + flags.seconds * int64_t{1000000000};
  for (int64_t sent = begin; sent < end;) {
    basebandd_answer answer;
    std::memset(requests[0].reply, 0, task.answer.size());
    sent = NowNs();
    client.Submit(requests);
    while (client.Poll(&answer, 1) == 0) {
    }
    const int64_t done = NowNs();
    Client::Check(task, answer);
    if (sent < warm) continue;
    us.push_back(static_cast<double>(done - sent) / 1000);
    sum += us.back();
    stages.Add(answer);
  }
  std::sort(us.begin(), us.end());
  const auto quantile = [&us](double q) {
    return us[std::min(us.size() - 1, static_cast<size_t>(q * static_cast<double>(us.size())))];
  };
  std::printf("%-28s %-10s p50 %7.1f  p90 %7.1f  p99 %7.1f  p99.9 %7.1f us  p99/p50 %.2f  of %zu\n",
              task.name, registers ? "by number" : "described", quantile(0.5), quantile(0.9),
              quantile(0.99), quantile(0.999), quantile(0.99) / quantile(0.5), us.size());
  stages.Print(sum / static_cast<double>(us.size()));
}

// What the machine itself takes: threads that only look at the clock, as many as a job passes.
void OnlyLook(const Flags& flags) {
  constexpr int kThreads = 3;
  constexpr int64_t kGapNs = 10000;
  struct Gaps {
    int64_t count = 0;
    int64_t ns = 0;
    int64_t longest = 0;
  };
  std::vector<Gaps> gaps(kThreads);
  std::vector<std::thread> threads;
  for (Gaps& seen : gaps) {
    threads.emplace_back([&flags, &seen] {
      Gaps own;
      const int64_t end = NowNs() + flags.seconds * int64_t{1000000000};
      for (int64_t last = NowNs(); last < end;) {
        const int64_t now = NowNs();
        const int64_t gap = now - last;
        if (gap > kGapNs) {
          ++own.count;
          own.ns += gap;
          own.longest = std::max(own.longest, gap);
        }
        last = now;
      }
      seen = own;
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("threads that only look at the clock, and find that over 10 us are gone:");
  for (const Gaps& seen : gaps) {
    std::printf(" %.0f times a second, %.2f %% of it, %.0f us at most;",
                static_cast<double>(seen.count) / flags.seconds,
                static_cast<double>(seen.ns) / flags.seconds / 1e7,
                static_cast<double>(seen.longest) / 1000);
  }
  std::printf("\n");
}

// Of all threads of process `pid`; 0 if there is none.
double CpuSecondsOf(int pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string line;
  std::getline(file, line);
  const size_t after_name = line.rfind(')');
  if (after_name == std::string::npos) return 0;
  unsigned long user = 0;
  unsigned long system = 0;
  std::sscanf(line.c_str() + after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
              &user, &system);
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void ManySmall(const Flags& flags, const Task& task) {
  std::atomic<bool> stops{false};
  std::atomic<int64_t> answered{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < flags.clients; ++i) {
    threads.emplace_back([&] {
      Client client(flags, 4096);
      const uint32_t job = client.Register(task);
      std::vector<basebandd_request> requests;
      for (int k = 0; k < flags.in_flight; ++k) {
        requests.push_back(client.Make(task, job));
        requests.back().id = static_cast<uint64_t>(k);
      }
      client.Submit(requests);
      std::vector<basebandd_answer> answers(requests.size());
      for (size_t in_flight = requests.size(); in_flight > 0;) {
        const int count = client.Poll(answers.data(), answers.size());
        std::vector<basebandd_request> again;
        for (int k = 0; k < count; ++k) {
          Client::Check(task, answers[static_cast<size_t>(k)]);
          again.push_back(requests[answers[static_cast<size_t>(k)].id]);
        }
        answered.fetch_add(count, std::memory_order_relaxed);
        if (stops.load(std::memory_order_relaxed)) {
          in_flight -= again.size();
        } else if (!again.empty()) {
          client.Submit(again);
        }
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const int64_t before = answered.load();
  const double cpu_before = CpuSecondsOf(flags.pid);
  const int64_t begin = NowNs();
  std::this_thread::sleep_for(std::chrono::seconds(flags.seconds));
  const auto jobs = static_cast<double>(answered.load() - before);
  const double seconds = static_cast<double>(NowNs() - begin) / 1e9;
  const double cpu = CpuSecondsOf(flags.pid) - cpu_before;
  stops.store(true);
  for (std::thread& thread : threads) thread.join();
  std::printf("%-28s %d clients, %d in flight each: %.0f jobs/s", task.name, flags.clients,
              flags.in_flight, jobs / seconds);
  if (flags.pid != 0) {
    std::printf(", %.2f us of the server's processors each, %.1f cores", 1e6 * cpu / jobs,
                cpu / seconds);
  }
  std::printf("\n");
}

int Main(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    const auto number = [&argument](const char* prefix, int* value) {
      return absl::ConsumePrefix(&argument, prefix) && absl::SimpleAtoi(argument, value);
    };
    if (number("--seconds=", &flags.seconds) || number("--clients=", &flags.clients) ||
        number("--in-flight=", &flags.in_flight) || number("--pid=", &flags.pid)) {
      continue;
    }
    flags.socket = std::string(argument);
  }
  if (flags.socket.empty() || flags.seconds < 1 || flags.clients < 1 || flags.in_flight < 1 ||
      flags.in_flight > 4096) {
    Fail("ring_bench SOCKET [--seconds=N] [--clients=N] [--in-flight=1 .. 4096] [--pid=PID]");
  }
  const Task encode = EncodeTask("Encode BG1 Zc 384, 46 rows", 1, 384);
  const Task decode = DecodeTask("Decode BG1 Zc 384, 4 rows", 4);
  OnlyLook(flags);
  for (const Task* task : {&encode, &decode}) {
    OneAtATime(flags, *task, /*registers=*/false);
    OneAtATime(flags, *task, /*registers=*/true);
  }
  ManySmall(flags, EncodeTask("Encode BG2 Zc 16, 42 rows", 2, 16));
  return 0;
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) { return baseband::bench::Main(argc, argv); }
