// Says what the fake driver (fake_nvml.cc) answers.
#ifndef BASEBAND_TESTS_SUPPORT_FAKE_NVML_H_
#define BASEBAND_TESTS_SUPPORT_FAKE_NVML_H_

#include <dlfcn.h>

#include <string>

namespace baseband::testing {

// There is one in a process, and so all of these are the same. Values are in NVML's units: percent,
// bytes, mW, MHz, KB/s. Their names: utilization memory_total memory_used temperature power
// power_limit sm_clock memory_clock throttle_reasons ecc_corrected ecc_uncorrected pcie_sent
// pcie_received pcie_replays; mig: 1, the GPU is in slices; no_events: XIDs are not told.
class FakeNvml {
 public:
  // Aborts if there is no such library at `path`.
  explicit FakeNvml(const std::string& path = BASEBAND_FAKE_NVML)
      : path_(path), library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    Function<void()>("FakeNvmlReset")();
  }

  // For GpuMonitorOptions::library.
  const std::string& path() const { return path_; }

  // A GPU is there once something is known of it.
  void Set(const std::string& pci_bus_id, const std::string& name, double value) {
    Function<void(const char*, const char*, double)>("FakeNvmlSet")(pci_bus_id.c_str(),
                                                                    name.c_str(), value);
  }
  // From now on the value is not supported.
  void Unset(const std::string& pci_bus_id, const std::string& name) {
    Function<void(const char*, const char*)>("FakeNvmlUnset")(pci_bus_id.c_str(), name.c_str());
  }
  void Xid(const std::string& pci_bus_id, unsigned long long xid) {
    Function<void(const char*, unsigned long long)>("FakeNvmlXid")(pci_bus_id.c_str(), xid);
  }
  // From now on every function answers so; nvml::kSuccess: as it should.
  void Fail(int answer) { Function<void(int)>("FakeNvmlFail")(answer); }
  // From now on no function returns, until that ends.
  void Stick(bool stuck) { Function<void(bool)>("FakeNvmlStick")(stuck); }
  // Whether a thread waits for that.
  bool IsStuck() const { return Function<bool()>("FakeNvmlIsStuck")(); }

 private:
  template <typename Signature>
  Signature* Function(const char* name) const {
    return reinterpret_cast<Signature*>(dlsym(library_, name));
  }

  const std::string path_;
  void* const library_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_FAKE_NVML_H_
