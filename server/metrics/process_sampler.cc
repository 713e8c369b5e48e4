#include "server/metrics/process_sampler.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace baseband::server {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

double ProcessCpuSeconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

double ProcessResidentBytes() {
  std::ifstream file("/proc/self/statm");
  double size_pages = 0;
  double resident_pages = 0;
  file >> size_pages >> resident_pages;
  return resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double ProcessOpenFds() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  double count = -3;  // "." and ".." and the folder's own descriptor
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

double ProcessMaxFds() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<double>(limit.rlim_cur);
}

double ProcessStartSeconds() {
  // Field 22 of /proc/self/stat, in clock ticks after boot; the name in field 2 may hold anything.
  std::string stat;
  std::getline(std::ifstream("/proc/self/stat"), stat);
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  double start_ticks = 0;
  fields >> start_ticks;
  timespec since_boot{};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  // In fractions of a second: a process started again within one is told from the one before.
  const absl::Time boot = absl::Now() - absl::DurationFromTimespec(since_boot);
  return absl::ToDoubleSeconds(boot - absl::UnixEpoch()) +
         start_ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace baseband::server
