#include "tests/unit/client/c/fake_ring_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/shm/packet.h"

namespace baseband::testing {
namespace {

constexpr uint64_t kHugeBytes = 1 << 30;  // a multiple of every usual size of huge pages

std::string FreshPath() {
  std::string folder = "/tmp/baseband_ring_XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder + "/shm.sock";
}

}  // namespace

FakeRingServer::FakeRingServer(FakeRingFaults faults)
    : faults_(std::move(faults)), path_(FreshPath()) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path_.begin(), path_.end(), address.sun_path);
  listening_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  EXPECT_EQ(bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(listen(listening_, 4), 0);
  thread_ = std::thread([this] { Serve(); });
}

FakeRingServer::~FakeRingServer() {
  shutdown(listening_, SHUT_RDWR);
  Leave();
  close(listening_);
  if (bell_ >= 0) close(bell_);
  if (region_ != nullptr) munmap(region_, region_bytes_);
  unlink(path_.c_str());
  rmdir(path_.substr(0, path_.rfind('/')).c_str());
}

// Ends when all that is asked while a client opens has been answered.
void FakeRingServer::Serve() {
  const int connection = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return;
  int left = faults_.answers;
  while (left > 0 && Answer(connection)) --left;
  if (left > 0 || faults_.answers < 2) {
    close(connection);
  } else {
    connection_ = connection;
  }
}

bool FakeRingServer::Answer(int connection) {
  shm::RegionRequest request;
  if (recv(connection, &request, sizeof(request), 0) != sizeof(request)) return false;
  shm::RegionAnswer answer;
  answer.version = faults_.version;
  std::fill(std::begin(answer.server_id), std::end(answer.server_id), uint8_t{9});
  if (static_cast<uint32_t>(request.kind) == faults_.refused_kind) {
    answer.code = faults_.code;
    faults_.message.copy(answer.message, sizeof(answer.message));
    Send(connection, answer, -1, 0);
    return false;
  }
  if (request.kind == shm::RegionKind::kGrant) {
    region_bytes_ = request.bytes;
    const int fd = memfd_create(
        "fake", MFD_CLOEXEC | MFD_ALLOW_SEALING | (faults_.is_hugetlb ? unsigned{MFD_HUGETLB} : 0));
    if (faults_.is_hugetlb) region_bytes_ = (region_bytes_ / kHugeBytes + 1) * kHugeBytes;
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(region_bytes_) - faults_.missing_bytes), 0);
    if (!faults_.is_not_sealed) fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    region_ = static_cast<uint8_t*>(
        mmap(nullptr, region_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    answer.bytes = region_bytes_;
    std::fill(std::begin(answer.name), std::end(answer.name), uint8_t{7});
    Send(connection, answer, fd, faults_.descriptors);
    close(fd);
    return true;
  }
  EXPECT_EQ(request.kind, shm::RegionKind::kRing);
  EXPECT_EQ(request.bytes, 0U);
  EXPECT_EQ(request.name[15], 7);
  EXPECT_EQ(ring().header->version, BASEBAND_RING_VERSION);
  bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  Send(connection, answer, faults_.bell >= 0 ? faults_.bell : bell_, 1);
  return true;
}

void FakeRingServer::Send(int connection, const shm::RegionAnswer& answer, int fd, int times) {
  char bytes[sizeof(answer) + 8] = {};
  std::memcpy(bytes, &answer, sizeof(answer));
  const bool has_descriptor = fd >= 0 && !faults_.sends_no_descriptor;
  const std::vector<int> passed(has_descriptor ? static_cast<size_t>(times) : 0, fd);
  (void)shm::SendPacket(connection, bytes, faults_.answer_bytes, passed);
}

BasebandRing FakeRingServer::ring() const {
  return baseband_ring_at(region_, reinterpret_cast<const BasebandRingHeader*>(region_)->entries);
}

void FakeRingServer::Settle() {
  if (thread_.joinable()) thread_.join();
}

bool FakeRingServer::Take(BasebandSubmission* submission) {
  Settle();  // what it has written is seen here
  const BasebandRing here = ring();
  if (baseband_ring_take(&here, taken_, submission) == 0) return false;
  ++taken_;
  return true;
}

void FakeRingServer::Complete(BasebandCompletion completion) {
  const BasebandRing here = ring();
  if (baseband_ring_complete(&here, completed_++, &completion) != 0) {
    syscall(SYS_futex, &here.header->client_waits, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
  }
}

void FakeRingServer::Echo(const BasebandSubmission& submission) {
  BasebandCompletion completion{};
  completion.id = submission.id;
  completion.payload_offset = submission.reply_offset;
  completion.payload_bytes = std::min(submission.payload_bytes, submission.reply_bytes);
  std::memmove(region_ + completion.payload_offset, region_ + submission.payload_offset,
               completion.payload_bytes);
  Complete(completion);
}

uint64_t FakeRingServer::BellCount() {
  uint64_t count = 0;
  return read(bell_, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

void FakeRingServer::StartAt(uint64_t k) {
  Settle();
  const BasebandRing here = ring();
  for (uint64_t i = k; i < k + here.entries; ++i) {
    const uint32_t before = baseband_ring_sequence(i - here.entries);
    here.submissions[i & (here.entries - 1)].sequence = before;
    here.completions[i & (here.entries - 1)].sequence = before;
  }
  taken_ = completed_ = k;
}

void FakeRingServer::Leave() {
  Settle();
  if (connection_ >= 0) close(std::exchange(connection_, -1));
}

}  // namespace baseband::testing
