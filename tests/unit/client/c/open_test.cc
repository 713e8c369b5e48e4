// Opening a connection, and servers that are not as they should be while it opens.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <string>

#include "client/c/basebandd.h"
#include "client/c/region_wire.h"
#include "tests/unit/client/c/fake_ring_server.h"

namespace baseband::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

static_assert(sizeof(basebandd_region_request) == sizeof(shm::RegionRequest));
static_assert(sizeof(basebandd_region_answer) == sizeof(shm::RegionAnswer));
static_assert(offsetof(basebandd_region_request, name) == offsetof(shm::RegionRequest, name));
static_assert(offsetof(basebandd_region_request, bytes) == offsetof(shm::RegionRequest, bytes));
static_assert(offsetof(basebandd_region_answer, code) == offsetof(shm::RegionAnswer, code));
static_assert(offsetof(basebandd_region_answer, bytes) == offsetof(shm::RegionAnswer, bytes));
static_assert(offsetof(basebandd_region_answer, name) == offsetof(shm::RegionAnswer, name));
static_assert(offsetof(basebandd_region_answer, message) == offsetof(shm::RegionAnswer, message));
static_assert(BASEBANDD_REGION_VERSION == shm::kRegionVersion);
static_assert(BASEBANDD_REGION_PAGE == shm::kRegionPage);
static_assert(BASEBANDD_ALIGNMENT == shm::kRegionAlignment);
static_assert(BASEBANDD_REGION_GRANT == static_cast<uint32_t>(shm::RegionKind::kGrant));
static_assert(BASEBANDD_REGION_RING == static_cast<uint32_t>(shm::RegionKind::kRing));
static_assert(BASEBANDD_MAX_ENTRIES == BASEBAND_RING_MAX_ENTRIES);

int OpenDescriptors() {
  int open = 0;
  for (int fd = 0; fd < 256; ++fd) open += fcntl(fd, F_GETFD) >= 0;
  return open;
}

// The error, which leaves nothing open but what is the server's.
int OpenFails(const std::string& path, basebandd_options options = basebandd_options(),
              FakeRingServer* server = nullptr, int of_server = 0) {
  const int before = OpenDescriptors();
  basebandd_connection* connection = reinterpret_cast<basebandd_connection*>(1);
  const int error = basebandd_open(path.c_str(), &options, &connection);
  EXPECT_EQ(connection, nullptr);
  if (server != nullptr) server->Settle();
  EXPECT_EQ(OpenDescriptors(), before + of_server);
  return error;
}

int OpenFails(const FakeRingFaults& faults, int of_server = 0) {
  FakeRingServer server(faults);
  return OpenFails(server.path(), basebandd_options(), &server, of_server);
}

TEST(OpenTest, AUrlIsRefusedWithWhatToWriteInstead) {
  EXPECT_EQ(OpenFails("http://127.0.0.1:50151"), -EINVAL);
  EXPECT_STREQ(basebandd_error(), "path takes no http://, but PATH or unix:PATH: leave it out");
  EXPECT_EQ(OpenFails("unix:grpc:///run/shm.sock"), -EINVAL);
  EXPECT_THAT(basebandd_error(), HasSubstr("path takes no grpc://"));
}

TEST(OpenTest, WithDefaultsLendsSixteenMebibytes) {
  const FakeRingServer server;
  basebandd_connection* connection = nullptr;
  ASSERT_EQ(basebandd_open(("unix:" + server.path()).c_str(), nullptr, &connection), 0);
  void* const all = basebandd_loan(connection, 16 << 20);
  EXPECT_NE(all, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(all) % 64, 0U);
  EXPECT_EQ(basebandd_loan(connection, 4096), nullptr);
  EXPECT_THAT(basebandd_error(), HasSubstr("bytes 4096: no free piece is as large, of 16781120"));
  for (const size_t bytes : {size_t{0}, size_t{17 << 20}, SIZE_MAX}) {
    EXPECT_EQ(basebandd_loan(connection, bytes), nullptr);
    EXPECT_THAT(basebandd_error(), HasSubstr("bytes " + std::to_string(bytes) +
                                             " is not in [1, 16781120], what the connection"));
  }
  EXPECT_EQ(basebandd_give_back(connection, static_cast<char*>(all) + 64), -EINVAL);
  EXPECT_EQ(basebandd_give_back(connection, all), 0);
  EXPECT_EQ(basebandd_give_back(connection, all), -EINVAL);
  EXPECT_EQ(basebandd_give_back(connection, nullptr), 0);
  EXPECT_EQ(basebandd_in_flight(connection), 0U);
  uint8_t server_id[16];
  basebandd_server_id(connection, server_id);
  EXPECT_THAT(server_id, Each(9));
  basebandd_close(connection);
}

TEST(OpenTest, OptionsOutOfRangeAreNamed) {
  basebandd_options options{};
  for (const uint32_t entries : {3U, 8192U, 0xffffffffU}) {
    options.entries = entries;
    EXPECT_EQ(OpenFails("/nowhere", options), -EINVAL);
    EXPECT_THAT(basebandd_error(), HasSubstr("entries " + std::to_string(entries)));
  }
  options = basebandd_options();
  for (const uint64_t bytes : {uint64_t{1} << 36, UINT64_MAX, UINT64_MAX - 4096}) {
    options.memory_bytes = bytes;
    EXPECT_EQ(OpenFails("/nowhere", options), -EINVAL);
    EXPECT_THAT(basebandd_error(), HasSubstr("memory_bytes"));
  }
  options = basebandd_options();
  options.reserved_more[3] = 1;
  EXPECT_EQ(OpenFails("/nowhere", options), -EINVAL);
}

TEST(OpenTest, APathWithoutServerIsRefused) {
  EXPECT_EQ(OpenFails("/nowhere/shm.sock"), -ENOENT);
  EXPECT_THAT(basebandd_error(), HasSubstr("/nowhere/shm.sock"));
  EXPECT_EQ(OpenFails(""), -EINVAL);
  EXPECT_EQ(OpenFails("unix:"), -EINVAL);
  EXPECT_EQ(OpenFails(std::string(200, 'x')), -EINVAL);
  EXPECT_THAT(basebandd_error(), HasSubstr("200"));
}

TEST(OpenTest, WhatTheServerSaysIsPassedOn) {
  FakeRingFaults faults;
  faults.refused_kind = 1;
  faults.code = 8;
  faults.message = "bytes are more than uid:1000 may have";
  EXPECT_EQ(OpenFails(faults), -ENOMEM);
  EXPECT_THAT(basebandd_error(), HasSubstr(faults.message));
  EXPECT_THAT(basebandd_error(), HasSubstr("memory_bytes 16777216 makes a region of 168"));
  faults.refused_kind = 3;
  faults.code = 7;
  EXPECT_EQ(OpenFails(faults), -EACCES);
  faults.message = std::string(300, 'x');  // does not end
  faults.code = 99;
  EXPECT_EQ(OpenFails(faults), -EIO);
  EXPECT_THAT(basebandd_error(), HasSubstr(std::string(208, 'x')));
}

TEST(OpenTest, AServerThatLeavesIsSeenAtEveryStep) {
  FakeRingFaults faults;
  for (faults.answers = 0; faults.answers < 2; ++faults.answers) {
    const int error = OpenFails(faults);
    EXPECT_TRUE(error == -EPIPE || error == -ECONNRESET) << error << basebandd_error();
  }
}

TEST(OpenTest, AServerThatIsSilentIsLeftAfterTheTimeout) {
  FakeRingServer server;
  basebandd_connection* first = nullptr;
  ASSERT_EQ(basebandd_open(server.path().c_str(), nullptr, &first), 0);
  basebandd_options options{};
  options.open_timeout_ns = 20000000;
  EXPECT_EQ(OpenFails(server.path(), options), -ETIMEDOUT);  // nobody accepts a second one
  basebandd_close(first);
}

TEST(OpenTest, AnswersThatAreNotOfTheProtocolAreRefused) {
  FakeRingFaults faults;
  faults.version = 2;
  EXPECT_EQ(OpenFails(faults), -EPROTO);
  faults = FakeRingFaults();
  for (const size_t bytes : {1, 255, 257}) {
    faults.answer_bytes = bytes;
    EXPECT_EQ(OpenFails(faults), -EPROTO) << bytes;
  }
  faults = FakeRingFaults();
  faults.sends_no_descriptor = true;
  EXPECT_EQ(OpenFails(faults), -EPROTO);
}

TEST(OpenTest, MemoryThatMightFaultIsRefused) {
  FakeRingFaults faults;
  faults.is_not_sealed = true;
  EXPECT_EQ(OpenFails(faults), -EPROTO);
  faults = FakeRingFaults();
  faults.missing_bytes = 4096;
  EXPECT_EQ(OpenFails(faults), -EPROTO);
}

// In such pages a hole is a fault where no page is left.
TEST(OpenTest, MemoryInHugePagesOfTheirOwnIsRefused) {
  const int probe = memfd_create("probe", MFD_CLOEXEC | MFD_HUGETLB);
  if (probe < 0) GTEST_SKIP() << "this kernel has no hugetlbfs";
  close(probe);
  FakeRingFaults faults;
  faults.is_hugetlb = true;
  EXPECT_EQ(OpenFails(faults), -EPROTO);
  EXPECT_THAT(basebandd_error(), HasSubstr("no sealed memory"));
}

class BellTest : public ::testing::Test {
 protected:
  ~BellTest() override { close(other_end_); }

  // And leaves `bell` as it was; closes it.
  void ExpectRefused(int bell) {
    ASSERT_GE(bell, 0);
    const int flags = fcntl(bell, F_GETFL);
    FakeRingFaults faults;
    faults.bell = bell;
    EXPECT_EQ(OpenFails(faults, 2), -EPROTO);  // its connection and its own bell
    EXPECT_THAT(basebandd_error(), HasSubstr("bell is no eventfd"));
    EXPECT_EQ(fcntl(bell, F_GETFL), flags);
    close(bell);
  }

  int other_end_ = -1;
};

TEST_F(BellTest, APipeIsNone) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  other_end_ = ends[0];
  ExpectRefused(ends[1]);
}

TEST_F(BellTest, ASocketIsNone) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  other_end_ = ends[0];
  ExpectRefused(ends[1]);
}

TEST_F(BellTest, AFileIsNoneWhateverItsName) {
  std::string folder = ::testing::TempDir() + "/bell_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/anon_inode:[eventfd]";
  ExpectRefused(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(lseek(file, 0, SEEK_END), 0) << "nothing was written";
  close(file);
  unlink(path.c_str());
  rmdir(folder.c_str());
}

TEST_F(BellTest, ATerminalIsNone) {
  other_end_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (other_end_ < 0 || grantpt(other_end_) != 0 || unlockpt(other_end_) != 0) {
    GTEST_SKIP() << "there are no terminals here";
  }
  ExpectRefused(open(ptsname(other_end_), O_RDWR | O_NOCTTY | O_CLOEXEC));
}

TEST_F(BellTest, OtherDescriptorsWithoutFileAreNone) {
  ExpectRefused(memfd_create("anon_inode:[eventfd]", MFD_CLOEXEC));
  ExpectRefused(epoll_create1(EPOLL_CLOEXEC));
}

TEST_F(BellTest, WhoRingsOneThatIsFullDoesNotWait) {
  const int bell = eventfd(0, EFD_CLOEXEC);  // which blocks
  ASSERT_EQ(eventfd_write(bell, UINT64_MAX - 1), 0);
  FakeRingFaults faults;
  faults.bell = bell;
  FakeRingServer server(faults);
  basebandd_connection* connection = nullptr;
  ASSERT_EQ(basebandd_open(server.path().c_str(), nullptr, &connection), 0);
  server.Settle();
  const BasebandRing ring = server.ring();
  ASSERT_EQ(baseband_ring_server_may_sleep(&ring, 0), 1);
  basebandd_request request{};
  request.job = 1;
  EXPECT_EQ(basebandd_submit(connection, &request), 0);
  EXPECT_EQ(ring.header->server_waits, 0U) << "it was rung";
  basebandd_close(connection);
  close(bell);
}

TEST(OpenTest, MoreDescriptorsThanOneAreClosed) {
  FakeRingFaults faults;
  faults.descriptors = 5;
  const FakeRingServer server(faults);
  const int before = OpenDescriptors();
  basebandd_connection* connection = nullptr;
  ASSERT_EQ(basebandd_open(server.path().c_str(), nullptr, &connection), 0);
  EXPECT_EQ(OpenDescriptors(), before + 4);  // socket and bell, of both sides
  basebandd_close(connection);
  EXPECT_EQ(OpenDescriptors(), before + 2);
}

TEST(OpenTest, DescriptorsAreClosedByExec) {
  const FakeRingServer server;
  basebandd_connection* connection = nullptr;
  std::set<int> before;
  for (int fd = 0; fd < 256; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) before.insert(fd);
  }
  ASSERT_EQ(basebandd_open(server.path().c_str(), nullptr, &connection), 0);
  int fresh = 0;
  for (int fd = 0; fd < 256; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags < 0 || before.count(fd) != 0) continue;
    EXPECT_EQ(flags, FD_CLOEXEC) << fd;
    ++fresh;
  }
  EXPECT_GE(fresh, 2);
  basebandd_close(connection);
}

TEST(OpenTest, AForkedChildHasNeitherConnectionNorMemory) {
  FakeRingServer server;
  basebandd_connection* connection = nullptr;
  ASSERT_EQ(basebandd_open(server.path().c_str(), nullptr, &connection), 0);
  server.Settle();
  void* const loan = basebandd_loan(connection, 64);
  const pid_t child = fork();
  if (child == 0) {
    const basebandd_request request{};
    basebandd_answer answer;
    uint32_t job = 0;
    const bool refuses = basebandd_submit(connection, &request) == -EBADF &&
                         basebandd_poll(connection, &answer, 1) == -EBADF &&
                         basebandd_wait(connection, -1) == -EBADF &&
                         basebandd_call(connection, &request, &answer, -1) == -EBADF &&
                         basebandd_register(connection, 11, &job, 4, 1056, -1, &job) == -EBADF &&
                         basebandd_loan(connection, 64) == nullptr &&
                         basebandd_give_back(connection, loan) == -EBADF;
    // Where the region was something else may lie now.
    const auto page = reinterpret_cast<uintptr_t>(loan) / 4096 * 4096;
    void* const other = mmap(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    basebandd_close(connection);
    if (other != MAP_FAILED) *static_cast<volatile char*>(other) = 1;
    _exit(refuses && other != MAP_FAILED ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::memset(loan, 1, 64);
  EXPECT_EQ(basebandd_give_back(connection, loan), 0);
  basebandd_close(connection);
}

}  // namespace
}  // namespace baseband::testing
