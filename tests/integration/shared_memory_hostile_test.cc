// Clients of --shm-listen that break its rules: each is refused by name or cut off, and nobody else
// notices.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/raw_regions.h"
#include "tests/support/sharing_server.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kInvalidArgument = 3;
constexpr uint32_t kNotFound = 5;
constexpr uint32_t kPermissionDenied = 7;
constexpr uint32_t kResourceExhausted = 8;

class HostileSharedMemoryTest : public SharingServerTest {
 protected:
  void ExpectThatOthersAreServed() {
    std::mt19937 random(1);
    EXPECT_EQ(RoundTrip(*Connect(server_->target()), &random), "");
    RawRegions other(socket_);
    const RawRegions::Answer granted = other.Grant(1);
    EXPECT_EQ(granted.code, 0U) << granted.message;
    close(granted.fd);
  }
};

TEST_F(HostileSharedMemoryTest, WhatIsNoRequestIsRefusedByName) {
  Serve();
  RawRegions raw(socket_);
  const std::string bytes(4096, 'x');
  for (const size_t size : {size_t{1}, size_t{31}, size_t{33}, size_t{4096}}) {
    ASSERT_TRUE(raw.Send(bytes.data(), size));
    const RawRegions::Answer answer = raw.Receive();
    EXPECT_EQ(answer.code, kInvalidArgument);
    EXPECT_EQ(answer.message, absl::StrCat("a message has 32 bytes, not ", size));
  }
  shm::RegionRequest request;
  request.version = 2;
  EXPECT_EQ(raw.Ask(request).message, "version 2 is not 1");
  request.version = 1;
  request.kind = static_cast<shm::RegionKind>(5);
  EXPECT_EQ(raw.Ask(request).message, "kind 5 is not in [0, 4]");
  EXPECT_EQ(raw.Ask(shm::RegionRequest()).code, 0U) << "after all that";
  ExpectThatOthersAreServed();
}

TEST_F(HostileSharedMemoryTest, SizesAndQuotasAreKept) {
  Serve({"--shm-mib=3", "--client-shm-mib=2"});
  RawRegions raw(socket_);
  for (const uint64_t bytes : {uint64_t{0}, (uint64_t{2} << 20) + 1, uint64_t{1} << 62,
                               (uint64_t{1} << 63), ~uint64_t{0}}) {
    const RawRegions::Answer answer = raw.Grant(bytes);
    EXPECT_EQ(answer.code, kInvalidArgument) << bytes;
    EXPECT_THAT(answer.message, HasSubstr("is not in [1, 2097152]"));
    EXPECT_EQ(answer.fd, -1);
  }
  const RawRegions::Answer granted = raw.Grant(2 << 20);
  EXPECT_EQ(granted.code, 0U) << granted.message;
  EXPECT_EQ(granted.bytes, 2U << 20);
  EXPECT_EQ(raw.Grant(1).code, kResourceExhausted);
  // The same client, by its ids, on another connection.
  RawRegions again(socket_);
  EXPECT_EQ(again.Grant(1).code, kResourceExhausted);
  EXPECT_EQ(again.Free(granted.name).code, kNotFound) << "the other connection's";
  EXPECT_EQ(raw.Free(granted.name).code, 0U);
  EXPECT_EQ(raw.Free(granted.name).code, kNotFound);
  EXPECT_TRUE(WaitUntilNothingIsShared());
  EXPECT_EQ(again.Grant(1).code, 0U);
  close(granted.fd);
}

TEST_F(HostileSharedMemoryTest, WhoAsksTooOftenIsToldSo) {
  Serve();
  RawRegions raw(socket_);
  RawRegions::Answer answer;
  int granted = 0;
  for (; granted < 1000; ++granted) {
    answer = raw.Grant(4096);
    if (answer.code != 0) break;
    close(answer.fd);
    raw.Free(answer.name);
  }
  EXPECT_GE(granted, 64);
  EXPECT_LT(granted, 1000);
  EXPECT_EQ(answer.code, kResourceExhausted);
  EXPECT_THAT(answer.message, HasSubstr("too often"));
}

TEST_F(HostileSharedMemoryTest, OnlyWhoMayCallIsGrantedAny) {
  Serve({"--allow=user=uid:4294967294", "--listen=unix:" + socket_ + ".grpc"});
  RawRegions raw(socket_);
  const RawRegions::Answer answer = raw.Grant(4096);
  EXPECT_EQ(answer.code, kPermissionDenied);
  EXPECT_THAT(answer.message, HasSubstr("does not have role user"));
}

TEST_F(HostileSharedMemoryTest, TheMemoryCannotBeMadeSmallerUnderTheServer) {
  Serve();
  RawRegions raw(socket_);
  const v1::DecodeRequest decode = DecodeOfZeros(NrCode(1, 384), 4);
  const RawRegions::Answer granted = raw.Grant(decode.payload().size());
  ASSERT_EQ(granted.code, 0U) << granted.message;
  EXPECT_NE(ftruncate(granted.fd, 0), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(ftruncate(granted.fd, 1 << 30), 0);
  EXPECT_NE(fcntl(granted.fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
  v1::DecodeRequest request = decode;
  request.clear_payload();
  request.mutable_payload_at()->set_region(granted.name);
  request.mutable_payload_at()->set_bytes(decode.payload().size());
  v1::DecodeResponse response;
  void* const memory = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, granted.fd, 0);
  ASSERT_NE(memory, MAP_FAILED);
  // Its pages taken out of it are zeros to whoever looks. Nobody does yet.
  EXPECT_EQ(fallocate(granted.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20), 0);
  EXPECT_EQ(Call(*Connect(server_->target()), request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(raw.Mapped("nobody's region..").code, kNotFound);
  EXPECT_EQ(raw.Mapped(granted.name).code, 0U);
  EXPECT_EQ(raw.Mapped(granted.name).code, 0U) << "again";
  EXPECT_TRUE(Call(*Connect(server_->target()), request, &response).ok());
  // Whoever touches a page that is being taken out waits for it: that is over.
  EXPECT_NE(fallocate(granted.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(madvise(memory, 1 << 16, MADV_REMOVE), 0);
  EXPECT_EQ(mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, granted.fd, 0), MAP_FAILED);
  EXPECT_LT(pwrite(granted.fd, "x", 1, 0), 0);
  std::memset(memory, 0, 1 << 16);  // what is mapped stays so
  munmap(memory, 1 << 16);
  close(granted.fd);
  ExpectThatOthersAreServed();
}

TEST_F(HostileSharedMemoryTest, ARegionThatItsClientHasSealedItselfIsNeverUsed) {
  Serve();
  RawRegions raw(socket_);
  const RawRegions::Answer granted = raw.Grant(1 << 16);
  EXPECT_EQ(fcntl(granted.fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
  EXPECT_EQ(raw.Mapped(granted.name).code, 9U);
  close(granted.fd);
  ExpectThatOthersAreServed();
}

// To drop the last descriptor of such a socket takes as long as its owner has said.
TEST_F(HostileSharedMemoryTest, WhoPassesOnDescriptorsKeepsNobodyWaiting) {
  Serve();
  for (int i = 0; i < 3; ++i) {
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ASSERT_EQ(bind(listening, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listening, 1), 0);
    ASSERT_EQ(getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size), 0);
    int full = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const linger minutes = {1, 600};
    setsockopt(full, SOL_SOCKET, SO_LINGER, &minutes, sizeof(minutes));
    connect(full, reinterpret_cast<sockaddr*>(&address), size);
    const std::string bytes(1 << 20, 'x');
    for (int tries = 0; tries < 100; ++tries) {
      if (send(full, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) usleep(1000);
    }
    RawRegions raw(socket_);
    const shm::RegionRequest hello;
    // Refused by the kernel where it can, and by the server.
    bool is_passed = raw.SendWith(&hello, i == 0 ? sizeof(hello) : 1, full);
    if (i == 2) is_passed |= raw.SendWith(&hello, sizeof(hello), full);
    const linger none = {1, 0};
    if (!is_passed) setsockopt(full, SOL_SOCKET, SO_LINGER, &none, sizeof(none));  // we wait, too
    close(full);
    ExpectThatOthersAreServed();
    close(listening);
  }
}

TEST_F(HostileSharedMemoryTest, ManyConnectionsOfOneClientLeaveRoomAndGoWithIt) {
  Serve();
  std::vector<std::unique_ptr<RawRegions>> many;
  int served = 0;
  for (int i = 0; i < 100; ++i) {
    many.push_back(std::make_unique<RawRegions>(socket_));
    served += many.back()->is_connected() && !many.back()->Ask(shm::RegionRequest()).is_over;
  }
  EXPECT_EQ(served, 64);
  many.clear();
  ExpectThatOthersAreServed();
}

TEST_F(HostileSharedMemoryTest, WhoIsKilledAtAnyMomentLeavesNothing) {
  Serve();
  std::mt19937 random(2);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      RawRegions raw(socket_);
      for (;;) {
        const RawRegions::Answer granted = raw.Grant(1 << 20);
        void* const memory = granted.fd < 0 ? MAP_FAILED
                                            : mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                                                   MAP_SHARED, granted.fd, 0);
        if (memory != MAP_FAILED) std::memset(memory, 1, 1 << 20);
        if (granted.is_over) _exit(1);
      }
    }
    usleep(static_cast<useconds_t>(random() % 20'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_TRUE(WaitUntilNothingIsShared());
  EXPECT_EQ(server_->Terminate(), 0);
  EXPECT_NE(access(socket_.c_str(), F_OK), 0) << "the socket's file is gone";
}

TEST_F(HostileSharedMemoryTest, RandomBytesEndNobodyElse) {
  Serve();
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    RawRegions raw(socket_);
    if (!raw.is_connected()) continue;
    for (int j = 0; j < 10; ++j) {
      shm::RegionRequest request;
      auto* const bytes = reinterpret_cast<uint8_t*>(&request);
      for (size_t k = 0; k < sizeof(request); ++k) bytes[k] = static_cast<uint8_t>(random());
      if (random() % 2 != 0) request.version = 1;
      if (random() % 2 != 0) request.kind = static_cast<shm::RegionKind>(random() % 5);
      const RawRegions::Answer answer = raw.Ask(request);
      if (answer.fd >= 0) close(answer.fd);
    }
  }
  EXPECT_TRUE(WaitUntilNothingIsShared());
}

}  // namespace
}  // namespace baseband::testing
