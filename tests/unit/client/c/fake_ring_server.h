// The server's side of --shm-listen and of one ring, as a test wants it: the socket is answered by
// a thread, the ring by the test.
#ifndef BASEBAND_TESTS_UNIT_CLIENT_C_FAKE_RING_SERVER_H_
#define BASEBAND_TESTS_UNIT_CLIENT_C_FAKE_RING_SERVER_H_

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "common/shm/region_messages.h"
#include "common/shm/ring.h"

namespace baseband::testing {

// What is to be otherwise than in a server that is as it should be.
struct FakeRingFaults {
  int answers = 2;             // so many messages are answered, then the connection is closed
  uint32_t refused_kind = 99;  // shm::RegionKind: answered by `code` and `message`
  uint32_t code = 0;
  std::string message;
  bool sends_no_descriptor = false;
  int descriptors = 1;
  bool is_not_sealed = false;
  bool is_hugetlb = false;
  int64_t missing_bytes = 0;  // of what was granted
  size_t answer_bytes = sizeof(shm::RegionAnswer);
  uint32_t version = shm::kRegionVersion;
  int bell = -1;  // is passed for one, and stays the test's
};

class FakeRingServer {
 public:
  explicit FakeRingServer(FakeRingFaults faults = FakeRingFaults());
  ~FakeRingServer();
  FakeRingServer(const FakeRingServer&) = delete;
  FakeRingServer& operator=(const FakeRingServer&) = delete;

  const std::string& path() const { return path_; }
  // Waits until all that a client asks while it opens has been answered, or it is gone.
  void Settle();
  // Valid once the client is open. Where its region lies here.
  uint8_t* region() const { return region_; }
  uint64_t region_bytes() const { return region_bytes_; }
  BasebandRing ring() const;

  // The next submission; false: none is there.
  bool Take(BasebandSubmission* submission);
  // Completes a submission: by default with its payload, from the beginning of its reply on.
  void Complete(BasebandCompletion completion);
  void Echo(const BasebandSubmission& submission);
  // How often the bell was rung since this was called last.
  uint64_t BellCount();
  // Makes the ring look as if `k` requests had been served.
  void StartAt(uint64_t k);
  // The end of the connection, as of a server that has died.
  void Leave();
  uint64_t taken() const { return taken_; }

 private:
  void Serve();
  bool Answer(int connection);
  void Send(int connection, const shm::RegionAnswer& answer, int fd, int times);

  const FakeRingFaults faults_;
  const std::string path_;
  int listening_ = -1;
  int connection_ = -1;
  int bell_ = -1;
  uint8_t* region_ = nullptr;
  uint64_t region_bytes_ = 0;
  uint64_t taken_ = 0;
  uint64_t completed_ = 0;
  std::thread thread_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_UNIT_CLIENT_C_FAKE_RING_SERVER_H_
