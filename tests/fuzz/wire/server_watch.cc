#include "tests/fuzz/wire/server_watch.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/steady_time.h"

namespace baseband::testing {
namespace {

constexpr absl::Duration kLogInterval = absl::Seconds(2);
constexpr size_t kMaxLogBytes = 16 << 20;

std::string InMib(int64_t bytes) { return absl::StrCat(bytes >> 20, " MiB"); }

}  // namespace

HostStall::HostStall() : thread_([this] { Run(); }) {}

HostStall::~HostStall() {
  stop_ = true;
  thread_.join();
}

void HostStall::Run() {
  constexpr absl::Duration kPause = absl::Milliseconds(50);
  constexpr absl::Duration kWork = absl::Milliseconds(1);
  constexpr absl::Duration kPeriod = absl::Seconds(10);
  const auto cpu_time = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return absl::DurationFromTimespec(time);
  };
  absl::Time next_period = SteadyNow() + kPeriod;
  while (!stop_) {
    const absl::Time start = SteadyNow();
    absl::SleepFor(kPause);
    const absl::Duration worked = cpu_time();
    while (cpu_time() - worked < kWork) {
    }
    const absl::Time now = SteadyNow();
    absl::MutexLock lock(&mutex_);
    now_ = std::max(now_, now - start - kPause - kWork);
    if (now < next_period) continue;
    next_period = now + kPeriod;
    before_ = now_;
    now_ = absl::ZeroDuration();
  }
}

absl::Duration HostStall::Longest() const {
  absl::MutexLock lock(&mutex_);
  return std::max(now_, before_);
}

ServerWatch::ServerWatch(ServerProcess* server, const Limits& limits)
    : server_(*server),
      limits_(limits),
      calm_(HoldingsOf(*server)),
      calm_bytes_(ResidentBytes()),
      next_log_(SteadyNow()) {}

int64_t ServerWatch::ResidentBytes() const {
  std::ifstream file(absl::StrCat("/proc/", server_.process().pid(), "/statm"));
  int64_t size = 0;
  int64_t resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

absl::Duration ServerWatch::CpuTime() const {
  std::string stat;
  std::getline(std::ifstream(absl::StrCat("/proc/", server_.process().pid(), "/stat")), stat);
  // utime and stime are the 14th and 15th field; the second one, in brackets, may have blanks.
  std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return absl::Seconds((user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

bool ServerWatch::IsTooLarge(int64_t bytes, int64_t more) const {
  return more > 0 && bytes - calm_bytes_ > more;
}

std::string ServerWatch::LookAtProcess() const {
  const auto code = server_.process().Wait(absl::ZeroDuration());
  return code.has_value() ? absl::StrCat("the process ended with ", *code) : "";
}

std::string ServerWatch::LookAtLog() const {
  const std::string log = server_.process().Output();
  // Of gRPC's, Abseil's, glibc's and the sanitizers' last words.
  for (const char* const word : {"ssertion", "Check failed", "CHECK failed", "Sanitizer",
                                 "runtime error:", "terminate called", "pure virtual", "free()",
                                 "malloc()", "stack smashing", "Segmentation"}) {
    if (const size_t at = log.find(word); at != std::string::npos) {
      return absl::StrCat("the log says: ", log.substr(at > 200 ? at - 200 : 0, 4000));
    }
  }
  if (log.size() > kMaxLogBytes) return absl::StrCat("a log of ", InMib(log.size()));
  return "";
}

std::string ServerWatch::Look() {
  if (std::string ended = LookAtProcess(); !ended.empty()) return ended;
  const int64_t bytes = ResidentBytes();
  most_more_bytes_ = std::max(most_more_bytes_, bytes - calm_bytes_);
  if (IsTooLarge(bytes, limits_.more_bytes)) {
    return absl::StrCat(InMib(bytes), " are resident, of the calm server ", InMib(calm_bytes_));
  }
  const pid_t pid = server_.process().pid();
  if (const int64_t open = CountDescriptors(pid);
      open > calm_.descriptors + limits_.more_descriptors) {
    return absl::StrCat(open, " descriptors are open");
  }
  if (SteadyNow() < next_log_) return "";
  next_log_ = SteadyNow() + kLogInterval;
  std::error_code error;
  const auto threads = std::distance(
      std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), error),
      std::filesystem::directory_iterator());
  if (threads > calm_.own_threads + calm_.grpc_threads + limits_.more_threads) {
    return absl::StrCat(threads, " threads");
  }
  return LookAtLog();
}

std::string ServerWatch::LookAtRest() {
  const absl::Time deadline = SteadyNow() + limits_.rest;
  std::string left = AwaitQuiescence(server_, calm_, limits_.rest);
  if (std::string ended = LookAtProcess(); !ended.empty()) return ended;
  if (!left.empty()) return absl::StrCat("at rest: ", left);
  while (IsTooLarge(ResidentBytes(), limits_.more_bytes_at_rest)) {
    if (SteadyNow() > deadline) {
      return absl::StrCat("at rest ", InMib(ResidentBytes()), " are resident, of the calm server ",
                          InMib(calm_bytes_));
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
  // Whatever is behind what was attacked may take a little while to end.
  constexpr absl::Duration kInterval = absl::Seconds(1);
  for (absl::Duration before = CpuTime();;) {
    absl::SleepFor(kInterval);
    const absl::Duration after = CpuTime();
    if (after - before < kInterval / 4) break;
    if (SteadyNow() > deadline + kInterval) {
      return absl::StrCat("at rest it uses ", absl::FormatDuration(after - before), " a second");
    }
    before = after;
  }
  return LookAtLog();
}

}  // namespace baseband::testing
