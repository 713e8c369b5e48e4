#include "server/process/end_signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>
#include <thread>
#include <utility>

namespace baseband::server {
namespace {

// Sent to this process by itself. Neither is a second signal, which would cut a drain short.
constexpr int kNoDeviceSignal = SIGUSR1;
constexpr int kAdminSignal = SIGUSR2;

int AwaitOneOf(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  int got = 0;
  sigwait(&set, &got);
  return got;
}

}  // namespace

EndSignals::EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, kNoDeviceSignal, kAdminSignal}) {
    sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool EndSignals::Send(Cause cause) {
  if (cause == Cause::kSignal) return false;
  return kill(getpid(), cause == Cause::kAdmin ? kAdminSignal : kNoDeviceSignal) == 0;
}

EndSignals::End EndSignals::Await() const {
  const int signal = AwaitOneOf({SIGTERM, SIGINT, kNoDeviceSignal, kAdminSignal});
  switch (signal) {
    case kNoDeviceSignal:
      return {Cause::kNoDevice, "no device is left"};
    case kAdminSignal:
      return {Cause::kAdmin, "an admin wants it so"};
    default:
      return {Cause::kSignal, sigabbrev_np(signal)};
  }
}

void EndSignals::AwaitSecond(Cause first, std::function<void(const std::string& name)> tell,
                             std::function<void()> cut_short) const {
  std::thread([first, tell = std::move(tell), cut_short = std::move(cut_short)] {
    if (first != Cause::kSignal) tell(sigabbrev_np(AwaitOneOf({SIGTERM, SIGINT})));
    AwaitOneOf({SIGTERM, SIGINT});
    cut_short();
  }).detach();
}

}  // namespace baseband::server
