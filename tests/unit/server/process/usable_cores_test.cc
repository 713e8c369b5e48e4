#include "server/process/usable_cores.h"

#include <sched.h>

#include <set>
#include <string>
#include <thread>

#include "server/config/cpu_list.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

class UsableCoresTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    baseband::testing::WriteWithFolders(root_ + path, text);
  }
  // Of a process without control groups.
  static int Allowed() { return UsableCores("/no/such/folder/"); }

  baseband::testing::TemporaryFolder folder_;
  const std::string root_ = folder_.path() + "/";
};

// Where this test runs there may be one core.
TEST_F(UsableCoresTest, AThreadHasThoseItMayRunOn) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  EXPECT_EQ(Allowed(), CPU_COUNT(&allowed));
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  int inherited = 0;
  std::thread([&] {
    EXPECT_THAT(RunOn({first}), IsOk());
    EXPECT_EQ(sched_getcpu(), first);
    std::thread([&] { inherited = Allowed(); }).join();
  }).join();
  EXPECT_EQ(inherited, 1);
  EXPECT_EQ(Allowed(), CPU_COUNT(&allowed));
}

TEST_F(UsableCoresTest, CoresThatItMayNotUseAreNamed) {
  const int before = Allowed();
  EXPECT_THAT(RunOn({8190, 8191}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cpus 8190-8191: this process may not use 8190-8191, only ")));
  EXPECT_EQ(RunOn({sched_getcpu(), 8190}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Allowed(), before);
}

TEST_F(UsableCoresTest, NoneNamedAreThoseItHas) {
  const int before = Allowed();
  EXPECT_THAT(RunOn({}), IsOk());
  EXPECT_EQ(Allowed(), before);
}

TEST_F(UsableCoresTest, AQuotaOfVersion2Counts) {
  Write("proc/self/cgroup", "0::/pod/container\n");
  Write("sys/fs/cgroup/pod/container/cpu.max", "max 100000\n");
  EXPECT_EQ(UsableCores(root_), Allowed());
  Write("sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
  EXPECT_EQ(UsableCores(root_), 1);
  Write("sys/fs/cgroup/pod/cpu.max", "100000000 100000\n");
  EXPECT_EQ(UsableCores(root_), Allowed());
}

TEST_F(UsableCoresTest, ABegunCoreCounts) {
  if (Allowed() < 2) GTEST_SKIP() << "one core";
  Write("proc/self/cgroup", "0::/a\n");
  Write("sys/fs/cgroup/a/cpu.max", "110000 100000\n");
  EXPECT_EQ(UsableCores(root_), 2);
}

TEST_F(UsableCoresTest, Version1CountsToo) {
  Write("proc/self/cgroup", "3:cpu,cpuacct:/a\n0::/\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(UsableCores(root_), Allowed());
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n");
  EXPECT_EQ(UsableCores(root_), 1);
}

TEST_F(UsableCoresTest, OfVersion1AFolderOfSeveralControllersCounts) {
  Write("proc/self/cgroup", "3:cpu,cpuacct:/a\n");
  Write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "100000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(UsableCores(root_), 1);
}

TEST_F(UsableCoresTest, WhatCannotBeReadLimitsNothing) {
  Write("proc/self/cgroup", "0::/a\n");
  for (const std::string text : {"", "x y\n", "100000\n", "100000 0\n", "-5 100000\n", "0 1\n"}) {
    Write("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(UsableCores(root_), Allowed()) << text;
  }
}

}  // namespace
}  // namespace baseband::server
