#include "client/ctl/common/interrupt.h"

#include <signal.h>

namespace baseband::ctl {
namespace {

volatile sig_atomic_t g_interrupted = 0;

void Remember(int) { g_interrupted = 1; }

void Handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  g_interrupted = 0;
  Handle(Remember);
}
InterruptGuard::~InterruptGuard() { Handle(SIG_DFL); }

bool InterruptGuard::interrupted() const { return g_interrupted != 0; }

}  // namespace baseband::ctl
