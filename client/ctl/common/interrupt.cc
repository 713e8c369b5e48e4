#include "client/ctl/common/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace baseband::ctl {
namespace {

volatile sig_atomic_t g_interrupted = 0;
struct sigaction g_before = {};  // what SIGINT did before the guard

void Remember(int) {
  g_interrupted = 1;
  sigaction(SIGINT, &g_before, nullptr);
}

// What a signal handler may read: no lock, no allocation.
std::array<std::atomic<const char*>, 4096> g_temporaries = {};

void RemoveTemporaries(int signal) {
  for (const std::atomic<const char*>& slot : g_temporaries) {
    if (const char* const path = slot.load()) {
      unlink(path);
    }
  }
  raise(signal);  // SA_RESETHAND: as it would have been
}

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

void RemoveTemporariesAtTheEnd() {
  for (const int signal : kEnding) {
    struct sigaction action = {};
    // One that is ignored, or has a handler, does not end the program.
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
      action.sa_handler = RemoveTemporaries;
      action.sa_flags = static_cast<int>(SA_RESETHAND);
      sigaction(signal, &action, nullptr);
    }
  }
}

void Exchange(const char* from, const char* to) {
  for (std::atomic<const char*>& slot : g_temporaries) {
    const char* expected = from;
    if (slot.compare_exchange_strong(expected, to)) {
      return;
    }
  }
}

}  // namespace

InterruptGuard::InterruptGuard() {
  g_interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = Remember;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &g_before);
}
InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &g_before, nullptr); }

bool InterruptGuard::interrupted() const { return g_interrupted != 0; }

int MakeTemporary(std::string* path) {
  static std::once_flag installed;
  std::call_once(installed, RemoveTemporariesAtTheEnd);
  // A signal waits until the file is known.
  sigset_t held;
  sigset_t before;
  sigemptyset(&held);
  for (const int signal : kEnding) {
    sigaddset(&held, signal);
  }
  pthread_sigmask(SIG_BLOCK, &held, &before);
  const int fd = mkostemp(path->data(), O_CLOEXEC);
  if (fd >= 0) {
    Exchange(nullptr, path->c_str());
  }
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return fd;
}
void ForgetTemporary(const std::string& path) { Exchange(path.c_str(), nullptr); }

}  // namespace baseband::ctl
