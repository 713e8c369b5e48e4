// Signals that end the program: ^C, noticed instead; temporary files, removed before.
#ifndef BASEBAND_CLIENT_CTL_COMMON_INTERRUPT_H_
#define BASEBAND_CLIENT_CTL_COMMON_INTERRUPT_H_

#include <string>

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

// Makes a new file by mkostemp(3), which replaces the Xs at the end of *path; -1 and errno if it
// cannot. The file is removed if SIGINT, SIGTERM or SIGHUP end the program before
// ForgetTemporary(*path); until then *path must stay as and where it is. Of more than 4096 at a
// time some stay. Thread-safe, but for signals that come to another thread meanwhile.
int MakeTemporary(std::string* path);
void ForgetTemporary(const std::string& path);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_INTERRUPT_H_
