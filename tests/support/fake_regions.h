// A server of shared memory whose answers a test writes itself, at a socket of its own.
#ifndef BASEBAND_TESTS_SUPPORT_FAKE_REGIONS_H_
#define BASEBAND_TESTS_SUPPORT_FAKE_REGIONS_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "baseband/v1/baseband.pb.h"
#include "common/shm/packet.h"
#include "common/shm/region_messages.h"
#include "gtest/gtest.h"

namespace baseband::testing {

// Serves one connection after the other, on a thread of its own.
class FakeRegions {
 public:
  struct Given {
    shm::RegionAnswer answer;
    int fd = -1;        // goes with it, and is closed
    size_t copies = 1;  // of it that go: 1 or 2
  };
  // Runs on the thread. It may call Grant().
  using Handler = std::function<Given(const shm::RegionRequest&)>;

  FakeRegions() {
    listening_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path_.begin(), path_.end(), address.sun_path);
    EXPECT_EQ(bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listening_, 16), 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~FakeRegions() {
    shutdown(listening_, SHUT_RDWR);
    {
      const absl::MutexLock lock(&mutex_);
      if (connection_ >= 0) shutdown(connection_, SHUT_RDWR);
    }
    thread_.join();
    close(listening_);
    unlink(path_.c_str());
    for (const auto& [name, region] : regions_) munmap(region.first, region.second);
  }
  FakeRegions(const FakeRegions&) = delete;
  FakeRegions& operator=(const FakeRegions&) = delete;

  // What a client is told of it. A region usually has a quarter of `max_bytes`.
  v1::SharedMemoryCapabilities Capabilities(uint64_t max_bytes = 1 << 20) const {
    v1::SharedMemoryCapabilities shared;
    shared.set_listen("unix:" + path_);
    shared.set_server_id(std::string(shm::kRegionNameBytes, '\0'));
    shared.set_max_bytes(max_bytes);
    return shared;
  }
  // From now on in place of Grant().
  void Handle(Handler handler) {
    const absl::MutexLock lock(&mutex_);
    handler_ = std::move(handler);
  }
  // As a server does it.
  Given Grant(const shm::RegionRequest& request) {
    Given given;
    if (request.kind != shm::RegionKind::kGrant) return given;
    const absl::MutexLock lock(&mutex_);
    const std::string name = NameOf(static_cast<int>(regions_.size()) + 1);
    given.answer.bytes = request.bytes;
    std::copy(name.begin(), name.end(), given.answer.name);
    given.fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(given.fd, static_cast<off_t>(request.bytes)), 0);
    EXPECT_EQ(fcntl(given.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    regions_[name] = {mmap(nullptr, request.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, given.fd, 0),
                      request.bytes};
    return given;
  }
  static Given Refuse(uint32_t code, const std::string& message) {
    Given given;
    given.answer.code = code;
    std::copy(message.begin(), message.end(), given.answer.message);
    return given;
  }
  static std::string NameOf(int number) {
    std::string name = absl::StrCat("region ", number);
    name.resize(shm::kRegionNameBytes, '.');
    return name;
  }

  // How many requests of `kind` have come.
  int Count(shm::RegionKind kind) const {
    const absl::MutexLock lock(&mutex_);
    return static_cast<int>(std::count_if(heard_.begin(), heard_.end(),
                                          [kind](const auto& one) { return one.kind == kind; }));
  }
  std::vector<std::string> freed() const {
    const absl::MutexLock lock(&mutex_);
    std::vector<std::string> names;
    for (const shm::RegionRequest& request : heard_) {
      if (request.kind != shm::RegionKind::kFree) continue;
      names.emplace_back(reinterpret_cast<const char*>(request.name), sizeof(request.name));
    }
    return names;
  }
  // The server's side of what a client has.
  uint8_t* Memory(const std::string& region, uint64_t offset) const {
    const absl::MutexLock lock(&mutex_);
    return static_cast<uint8_t*>(regions_.at(region).first) + offset;
  }

 private:
  void Run() {
    for (;;) {
      const int fd = accept(listening_, nullptr, nullptr);
      if (fd < 0) return;
      {
        const absl::MutexLock lock(&mutex_);
        connection_ = fd;
      }
      shm::RegionRequest request;
      while (recv(fd, &request, sizeof(request), 0) == sizeof(request)) {
        Handler handler;
        {
          const absl::MutexLock lock(&mutex_);
          heard_.push_back(request);
          handler = handler_;
        }
        Send(fd, handler != nullptr ? handler(request) : Grant(request));
      }
      const absl::MutexLock lock(&mutex_);
      connection_ = -1;
      close(fd);
    }
  }
  static void Send(int fd, const Given& given) {
    const std::vector<int> passed(given.fd >= 0 ? given.copies : 0, given.fd);
    (void)shm::SendPacket(fd, &given.answer, sizeof(given.answer), passed);
    if (given.fd >= 0) close(given.fd);
  }

  const std::string path_ = absl::StrCat(::testing::TempDir(), "/fake_regions", getpid(), ".sock");
  int listening_ = -1;
  mutable absl::Mutex mutex_;
  int connection_ ABSL_GUARDED_BY(mutex_) = -1;
  Handler handler_ ABSL_GUARDED_BY(mutex_);
  std::vector<shm::RegionRequest> heard_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::pair<void*, size_t>> regions_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_FAKE_REGIONS_H_
