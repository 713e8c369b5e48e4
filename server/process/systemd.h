// Tells systemd how the process is, in sd_notify's protocol: lines in a datagram to the socket that
// NOTIFY_SOCKET names.
#ifndef BASEBAND_SERVER_PROCESS_SYSTEMD_H_
#define BASEBAND_SERVER_PROCESS_SYSTEMD_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "kernels/base/periodic_thread.h"

namespace baseband::server {

// Where nobody listens all of it does nothing. Not thread-safe.
class Systemd {
 public:
  // By the environment: NOTIFY_SOCKET, a path or "@" and an abstract name; WATCHDOG_USEC, how often
  // to hear of this process, if WATCHDOG_PID names it or is not set.
  Systemd();
  // Likewise, from their values; zero: nobody waits to hear.
  Systemd(std::string notify_socket, absl::Duration watchdog);

  // One line for `systemctl status`.
  void Status(const std::string& line) { Send("STATUS=" + line); }
  // The process serves. From now on it says twice in a watchdog's time that it lives, as long as
  // `is_alive`, which is called on another thread and must not wait, says so.
  void Ready(const std::string& status, std::function<bool()> is_alive);
  // It ends, within `timeout`: systemd waits for it as long, whatever its unit says.
  void Stopping(const std::string& status, absl::Duration timeout);
  // Whether it says again and again that it lives.
  bool has_pulse() const { return pulse_ != nullptr; }

 private:
  void Send(const std::string& lines) const;

  const std::string socket_;  // empty: none
  const absl::Duration watchdog_;
  std::unique_ptr<PeriodicThread> pulse_;  // null: none; last: its thread uses all of the above
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_SYSTEMD_H_
