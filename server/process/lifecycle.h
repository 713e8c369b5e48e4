// Where the process stands between its start and its end, for whoever asks whether it lives and
// whether it is ready.
#ifndef BASEBAND_SERVER_PROCESS_LIFECYCLE_H_
#define BASEBAND_SERVER_PROCESS_LIFECYCLE_H_

#include <atomic>
#include <string>

namespace baseband::server {

// Starts, serves, drains; each once, in this order. Asking costs some atomic loads: it is answered
// at once whatever the server is busy with. Thread-safe.
class Lifecycle {
 public:
  void SetServing() { serving_.store(true); }
  void SetDraining() { draining_.store(true); }
  bool is_draining() const { return draining_.load(); }
  // No device serves, but one may yet come back; or that is over.
  void SetRecovering(bool recovering) { recovering_.store(recovering); }
  // The last device was lost, and none comes back.
  void SetNoDevice() { no_device_.store(true); }
  bool has_no_device() const { return no_device_.load(); }

  // Empty while the process can do work, also if that is too much, or the last; else why it cannot.
  std::string WhyNotLive() const { return no_device_.load() ? "no healthy device" : ""; }
  // Empty while new work is welcome, that is while gRPC's health is SERVING; else why it is not.
  std::string WhyNotReady() const {
    if (no_device_.load()) return "no healthy device";
    if (draining_.load()) return "draining";
    if (recovering_.load()) return "no healthy device: one is being reset";
    return serving_.load() ? "" : "starting";
  }

 private:
  std::atomic<bool> serving_{false};
  std::atomic<bool> draining_{false};
  std::atomic<bool> recovering_{false};
  std::atomic<bool> no_device_{false};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_LIFECYCLE_H_
