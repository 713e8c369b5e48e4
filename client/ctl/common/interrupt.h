// ^C, noticed instead of ending the program.
#ifndef BASEBAND_CLIENT_CTL_COMMON_INTERRUPT_H_
#define BASEBAND_CLIENT_CTL_COMMON_INTERRUPT_H_

namespace baseband::ctl {

// While it lives, the first SIGINT is remembered; the next one ends the program as ever. One at a
// time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_INTERRUPT_H_
